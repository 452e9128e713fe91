"""A few of the random kernels of `make fuzz`: devices and interpreter against the language's semantics in Python."""

from __future__ import annotations

import pytest

import lapilli as lp

from .differential import Program

SEEDS = (12, 15, 150, 221)


@pytest.mark.device
@pytest.mark.parametrize("seed", SEEDS)
def test_random_kernels_compute_what_python_computes(device, tmp_path, seed):
    is_wide = seed % 2 == 1
    if is_wide and not device.has(lp.Aspect.FP64):
        pytest.skip("needs integers of every width, fp16 and fp64")
    program = Program(seed, tmp_path, wide=is_wide, kernels=2)
    for number in range(2):
        program.check(device, number, with_specs=number == 0, aliased=seed % 4 == 0)


@pytest.mark.parametrize("seed", [*SEEDS, *range(300, 312)])
def test_the_interpreter_computes_what_python_computes(tmp_path, seed):
    program = Program(seed, tmp_path, wide=seed % 2 == 1, kernels=2)
    for number in range(2):
        program.check(None, number, with_specs=number == 1, aliased=seed % 4 == 0)
