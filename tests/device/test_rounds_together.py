"""What lanes of a sub-group do together in loops that some of them leave before others."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device
LOCAL = 24


@lp.kernel(local_size=LOCAL, opt_level=2)
def least_of_the_rest(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    v, found = x[i], 0
    for _ in range(v & 3):
        for _ in range(lp.sub_group.id() & 3):
            found = lp.sub_group.reduce(v, "min")
    y[i] = found


@lp.kernel(local_size=LOCAL, opt_level=2)
def who_is_there(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    i = lp.global_id(0)
    found = 0
    for k in range(x[i]):
        found = found * 8 + lp.sub_group.reduce(1, "add") + k
    y[i] = found


def _least(x: np.ndarray, size: int) -> np.ndarray:
    found = np.zeros_like(x)
    for start in range(0, len(x), size):
        lanes = np.arange(start, start + size)
        for outer in range(3):
            for inner in range(3):
                active = lanes[((x[lanes] & 3) > outer) & ((lanes % size & 3) > inner)]
                found[active] = x[active].min(initial=np.iinfo(x.dtype).max)
    return found


def _who(x: np.ndarray, size: int) -> np.ndarray:
    found = np.zeros_like(x)
    for start in range(0, len(x), size):
        part = slice(start, start + size)
        for k in range(x.max()):
            active = x[part] > k
            found[part] = np.where(active, found[part] * 8 + active.sum() + k, found[part])
    return found


@pytest.mark.parametrize(("kernel", "by_numpy"), [(least_of_the_rest, _least), (who_is_there, _who)])
def test_rounds_are_those_of_the_loop(device, kernel, by_numpy):
    size = device.info.sub_group_sizes[0]
    if len(device.info.sub_group_sizes) > 1 or LOCAL % size:
        pytest.skip("which lanes are together is not known before the launch")
    x = np.random.default_rng(3).integers(0, 7, 3 * LOCAL).astype(np.int32)
    y = lp.zeros(x.size, lp.i32, device=device)
    kernel[x.size](lp.asarray(x, device=device), y)
    expected = np.concatenate([by_numpy(part, size) for part in x.reshape(3, LOCAL)])
    np.testing.assert_array_equal(y.numpy(), expected)
