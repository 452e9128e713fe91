"""Random kernels of sub-groups: devices, the interpreter and NumPy give the same."""

from __future__ import annotations

import pytest

import lapilli as lp

from .lane_programs import INTEGERS, LaneProgram


@pytest.mark.parametrize("seed", [2000004, 2000017, 2000042, 2000125])
def test_sub_groups(seed):
    is_wide = seed % 2 == 1
    devices = [d for d in lp.devices() if not is_wide or d.has(lp.Aspect.VK_INT64)]
    LaneProgram(seed, INTEGERS if is_wide else ("i32", "u32")).check([None, *devices])
