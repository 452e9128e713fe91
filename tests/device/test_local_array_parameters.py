"""`lp.LocalArray` arguments: shared memory whose shape each launch gives."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.kernel(local_size=8)
def reverse(x: lp.In[lp.f32], tile: lp.LocalArray[lp.f32], out: lp.Out[lp.f32]):
    lane = lp.local_id(0)
    tile[lane] = x[lp.global_id(0)]
    lp.barrier()
    out[lp.global_id(0)] = tile[len(tile) - 1 - lane]


@pytest.mark.native_only("no pipelines are made")
def test_a_new_size_makes_a_pipeline_and_no_module(device):
    x = lp.asarray(np.arange(16, dtype=np.float32), device=device)
    out = lp.zeros_like(x)
    groups = np.arange(16, dtype=np.float32).reshape(2, 8)
    with lp.trace() as trace:
        reverse[16](x, lp.local(8), out)
        np.testing.assert_array_equal(out.numpy(), groups[:, ::-1].reshape(-1))
    assert trace.count("module") == trace.count("pipeline") == 1
    with lp.trace() as trace:
        reverse[16](x, lp.local((9,)), out)
        np.testing.assert_array_equal(out.numpy().reshape(2, 8)[:, 1:], groups[:, :0:-1])
        reverse[16](x, lp.local(8), out)
        reverse[16](x, lp.local(9), out)
    assert (trace.count("compile"), trace.count("module"), trace.count("pipeline")) == (0, 0, 1)


def put(tile, row, column, value):
    tile[row, column] = value


@lp.kernel(local_size=(4, 4))
def transpose(
    x: lp.In[lp.f32x2, 2],
    tile: lp.LocalArray[lp.f32x2, 2],
    counts: lp.LocalArray[lp.u32],
    out: lp.Out[lp.f32x2, 2],
    sizes: lp.Out[lp.i32],
):
    i, j = lp.local_id(0), lp.local_id(1)
    rows, columns = tile.shape
    put(tile, i, j, x[lp.global_id(0), lp.global_id(1)])
    if i == 0 and j == 0:
        counts[0] = 0
    lp.barrier()
    lp.atomic.add(counts, 0, 1)
    out[lp.group_id(0) * 4 + i, lp.group_id(1) * 4 + j] = tile[j, i]
    lp.barrier()
    if i == 0 and j == 0:
        sizes[0] = rows * 1000 + columns * 100 + counts.size * 10
        sizes[1] = lp.i32(counts[0])


def test_vectors_two_dimensions_helpers_and_atomics(device):
    data = np.random.default_rng(3).random((4, 4, 2), np.float32)
    x, out = lp.asarray(data.view(), device=device), lp.zeros((4, 4), lp.f32x2, device=device)
    x = lp.empty((4, 4), lp.f32x2, device=device)
    x.copy_from(data)
    sizes = lp.zeros(2, lp.i32, device=device)
    transpose[(4, 4)](x, lp.local((4, 5)), lp.local(3), out, sizes)
    np.testing.assert_array_equal(out.numpy(), data.transpose(1, 0, 2))
    assert sizes.numpy().tolist() == [4530, 16]


def test_too_much_shared_memory_is_refused_on_the_host(device):
    x = lp.zeros(8, device=device)
    limit = device.info.local_mem_size
    with pytest.raises(lp.KernelNotSupportedError) as caught:
        reverse[8](x, lp.local(limit // 4 + 1), lp.zeros(8, device=device))
    message = str(caught.value)
    for part in ("kernel 'reverse'", f"{4 * (limit // 4 + 1)} bytes", str(limit), device.name):
        assert part in message


@pytest.mark.parametrize("shape", [0, -1, (2, 0), 1.5, "8", (), (1,) * 9, 1 << 31, True, None])
def test_shapes_that_cannot_be(shape):
    with pytest.raises(lp.InvalidError, match=r"lp\.local\(shape\)"):
        lp.local(shape)


def test_wrong_arguments_name_the_parameter(device):
    x = lp.zeros(8, device=device)
    for wrong in (x, 8, None, (8,)):
        with pytest.raises(
            lp.KernelArgumentError, match=r"argument 'tile' \(2 of 3\): expected lp\.local\(shape\)"
        ):
            reverse[8](x, wrong, lp.zeros(8, device=device))
    with pytest.raises(lp.KernelArgumentError, match=r"with 1 dimension, found lp\.local\(\(2, 4\)\)"):
        reverse[8](x, lp.local((2, 4)), lp.zeros(8, device=device))


@pytest.mark.native_only("the interpreter reports data races")
def test_the_local_size_must_be_given(device):
    @lp.kernel
    def unsized(tile: lp.LocalArray[lp.f32], out: lp.Out[lp.f32]):
        tile[0] = 1.0
        out[lp.global_id(0)] = tile[0]

    out = lp.zeros(8, device=device)
    with pytest.raises(lp.InvalidError, match="needs a local size"):
        unsized[8](lp.local(4), out)
    unsized[lp.NdRange(8, 4)](lp.local(4), out)
    assert out.numpy().tolist() == [1.0] * 8


@lp.kernel
def first_of_many(many: lp.LocalArray[lp.f32], y: lp.Array[lp.f32]):
    many[0] = 1
    y[0] = many[0]


def test_a_length_that_is_too_large_is_not_called_the_local_size(device):
    with pytest.raises(lp.KernelNotSupportedError, match=r"many\.shape\[0\] = 268435456 elements") as caught:
        first_of_many[lp.NdRange(1, 1)](lp.local(1 << 28), lp.zeros(1, device=device))
    assert "local size" not in str(caught.value)
