"""Random kernels written for MLIR: devices, the interpreter, Python and upstream's CPU give the same numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

import lapilli as lp
from tests.sources import upstream_cpu

from .upstream_programs import ITEMS, UpstreamProgram

MINIMA = 1910206
"""A loop takes minima of unsigned numbers that begin above 2**31: SwiftShader's own were those of signed ones."""


@pytest.mark.device
@pytest.mark.native_only("MLIR is not interpreted")
@pytest.mark.parametrize("seed", (*range(1910000, 1910010), MINIMA))
def test_devices_compute_what_python_computes(device: lp.Device, seed: int):
    is_wide = seed % 2 == 1
    if is_wide and not device.has(lp.Aspect.FP64):
        pytest.skip("needs integers of every width, fp16 and fp64")
    UpstreamProgram(seed, wide=is_wide).check([device])


@pytest.mark.parametrize("seed", range(1910010, 1910030))
def test_the_interpreter_computes_what_python_computes(seed: int):
    UpstreamProgram(seed, wide=True).check([None])


@pytest.mark.parametrize("seed", range(1910000, 1910006))
def test_upstream_computes_what_python_computes(tmp_path: Path, seed: int):
    program = UpstreamProgram(seed, wide=seed % 2 == 1)
    library = upstream_cpu.compiled(program.text, tmp_path)
    (x, w, k), y = program.inputs(), program.results()
    upstream_cpu.run(library, "k", ITEMS, [x, w, k, y])
    program.compare((w, y), program.expected(upstream_cpu.INDEX_BITS), "upstream")
