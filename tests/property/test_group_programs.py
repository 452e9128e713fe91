"""Random kernels of work-groups: Python, the interpreter and every device give the same numbers."""

from __future__ import annotations

import pytest

import lapilli as lp

from .group_programs import check
from .programs import COMMON, WIDE


@pytest.mark.parametrize("seed", [0, 1, 5, 6, 10])
def test_everything_gives_the_same_numbers(seed):
    check(seed, lp.devices())


def test_types_that_not_every_device_has():
    check(4, [d for d in lp.devices() if d.has(lp.Aspect.FP64)], COMMON + WIDE)


def test_debug_mode_computes_the_same():
    check(8, lp.devices()[-1:], debug=True)
