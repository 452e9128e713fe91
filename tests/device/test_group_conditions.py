"""Barriers and group functions under conditions that a function of the whole work-group gives: all agree."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.kernel(local_size=64)
def until_all_are_done(x: lp.Array[lp.i32], rounds: lp.Out[lp.i32]):
    """Passes the largest number of each work-group on by one place a round."""
    values = lp.local.array(64, lp.i32)
    i, lane = lp.global_id(0), lp.local_id(0)
    value, largest, steps = x[i], lp.group.reduce(x[i], "max"), 0
    values[lane] = value
    while lp.group.any(value < largest):
        lp.barrier()
        before = values[max(lane - 1, 0)]
        after = values[min(lane + 1, 63)]
        lp.barrier()
        value = max(before, value, after)
        values[lane] = value
        steps += 1
    x[i] = value
    rounds[i] = steps


def test_a_loop_until_all_work_items_are_done(device):
    numbers = np.random.default_rng(5).permutation(256).astype(np.int32)
    x, rounds = lp.asarray(numbers, device=device), lp.zeros(256, lp.i32, device=device)
    until_all_are_done[256](x, rounds)
    groups = numbers.reshape(4, 64)
    place = groups.argmax(axis=1)
    np.testing.assert_array_equal(x.numpy(), groups.max(axis=1).repeat(64))
    np.testing.assert_array_equal(rounds.numpy(), np.maximum(place, 63 - place).repeat(64))


@lp.kernel
def under_votes(x: lp.In[lp.i32], out: lp.Out[lp.i32, 2]):
    i = lp.global_id(0)
    v = x[i]
    both = lp.group.all(v >= 0) and lp.group.any(v > 60)
    out[0, i] = lp.group.reduce(v, "add") if both else -1
    total = 0
    for k in range(lp.group.broadcast(v, lp.local_range(0) // 2)):
        lp.barrier()
        total += k
    out[1, i] = total
    if lp.group.reduce(v, "min") > 10:
        lp.barrier()
        total = lp.group.reduce(total, "max")
    out[2, i] = total


@pytest.mark.parametrize("is_debug", [False, True])
@pytest.mark.parametrize("size", [1, 5, 32])
def test_group_functions_under_votes(device, size, is_debug):
    numbers = np.arange(64 // size * size, dtype=np.int32)
    out = lp.zeros((3, numbers.size), lp.i32, device=device)
    with lp.config.override(debug=is_debug):
        under_votes[lp.NdRange(numbers.size, size)](lp.asarray(numbers, device=device), out)
        groups = numbers.reshape(-1, size)
        sums = np.where((groups > 60).any(axis=1), groups.sum(axis=1), -1)
        rounds = groups[:, size // 2]
        np.testing.assert_array_equal(out.numpy()[0], sums.repeat(size))
        for row in out.numpy()[1:]:
            np.testing.assert_array_equal(row, (rounds * (rounds - 1) // 2).repeat(size))
