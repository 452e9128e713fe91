"""Random kernels written for MLIR: devices, the interpreter and Python give the same numbers."""

from __future__ import annotations

import pytest

import lapilli as lp

from .upstream_programs import UpstreamProgram


@pytest.mark.device
@pytest.mark.native_only("MLIR is not interpreted")
@pytest.mark.parametrize("seed", range(1910000, 1910010))
def test_devices_compute_what_python_computes(device: lp.Device, seed: int):
    is_wide = seed % 2 == 1
    if is_wide and not device.has(lp.Aspect.FP64):
        pytest.skip("needs integers of every width, fp16 and fp64")
    UpstreamProgram(seed, wide=is_wide).check([device])


@pytest.mark.parametrize("seed", range(1910010, 1910030))
def test_the_interpreter_computes_what_python_computes(seed: int):
    UpstreamProgram(seed, wide=True).check([None])
