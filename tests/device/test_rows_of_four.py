"""Loops over rows of constant columns: right whether or not the rows suit vectors (pass join-loads)."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

ROWS = 37


@lp.kernel
def dot_rows(a: lp.In[lp.f32, 2], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    total = lp.f32(0.0)
    for k in range(a.shape[0]):
        total += (a[k, 0] * a[i, 1] - a[k, 1]) * a[k, 2] + a[k, 3]
    out[i] = total


@pytest.mark.parametrize("columns", [4, 5, 6, 7, 8, 12])
def test_every_length_of_rows(columns: int, device) -> None:
    a = np.random.default_rng(columns).integers(-8, 8, (ROWS, columns)).astype(np.float32)
    out = lp.zeros(ROWS, lp.f32, device=device)
    dot_rows[ROWS](lp.asarray(a, device=device), out)
    expected = ((a[:, 0] * a[:, 1:2] - a[:, 1]) * a[:, 2] + a[:, 3]).sum(1)
    np.testing.assert_array_equal(out.numpy(), expected)
    assert "load_wide" in dot_rows.inspect("split")


@lp.kernel
def shift_rows(a: lp.Array[lp.i32, 2], b: lp.Array[lp.i32, 2]):
    for k in range(a.shape[0]):
        first, second = a[k, 0], a[k, 1]
        third, fourth = a[k, 2], a[k, 3]
        b[k, 1] = first
        b[k, 2] = second + a[k, 1]
        b[k, 3] = third + a[k, 2]
        b[k, 0] = fourth + a[k, 0] + a[k, 1] + a[k, 2] + a[k, 3]


def shifted(a: np.ndarray, b: np.ndarray) -> None:
    for x, y in zip(a, b, strict=True):
        first, second, third, fourth = (int(value) for value in x[:4])
        y[1] = first
        y[2] = second + x[1]
        y[3] = third + x[2]
        y[0] = fourth + x[:4].sum()


@pytest.mark.parametrize("columns", [4, 6, 8])
@pytest.mark.parametrize("is_same", [False, True])
def test_writes_between_reads(columns: int, is_same: bool, device) -> None:
    """Arrays may be the same memory: what is read behind a write sees it."""
    a = np.random.default_rng(columns).integers(-1000, 1000, (ROWS, columns)).astype(np.int32)
    b = a if is_same else np.zeros_like(a)
    on_device = lp.asarray(a, device=device)
    target = on_device if is_same else lp.asarray(b, device=device)
    shift_rows[1](on_device, target)
    shifted(a, b)
    np.testing.assert_array_equal(target.numpy(), b)


@lp.kernel
def nested_rows(a: lp.In[lp.u32, 3], out: lp.Out[lp.u32]):
    i = lp.global_id(0)
    total = lp.u32(0)
    if i % 3 != 1:
        for k in range(a.shape[0]):
            for m in range(a.shape[1]):
                total = total * 3 + a[k, m, 4] + 2 * a[k, m, 5] + 4 * a[k, m, 6] + 8 * a[k, m, 7] + i
            total ^= a[k, 0, 0] + a[k, 0, 1] - a[k, 0, 2] * a[k, 0, 3]
    out[i] = total


@pytest.mark.parametrize("columns", [8, 9])
def test_loops_in_loops_and_branches(columns: int, device) -> None:
    a = np.random.default_rng(columns).integers(0, 1 << 32, (5, 3, columns), dtype=np.uint32)
    out = lp.zeros(9, lp.u32, device=device)
    nested_rows[9](lp.asarray(a, device=device), out)
    expected = np.zeros(9, np.uint32)
    for i in range(9):
        total = 0
        for plane in a.astype(object) if i % 3 != 1 else ():
            for row in plane:
                total = (total * 3 + row[4] + 2 * row[5] + 4 * row[6] + 8 * row[7] + i) % 2**32
            first = plane[0]
            total ^= (first[0] + first[1] - first[2] * first[3]) % 2**32
        expected[i] = total
    np.testing.assert_array_equal(out.numpy(), expected)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_memory_that_is_no_storage_buffer(device) -> None:
    @lp.kernel(local_size=4)
    def total_rows(
        a: lp.In[lp.f32, 2, lp.Target.CONSTANT_BUFFER], rows: lp.LocalArray[lp.f32, 2], out: lp.Out[lp.f32]
    ):
        i = lp.local_id(0)
        for c in range(4):
            rows[i, c] = a[i, c]
        lp.barrier()
        total = lp.f32(0.0)
        for k in range(4):
            total += (rows[k, 0] - rows[k, 1]) * rows[k, 2] + rows[k, 3]
            total += a[k, 0] + 2.0 * a[k, 1] + 4.0 * a[k, 2] + 8.0 * a[k, 3]
        out[i] = total

    a = np.random.default_rng(0).integers(-8, 8, (4, 4)).astype(np.float32)
    out = lp.zeros(4, lp.f32, device=device)
    total_rows[4](lp.asarray(a, device=device), lp.local((4, 4)), out)
    expected = ((a[:, 0] - a[:, 1]) * a[:, 2] + a[:, 3] + a @ np.float32([1, 2, 4, 8])).sum()
    np.testing.assert_array_equal(out.numpy(), np.full(4, expected))


@lp.kernel
def until_zero(a: lp.In[lp.i32, 2], out: lp.Out[lp.i32]):
    k = lp.global_id(0)
    total = 0
    while k < a.shape[0] and total < 100:
        total += a[k, 0] + a[k, 1] + a[k, 2]
        k += a[k, 3]
    out[lp.global_id(0)] = total


@pytest.mark.parametrize("columns", [4, 7])
def test_while_loops_that_end_differently(columns: int, device) -> None:
    a = np.random.default_rng(columns).integers(1, 9, (ROWS, columns)).astype(np.int32)
    out = lp.zeros(ROWS, lp.i32, device=device)
    until_zero[ROWS](lp.asarray(a, device=device), out)
    expected = []
    for k in range(ROWS):
        total = 0
        while k < ROWS and total < 100:
            total, k = total + int(a[k, :3].sum()), k + int(a[k, 3])
        expected.append(total)
    np.testing.assert_array_equal(out.numpy(), expected)


TYPES = {
    "f16": (np.float16, ("FP16",)),
    "f64": (np.float64, ("FP64",)),
    "i8": (np.int8, ("VK_INT8", "VK_STORAGE_8BIT")),
    "u16": (np.uint16, ("VK_INT16", "VK_STORAGE_16BIT")),
    "i64": (np.int64, ("VK_INT64",)),
}


@pytest.mark.parametrize("name", TYPES)
def test_other_types(name: str, device) -> None:
    numpy_type, aspects = TYPES[name]
    if not all(device.has(lp.Aspect[aspect]) for aspect in aspects):
        pytest.skip(f"the device has no {name}")
    dtype = getattr(lp, name)

    @lp.kernel
    def total_rows(a: lp.In[dtype, 2], out: lp.Out[dtype]):
        total = dtype(0)
        for k in range(a.shape[0]):
            total += a[k, 0] - a[k, 1] + a[k, 2] * a[k, 3]
        out[lp.global_id(0)] = total

    a = np.random.default_rng(0).integers(0, 4, (9, 4)).astype(numpy_type)
    out = lp.zeros(3, dtype, device=device)
    total_rows[3](lp.asarray(a, device=device), out)
    expected = (a[:, 0] - a[:, 1] + a[:, 2] * a[:, 3]).sum(dtype=a.dtype)
    np.testing.assert_array_equal(out.numpy(), np.full(3, expected))


@pytest.mark.native_only("counts rounds as drivers do")
def test_a_long_loop_still_traps(device) -> None:
    """Both forms of the loop are counted."""
    for columns in (4, 5):
        a = np.ones((70_000, columns), np.float32)
        out = lp.zeros(2, lp.f32, device=device)
        dot_rows[2](lp.asarray(a, device=device), out)
        try:
            np.testing.assert_array_equal(out.numpy(), [70_000.0, 70_000.0])
        except lp.KernelTrap:
            assert device.target_env.loop_iteration_cap is not None
