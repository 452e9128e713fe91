"""Random kernels that share memory: NumPy, the interpreter and every device give the same numbers."""

from __future__ import annotations

import pytest

import lapilli as lp

from .programs import COMMON, WIDE
from .shared_programs import SharedProgram


@pytest.mark.parametrize("seed", [2, 6, 10])
def test_everything_gives_the_same_numbers(seed):
    SharedProgram(seed, debug=seed == 6).check([None, *lp.devices()])


@pytest.mark.parametrize("seed", [5, 11])
def test_types_that_not_every_device_has(seed):
    devices = [d for d in lp.devices() if d.has(lp.Aspect.FP64)]
    SharedProgram(seed, COMMON + WIDE).check([None, *devices])
