"""Parameters that say which work-item runs: `lp.Item`, `lp.NdItem`, `lp.Group`, `lp.Id` and all of their members."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.kernel
def item_members(it: lp.Item[3], out: lp.Array[lp.i32, 3], linear: lp.Array[lp.i32, 3]):
    out[it] = it.get_id(0) * 10000 + it[1] * 100 + it.get_id()[2] + 1000000 * it.get_range(1)
    linear[it.get_id()] = it.get_linear_id() + 100 * it.get_range().size()


@pytest.mark.behaviour("MEM-07")
def test_item_gives_ids_range_and_linear_id(device):
    shape = (2, 3, 4)
    out, linear = lp.zeros(shape, lp.i32, device=device), lp.zeros(shape, lp.i32, device=device)
    item_members[shape](out, linear)
    i, j, k = np.indices(shape)
    np.testing.assert_array_equal(out.numpy(), i * 10000 + j * 100 + k + 3000000)
    np.testing.assert_array_equal(linear.numpy(), np.arange(24).reshape(shape) + 2400)


@lp.kernel
def nd_members(x: lp.Array[lp.i32, 2], it: lp.NdItem[2]):
    row, column = it.get_global_id()
    group = it.get_group()
    nd_range = it.get_nd_range()
    x[row, 0] = it.get_global_id(0)
    x[row, 1] = it.get_local_id(0)
    x[row, 2] = it.get_group(0)
    x[row, 3] = it.get_group_range(0)
    x[row, 4] = it.get_local_range(0)
    x[row, 5] = it.get_global_range(0)
    x[row, 6] = it.get_global_linear_id()
    x[row, 7] = it.get_local_linear_id()
    x[row, 8] = it.get_group_linear_id()
    x[row, 9] = group.get_group_id(0) + 10 * group[0] + 100 * group.get_id(0)
    x[row, 10] = group.get_group_linear_range() + 10 * group.get_local_linear_range()
    x[row, 11] = 1 if group.leader() else 0
    x[row, 12] = nd_range.get_local_range(0) + 10 * nd_range.get_group_range(0)
    x[row, 13] = nd_range.global_range[0] + column


@pytest.mark.behaviour("MEM-07")
def test_nd_item_and_group_members(device):
    x = lp.zeros((6, 14), lp.i32, device=device)
    nd_members[lp.NdRange((6, 1), (2, 1))](x)
    rows = np.arange(6)
    local, group = rows % 2, rows // 2
    columns = [rows, local, group, 3, 2, 6, rows, local, group, group * 111, 23, local == 0, 32, 6]
    expected = np.stack([np.broadcast_to(np.asarray(c, np.int32), 6) for c in columns], axis=1)
    np.testing.assert_array_equal(x.numpy(), expected)


@lp.kernel
def id_arithmetic(i: lp.Id[2], out: lp.Array[lp.i32, 2]):
    shifted = i + 1
    scaled = shifted * i
    a, b = scaled
    k = 0
    for d in range(2):
        k += i[d]  # known at run time only
    out[i] = a + 100 * b + (10000 if i == (1, 2) else 0) + (100000 if i != shifted else 0) + 1000000 * k


def test_ids_are_indexed_compared_unpacked_and_computed_with(device):
    out = lp.zeros((2, 3), lp.i32, device=device)
    id_arithmetic[2, 3](out)
    i, j = np.indices((2, 3))
    expected = i * (i + 1) + 100 * j * (j + 1) + 10000 * ((i == 1) & (j == 2)) + 100000 + 1000000 * (i + j)
    np.testing.assert_array_equal(out.numpy(), expected)


@lp.kernel
def one_dimension(i: lp.Id[1], it: lp.Item[1], out: lp.Array[lp.f32]):
    out[i] = lp.f32(i) + i[0] + i.get(0) + (0.5 if it == i else 0.0) + float(it) + it.linear_id


def test_an_id_of_one_dimension_is_a_number(device):
    out = lp.zeros(5, device=device)
    one_dimension[5](out)
    np.testing.assert_array_equal(out.numpy(), 5 * np.arange(5, dtype=np.float32) + 0.5)


def reversed_in_group(it, tile, group: lp.Group[1], value=1):
    tile[it.get_local_id(0)] = it.get_global_id(0)
    it.barrier("local_space")
    last = group.get_local_range(0) - value
    return tile[last - it.get_local_id(0)]


@lp.kernel
def handed_on(it: lp.NdItem[1], out: lp.Array[lp.i32]):
    tile = lp.local.array(4, lp.i32)
    out[it.get_global_id()] = reversed_in_group(it, tile, it.get_group())
    lp.group_barrier(it.get_group())
    lp.group_barrier(it.get_sub_group())
    sub_group = it.get_sub_group()
    if sub_group.get_local_id() >= sub_group.get_local_range():
        out[0] = -1  # never


@pytest.mark.behaviour("MEM-06")
def test_helpers_take_items_and_groups_and_wait_through_them(device):
    out = lp.zeros(8, lp.i32, device=device)
    handed_on[lp.NdRange(8, 4)](out)
    np.testing.assert_array_equal(out.numpy(), [3, 2, 1, 0, 7, 6, 5, 4])


@lp.kernel
def sub_group_ranges(it: lp.NdItem[1], present: lp.Out[lp.i32], most: lp.Out[lp.i32]):
    i, sub_group = it.get_global_id(0), it.get_sub_group()
    present[i] = sub_group.get_local_range() + 100 * sub_group.get_local_linear_range()
    most[i] = sub_group.get_max_local_range()


def test_the_last_sub_group_has_what_is_left(device):
    present, most = lp.zeros(26, lp.i32, device=device), lp.zeros(26, lp.i32, device=device)
    sub_group_ranges[lp.NdRange(26, 13)](present, most)
    size = int(most.numpy()[0])
    expected = [101 * min(size, 13 - i % 13 // size * size) for i in range(26)]
    assert present.numpy().tolist() == expected


@lp.kernel
def summed_locally(it: lp.NdItem[1], x: lp.In[lp.i32], out: lp.Array[lp.i32]):
    tile = lp.local.array(128, lp.i32)
    i = it.get_local_id(0)
    tile[i] = x[it.get_global_id(0)]
    n = 64
    while n > 0:
        it.barrier("local_space")
        if i < n:
            tile[i] += tile[i + n]
        n = n // 2
    if i == 0:
        out[it.get_group(0)] = tile[0]


@lp.kernel
def summed_globally(it: lp.NdItem[1], x: lp.Array[lp.i32], out: lp.Array[lp.i32]):
    i, at = it.get_local_id(0), it.get_global_id(0)
    n = 64
    while n > 0:
        it.barrier("global_space")
        if i < n:
            x[at] += x[at + n]
        n = n // 2
    if i == 0:
        out[it.get_group(0)] = x[at]


@pytest.mark.behaviour("MEM-06")
@pytest.mark.parametrize(
    ("kernel", "memory"),
    [(summed_locally, 0x100), (summed_globally, 0x40)],  # WorkgroupMemory, UniformMemory
    ids=["local", "global"],
)
def test_reduction_with_barriers(device, kernel, memory):
    """The groups are larger than any sub-group, so that the work-items of one do not run in step."""
    x = np.random.default_rng(5).integers(-1000, 1000, 512, dtype=np.int32)
    out = lp.zeros(4, lp.i32, device=device)
    kernel[lp.NdRange(512, 128)](lp.asarray(x, device=device), out)
    np.testing.assert_array_equal(out.numpy(), x.reshape(4, 128).sum(axis=1))
    found = re.findall(r"OpControlBarrier %uint_2 %uint_2 %uint_(\d+)", kernel.inspect("spirv"))
    assert found and all(int(semantics) & memory and int(semantics) & 0x8 for semantics in found)


@pytest.mark.parametrize("shape", [4, (2, 2, 1), lp.NdRange((2, 2, 2), (1, 1, 1))])
def test_the_rank_of_the_parameter_is_the_rank_of_the_launch(device, shape):
    out = lp.zeros((2, 2), lp.i32, device=device)
    with pytest.raises(lp.NdRangeError, match="kernel 'id_arithmetic' runs over 2 dimensions"):
        id_arithmetic[shape](out)
    assert not out.numpy().any()


def test_items_are_no_arguments(device):
    out = lp.zeros(5, device=device)
    with pytest.raises(lp.KernelArgumentError, match="expected at most 1 positional argument, found 2"):
        one_dimension[5](0, out)
    with pytest.raises(lp.KernelArgumentError, match="there is no parameter 'it'"):
        one_dimension[5](out, it=3)
