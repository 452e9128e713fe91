"""Random kernels of vectors, structs and fixed arrays: Python, the interpreter and devices give the same numbers."""

from __future__ import annotations

import pytest

import lapilli as lp

from .programs import COMMON, WIDE
from .value_differential import ValueProgram


@pytest.mark.parametrize("seed", [3, 4, 6, 18])
def test_everything_gives_the_same_numbers(seed):
    ValueProgram(seed).check([None, *lp.devices()])


def test_types_that_not_every_device_has():
    ValueProgram(7, COMMON + WIDE).check([None, *(d for d in lp.devices() if d.has(lp.Aspect.FP64))])


@pytest.mark.parametrize("seed", range(20, 28))
def test_the_interpreter_computes_what_python_computes(seed):
    ValueProgram(seed, COMMON + WIDE).check([None])
