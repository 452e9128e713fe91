"""Expressions of constants that only drivers find: devices, the interpreter and Python give the same."""

from __future__ import annotations

import pytest

import lapilli as lp

from .constant_programs import ConstantProgram
from .programs import COMMON, WIDE


@pytest.mark.parametrize("seed", [2000000, 2000004, 2000012, 2000037, 2000041])
def test_expressions(seed):
    if seed % 4:
        devices = [d for d in lp.devices() if d.has(lp.Aspect.FP64)]
        ConstantProgram(seed, COMMON + WIDE).check([None, *devices])
    else:
        ConstantProgram(seed, COMMON).check([None, *lp.devices()])
