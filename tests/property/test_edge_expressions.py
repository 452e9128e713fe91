"""Random expressions over NaN, infinities, zeros of both signs and the edges of integers, against NumPy."""

from __future__ import annotations

import pytest

import lapilli as lp

from .edge_expressions import EdgeProgram


@pytest.mark.parametrize("seed", range(8))
def test_everything_gives_the_same_numbers(seed):
    EdgeProgram(seed).check([None, *lp.devices()])


@pytest.mark.parametrize("seed", range(4))
def test_types_that_not_every_device_has(seed):
    EdgeProgram(seed, wide=True).check([None, *(d for d in lp.devices() if d.has(lp.Aspect.FP64))])
