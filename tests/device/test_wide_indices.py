"""`@lp.kernel(index=lp.i64)`: ids, sizes, shapes and len of 64 bits, and ranges beyond 2**31."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import launch_plan
from lapilli.vk_runtime.launch_plan import LaunchPlan, Piece

pytestmark = pytest.mark.device


def last(a):
    return len(a) - 1


@lp.kernel(index=lp.i64)
def wide(x: lp.Array[lp.i64, 2], y: lp.Array[lp.i64]):
    i, j = lp.global_id(0), lp.global_id(1)
    x[i, j] = (i << 40) + j * 4294967296 + x.size + lp.global_linear_id()
    if i == last(x):
        y[j] = lp.global_range(1) * 3000000000 + lp.group_range(0) + x.shape[1]


@lp.kernel(index=lp.i64)
def with_ids(i: lp.Id[2], it: lp.Item[2], x: lp.Array[lp.i64, 2]):
    x[i] = (i + 1)[0] * 5000000000 + it.get_id(1) + it.get_linear_id()


@lp.kernel(index=lp.i64)
def write_far(x: lp.Array[lp.i64]):
    if lp.global_id(0) >= 1 << 40:
        lane = lp.global_id(0) - (1 << 40)
        x[lane] = lp.global_id(0)
        x[lane + 4] = lp.group_id(0)
        x[lane + 8] = lp.global_range(0)


@pytest.fixture
def device64(device):
    if not device.has(lp.Aspect.VK_INT64):
        pytest.skip("needs vk_int64")
    return device


def test_ids_sizes_and_shapes_are_i64(device64):
    x, y = lp.zeros((3, 4), lp.i64, device=device64), lp.zeros(4, lp.i64, device=device64)
    wide[lp.NdRange((3, 4), (1, 4))](x, y)
    i, j = np.indices((3, 4))
    np.testing.assert_array_equal(x.numpy(), (i << 40) + (j << 32) + 12 + i * 4 + j)
    assert y.numpy().tolist() == [4 * 3000000000 + 3 + 4] * 4
    with_ids[3, 4](x)
    np.testing.assert_array_equal(x.numpy(), (i + 1) * 5000000000 + j + i * 4 + j)


@pytest.mark.native_only("the interpreter would run every work-item")
def test_a_range_of_2_to_the_40_reaches_its_last_group(device64, monkeypatch):
    """Only the last of its millions of dispatches runs here."""
    total, local = (1 << 40) + 4, 4
    base = (1 << 40) // local
    monkeypatch.setattr(
        LaunchPlan, "pieces", property(lambda _: iter([Piece(groups=(1, 1, 1), base=(base,))]))
    )
    x = lp.zeros(12, lp.i64, device=device64)
    write_far[lp.NdRange(total, local)](x)
    far = (1 << 40) + np.arange(4)
    np.testing.assert_array_equal(x.numpy(), [*far, *[base] * 4, *[total] * 4])


def test_without_it_a_range_ends_below_2_to_the_31(device):
    @lp.kernel
    def narrow(x: lp.Array[lp.i32]):
        x[0] = 1

    x = lp.zeros(1, lp.i32, device=device)
    with pytest.raises(lp.NdRangeError, match=r"2\*\*31"):
        narrow[1 << 31](x)
    assert x.numpy()[0] == 0


def test_beyond_63_bits_no_range_is(device64):
    with pytest.raises(lp.NdRangeError, match=r"2\*\*63"):
        write_far[1 << 63](lp.zeros(12, lp.i64, device=device64))


def test_a_device_without_64_bits_is_refused_by_name(device):
    if device.has(lp.Aspect.VK_INT64):
        pytest.skip("the device has vk_int64")

    @lp.kernel(index=lp.i64)
    def small(x: lp.Array[lp.i32]):
        x[0] = 1

    with pytest.raises(lp.KernelNotSupportedError, match="vk_int64"):
        small[1](lp.zeros(1, lp.i32, device=device))


def test_the_planner_takes_the_width_of_the_kernel():
    with pytest.raises(lp.NdRangeError):
        launch_plan.normalise_range(1 << 31)
    assert launch_plan.normalise_range(1 << 31, index_bits=64) == (1 << 31,)
