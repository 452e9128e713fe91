"""Whole launches: values, sizes, tails and ranges, on every device."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.kernel
def saxpy(a: lp.f32, x: lp.Array[lp.f32], y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = a * x[i] + y[i]


@lp.kernel
def count_visits(visits: lp.Array[lp.i32]):
    i = lp.global_id(0)
    visits[i] += 1


@lp.kernel
def write_ids_2d(out: lp.Out[lp.i32, 3]):
    i = lp.global_id(0)
    j = lp.global_id(1)
    out[i, j, 0] = i
    out[i, j, 1] = j
    out[i, j, 2] = lp.global_linear_id()


@lp.kernel
def write_ids_3d(out: lp.Out[lp.i32, 3]):
    i, j, k = lp.global_id(0), lp.global_id(1), lp.global_id(2)
    out[i, j, k] = i * 10000 + j * 100 + k


@lp.kernel
def write_launch_shape(out: lp.Out[lp.i32]):
    if lp.global_id(0) == 0 and lp.global_id(1) == 0:
        out[0] = lp.global_range(0)
        out[1] = lp.global_range(1)
        out[2] = lp.local_range(0)
        out[3] = lp.local_range(1)
        out[4] = lp.group_range(0)
        out[5] = lp.group_range(1)


@lp.kernel
def write_group_of(group: lp.Out[lp.i32], local: lp.Out[lp.i32]):
    i = lp.global_id(0)
    group[i] = lp.group_id(0)
    local[i] = lp.local_id(0)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 257, 100_003])
def test_saxpy_computes_every_element_and_no_more(device, n):
    x = lp.asarray(np.arange(n + 5, dtype=np.float32), device=device)
    y = lp.asarray(np.full(n + 5, 3, dtype=np.float32), device=device)
    saxpy[n](2.0, x, y)
    expected = np.full(n + 5, 3, dtype=np.float32)
    expected[:n] += 2 * np.arange(n, dtype=np.float32)
    np.testing.assert_array_equal(y.numpy(), expected)


def test_empty_range_runs_nothing_but_checks_arguments(device):
    y = lp.full(4, 7.0, device=device)
    event = saxpy[0](1.0, y, y)
    assert event.wait() is event
    np.testing.assert_array_equal(y.numpy(), np.full(4, 7, np.float32))
    with pytest.raises(lp.KernelArgumentError):
        saxpy[0](1.0, y)


def test_launches_on_one_array_keep_their_order(device):
    visits = lp.zeros(1000, lp.i32, device=device)
    for _ in range(150):
        count_visits[1000](visits)
    np.testing.assert_array_equal(visits.numpy(), np.full(1000, 150, np.int32))


def test_more_groups_than_one_dispatch_may_have(device):
    n = 70_000 * 2 + 1
    visits = lp.zeros(n, lp.i32, device=device)
    count_visits[lp.NdRange(n - 1, 2)](visits)
    values = visits.numpy()
    assert values[:-1].tolist() == [1] * (n - 1)
    assert values[-1] == 0


def test_group_ids_go_on_over_the_pieces_of_a_large_range(device):
    n = 70_000
    group, local = lp.zeros(n, lp.i32, device=device), lp.zeros(n, lp.i32, device=device)
    write_group_of[lp.NdRange(n, 1)](group, local)
    np.testing.assert_array_equal(group.numpy(), np.arange(n))
    np.testing.assert_array_equal(local.numpy(), np.zeros(n))


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (17, 33), (64, 64), (2, 1000), (1000, 2)])
def test_dimension_zero_is_the_slowest_of_two(device, shape):
    out = lp.zeros((*shape, 3), lp.i32, device=device)
    write_ids_2d[shape](out)
    i, j = np.indices(shape)
    np.testing.assert_array_equal(out.numpy(), np.stack([i, j, i * shape[1] + j], axis=-1))


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 4), (5, 17, 33), (9, 1, 2)])
def test_dimension_zero_is_the_slowest_of_three(device, shape):
    out = lp.zeros(shape, lp.i32, device=device)
    write_ids_3d[shape](out)
    i, j, k = np.indices(shape)
    np.testing.assert_array_equal(out.numpy(), i * 10000 + j * 100 + k)


def test_nd_range_sizes_are_visible_in_the_kernel(device):
    out = lp.zeros(6, lp.i32, device=device)
    write_launch_shape[lp.NdRange((6, 20), (2, 5))](out)
    assert out.numpy().tolist() == [6, 20, 2, 5, 3, 4]


def test_global_range_is_what_was_asked_for(device):
    out = lp.zeros(6, lp.i32, device=device)
    write_launch_shape[(7, 13)](out)
    assert out.numpy()[:2].tolist() == [7, 13]


@pytest.mark.native_only("the interpreter reports indices out of range")
def test_index_out_of_range_does_not_end_the_process(device):
    x = lp.zeros(4, device=device)
    y = lp.zeros(4, device=device)
    saxpy[1 << 20](1.0, x, y).wait()
    np.testing.assert_array_equal(y.numpy(), np.zeros(4, np.float32))
