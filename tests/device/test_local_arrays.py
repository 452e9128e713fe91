"""Shared and private arrays: sizes by literals and specialization constants, clamped indices, checks."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

TILE = lp.SpecializationId(lp.i32, 8)
COUNT = lp.SpecializationId(lp.u32, 4)
PADDING = 3


@lp.kernel(local_size=(8, 8))
def matmul(a: lp.In[lp.f32, 2], b: lp.In[lp.f32, 2], c: lp.Out[lp.f32, 2]):
    rows = lp.local.array((TILE, TILE), lp.f32)
    columns = lp.local.array((TILE, TILE + 1), lp.f32)
    i, j = lp.global_id(0), lp.global_id(1)
    y, x = lp.local_id(0), lp.local_id(1)
    total = 0.0
    for tile in range(a.shape[1] // TILE):
        rows[y, x] = a[i, tile * TILE + x]
        columns[y, x] = b[tile * TILE + y, j]
        lp.barrier()
        for k in range(TILE):
            total += rows[y, k] * columns[k, x]
        lp.barrier()
    c[i, j] = total


@pytest.mark.parametrize("tile", [4, 8, 16])
def test_tiled_matmul_with_tiles_sized_by_a_specialization_constant(device, tile):
    random = np.random.default_rng(tile)
    a, b = random.random((32, 48), np.float32), random.random((48, 16), np.float32)
    c = lp.empty((32, 16), device=device)
    launch = matmul[lp.NdRange((32, 16), (tile, tile))].spec({TILE: tile})
    launch(lp.asarray(a, device=device), lp.asarray(b, device=device), c)
    # Sums of 48 products in f32, in another order than NumPy's.
    np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-5)


@lp.kernel(local_size=64)
def reverse(x: lp.Array[lp.i32]):
    shared = lp.local.array(64, lp.i32)
    i = lp.local_id(0)
    shared[i] = x[lp.global_id(0)]
    lp.barrier()
    x[lp.global_id(0)] = shared[63 - i]


def test_work_items_see_what_others_stored_after_a_barrier(device):
    x = lp.asarray(np.arange(256, dtype=np.int32), device=device)
    reverse[256](x)
    expected = np.arange(256).reshape(4, 64)[:, ::-1].ravel()
    np.testing.assert_array_equal(x.numpy(), expected)


def fill_and_sum(values, n):
    table = lp.private.array((2, COUNT + PADDING), lp.i32)
    for k in range(table.shape[1]):
        table[0, k] = values[0] * k
        table[1, k] = n
    total = 0
    for k in range(table.shape[1]):
        total += table[0, k] + table[-1, k]
    return total


@lp.kernel
def private_in_helper(out: lp.Array[lp.i32]):
    seed = lp.private.array(1, lp.i32)
    seed[0] = lp.global_id(0)
    out[lp.global_id(0)] = fill_and_sum(seed, 5)


@pytest.mark.parametrize("count", [1, 4, 9])
def test_private_array_of_a_helper_takes_its_size_from_an_expression(device, count):
    out = lp.zeros(5, lp.i32, device=device)
    private_in_helper[5].spec({COUNT: count})(out)
    n = count + PADDING
    np.testing.assert_array_equal(out.numpy(), np.arange(5) * (n * (n - 1) // 2) + 5 * n)


@lp.kernel(local_size=4)
def out_of_range(out: lp.Out[lp.i32], offset: lp.i32):
    literal = lp.local.array(4, lp.i32)
    specialised = lp.local.array((COUNT // 2) * 2, lp.i32)
    private = lp.private.array((2, 2), lp.i32)
    i = lp.local_id(0)
    literal[i] = 10 + i
    specialised[i] = 20 + i
    private[0, 0] = 1
    private[0, 1] = 2
    private[1, 0] = 3
    private[1, 1] = 4
    lp.barrier()
    out[i * 3] = literal[i + offset]
    out[i * 3 + 1] = specialised[i - offset]
    out[i * 3 + 2] = private[offset, -offset]


@pytest.mark.native_only("the interpreter reports indices out of range")
@pytest.mark.parametrize("offset", [1 << 30, -(1 << 30), 1 << 20])
def test_index_out_of_range_reads_an_element(device, offset):
    out = lp.empty(12, lp.i32, device=device)
    out_of_range[4](out, offset)
    last, masked = [13, 23, 4] * 4, [10, 23, 1, 11, 23, 1, 12, 23, 1, 13, 23, 1]
    assert out.numpy().tolist() == (masked if device.target_env.masks_indices else last)


@lp.kernel(local_size=4)
def flags(out: lp.Out[lp.bool_]):
    seen = lp.local.array(4, lp.bool_)
    i = lp.local_id(0)
    seen[i] = i == 2
    lp.barrier()
    out[lp.global_id(0)] = seen[3 - i]


def test_array_of_bools(device):
    if not device.has(lp.Aspect.VK_STORAGE_8BIT):
        pytest.skip("bools of host arrays are bytes, which the device lacks")
    out = lp.empty(4, lp.bool_, device=device)
    flags[4](out)
    assert out.numpy().tolist() == [False, True, False, False]


@pytest.mark.parametrize(("tile", "length"), [(0, 0), (-5, -5)])
def test_length_below_one_never_reaches_the_driver(device, tile, length):
    a = lp.zeros((8, 8), device=device)
    with pytest.raises(lp.InvalidError) as caught:
        matmul[8, 8].spec({TILE: tile})(a, a, lp.empty((8, 8), device=device))
    message = str(caught.value)
    assert f"the length TILE of an array is {length}, expected at least 1; TILE is {tile}" in message
    assert "test_local_arrays.py:" in message


def test_too_much_shared_memory_never_reaches_the_driver(device):
    a = lp.zeros((8, 8), device=device)
    with pytest.raises(lp.KernelNotSupportedError, match="maxComputeSharedMemorySize") as caught:
        matmul[8, 8].spec({TILE: 1000})(a, a, lp.empty((8, 8), device=device))
    assert str((1000 * 1000 + 1000 * 1001) * 4) in str(caught.value)
    assert device.name in str(caught.value)


def test_range_is_a_multiple_of_the_local_size(device):
    with pytest.raises(lp.NdRangeError, match="128"):
        reverse[100](lp.zeros(100, lp.i32, device=device))


def test_shared_memory_needs_a_local_size(device):
    @lp.kernel
    def without(out: lp.Array[lp.i32]):
        shared = lp.local.array(4, lp.i32)
        shared[0] = 1
        out[0] = shared[0]

    with pytest.raises(lp.InvalidError, match="local_size="):
        without[4](lp.zeros(4, lp.i32, device=device))


def _in_loop(out: lp.Array[lp.i32]):
    for _ in range(3):
        a = lp.local.array(4, lp.i32)
        a[0] = 1


def _under_condition(out: lp.Array[lp.i32]):
    if out[0] > 1:
        a = lp.private.array(4, lp.i32)
        a[0] = 1


def _run_time_length(out: lp.Array[lp.i32]):
    a = lp.private.array(out.size, lp.i32)
    out[0] = a[0]


def _no_length(out: lp.Array[lp.i32]):
    a = lp.private.array((3, 0), lp.i32)
    out[0] = a[0, 0]


def _literal_index(out: lp.Array[lp.i32]):
    a = lp.private.array(3, lp.i32)
    out[0] = a[3]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_in_loop, "in a loop or under a condition"),
        (_under_condition, "in a loop or under a condition"),
        (_run_time_length, "known before the kernel runs"),
        (_no_length, "at least 1 and below 2\\*\\*31, found 0"),
        (_literal_index, "index 3 is out of range of a dimension of length 3"),
    ],
)
def test_array_that_kernels_cannot_make(function, message):
    with pytest.raises(lp.CompileError, match=message):
        lp.kernel(function).inspect("ir")


@lp.kernel(local_size=64)
def tree_sums(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
    parts = lp.local.array(64, lp.f32)
    i = lp.local_id(0)
    parts[i] = x[lp.global_id(0)]
    lp.barrier()
    step = 32
    while step > 0:
        if i < step:
            parts[i] += parts[i + step]
        lp.barrier()
        step //= 2
    if i == 0:
        out[lp.group_id(0)] = parts[0]


def test_tree_reduction(device):
    # Small integers: sums are exact in any order.
    x = np.random.default_rng(8).integers(-50, 50, 64 * 9).astype(np.float32)
    out = lp.empty(9, device=device)
    tree_sums[x.size](lp.asarray(x, device=device), out)
    np.testing.assert_array_equal(out.numpy(), x.reshape(9, 64).sum(1))


@lp.kernel
def sums_of_neighbours(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
    p = lp.private.array(40, lp.i32)
    for k in range(40):
        p[k] = x[k]
    for k in range(39, 0, -1):
        p[k] += p[k - 1]
    i = lp.global_id(0)
    y[i] = p[i % 40]


def test_a_private_array_is_read_at_the_position_of_this_round(device):
    x = np.arange(40, dtype=np.int32)
    y = lp.zeros(40, lp.i32, device=device)
    sums_of_neighbours[40](lp.asarray(x, device=device), y)
    np.testing.assert_array_equal(y.numpy(), x + np.append([0], x[:-1]))


@lp.kernel
def named_parameters(x: lp.Array[lp.f32]):
    i = lp.global_id(dimension=0)
    pair = lp.private.array(shape=2, dtype=lp.f32)
    pair[0] = 2.0
    pair[1] = lp.f32(lp.popcount(n=7))
    x[i] = lp.select(i > 1, if_false=pair[0], if_true=pair[1])


def test_functions_of_kernels_take_their_parameters_by_name(device):
    x = lp.zeros(4, device=device)
    named_parameters[4](x)
    assert x.numpy().tolist() == [2, 2, 3, 3]
