"""Orders of widened numbers and 64-bit ones that only the driver finds to be constants."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

LEAST = lp.SpecializationId(lp.i64, 4)
PAIR = np.array([9, 4], np.int64)


def is_least(a, b):
    return a >= b


@lp.kernel(opt_level=0)
def in_many_ways(x: lp.In[lp.i32], y: lp.Out[lp.i32, 2]):
    i = lp.global_id(0)
    v = lp.i64(x[i])
    y[i, 0] = v >= LEAST
    y[i, 1] = LEAST <= v  # noqa: SIM300 - the constant on the left is the point
    y[i, 2] = is_least(v, lp.i64(4))
    counted = lp.i64(0)
    for _ in range(4):
        counted += 1
    y[i, 3] = v >= counted
    kept = lp.private.array(2, lp.i64)
    kept[0] = 4
    y[i, 4] = not kept[0] > v
    y[i, 5] = v >= PAIR[1]
    y[i, 6] = v >= lp.FixedArray[lp.i64, 2](4, 9)[0]
    both = lp.i64x2(v, 4) >= lp.i64x2(LEAST, LEAST)
    y[i, 7] = both.x and both.y


def test_orders_are_those_of_the_numbers(device):
    if not device.has(lp.Aspect.VK_INT64):
        pytest.skip("needs vk_int64")
    x = np.array([0, -4, 4, 6, -(2**31), 2**31 - 1, 3, 5], np.int32)
    y = lp.zeros((x.size, 8), lp.i32, device=device)
    in_many_ways[x.size](lp.asarray(x, device=device), y)
    np.testing.assert_array_equal(y.numpy(), np.repeat(x >= 4, 8).reshape(-1, 8))


@lp.kernel(local_size=8)
def through_others(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    y[i] = lp.i64(x[i]) >= lp.sub_group.broadcast(lp.i64(4))


def test_orders_with_what_a_sub_group_agrees_on(device):
    if not device.has(lp.Aspect.VK_INT64) or not device.has(lp.Aspect.VK_SUBGROUP_BALLOT):
        pytest.skip("needs vk_int64 and vk_subgroup_ballot")
    y = lp.zeros(8, lp.i32, device=device)
    through_others[8](lp.asarray(np.arange(8, dtype=np.int32), device=device), y)
    assert y.numpy().tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
