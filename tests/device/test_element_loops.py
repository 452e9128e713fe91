"""Loops over the elements of arrays, on every device; Python's own over lists say what they give."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.struct
class Weight:
    value: lp.f32
    count: lp.i32


TABLE = np.arange(6, dtype=np.float32)


def products(values, weights):
    total = 0.0
    for value, weight in zip(values, weights, strict=False):
        total += value * weight
    return total


def first_above(values, limit):
    for i, value in enumerate(values, start=10):
        if value > limit:
            return i
    else:
        return -1


def some(values):
    total, last = 0.0, -1.0
    for i, value in enumerate(values):
        if i == 1:
            continue
        if i == 4:
            break
        total, last = total + i * value, value
    else:
        total += 1000.0
    return total + last


@lp.kernel
def loops(x: lp.In[lp.f32], y: lp.In[lp.i32], out: lp.Out[lp.f32]):
    out[0] = products(x, y)
    out[1] = first_above(x, 3.0)
    out[2] = some(x)


@pytest.mark.parametrize("length", [0, 1, 4, 7])
def test_as_pythons_loops_over_lists(device, length):
    x, y = np.arange(length, dtype=np.float32), np.arange(3, 8, dtype=np.int32)
    out = lp.zeros(3, device=device)
    loops[1](lp.asarray(x, device=device), lp.asarray(y, device=device), out)
    a, b = x.tolist(), y.tolist()
    assert out.numpy().tolist() == [products(a, b), first_above(a, 3.0), some(a)]


@lp.kernel
def all_kinds(weights: lp.Array[Weight], points: lp.In[lp.f32x3], out: lp.Array[lp.f32]):
    for weight in weights:
        out[0] += weight.value * weight.count
    for point in points:
        out[1] += point.x + point.z
    for number in TABLE:
        out[2] += number
    for i, number in enumerate(lp.FixedArray[lp.i32, 4](4, 3, 2, 1)):
        out[3] += i * number
    own = lp.private.array(3, lp.f32)
    for i in range(3):
        own[i] = i + 0.5
    for number in own:
        out[4] += number


def test_elements_of_every_kind(device):
    weights = lp.asarray([Weight(0.5, 2), Weight(2.0, 3)], device=device)
    points = lp.asarray(np.arange(6, dtype=np.float32).reshape(2, 3), lp.f32x3, device=device)
    out = lp.zeros(5, device=device)
    all_kinds[1](weights, points, out)
    assert out.numpy().tolist() == [7, 10, 15, 10, 4.5]


@lp.kernel
def stores_ahead(x: lp.Array[lp.i32]):
    for i, value in enumerate(x):
        if i + 1 < len(x):
            x[i + 1] = value + 1


def test_a_round_sees_what_earlier_ones_have_stored(device):
    x = lp.asarray(np.array([5, 0, 0, 0], np.int32), device=device)
    stores_ahead[1](x)
    assert x.numpy().tolist() == [5, 6, 7, 8]


@lp.kernel(local_size=8)
def shared(x: lp.In[lp.i32], tile: lp.LocalArray[lp.i32], out: lp.Out[lp.i32]):
    tile[lp.local_id(0)] = x[lp.global_id(0)]
    lp.barrier()
    total = 0
    for value in tile:
        total += value
        lp.barrier()  # the array has one length for all: every work-item gets here
    out[lp.global_id(0)] = total


def test_loops_over_shared_memory_may_hold_barriers(device):
    out = lp.zeros(16, lp.i32, device=device)
    shared[16](lp.asarray(np.arange(16, dtype=np.int32), device=device), lp.local(8), out)
    assert out.numpy().tolist() == [28] * 8 + [92] * 8


def of_rows(vector, matrix):
    digits = weighted = beside = last = 0
    for row in matrix:
        for value in row:
            digits = 10 * digits + value
    for i, row in enumerate(matrix):
        row[0] += i  # a copy: the matrix stays
        weighted += row[0] * row[2]
    for row, (p, q), x in zip(matrix, ((1, 2), (3, 4)), vector, strict=False):
        beside += (row[0] * p + row[1] * q) * x
    for x, y in zip(vector, (5, 6, 7), strict=True):
        last += x * y
    return digits, weighted, beside, last, matrix[1][0]


@lp.kernel
def rows(
    vector: lp.FixedArray[lp.i32, 3], matrix: lp.FixedArray[lp.i32, 2, 3], out: lp.Out[lp.i32], count: lp.i32
):
    results = of_rows(vector, matrix)
    for i in lp.static_range(5):
        out[i] = results[i]
    table = lp.FixedArray[lp.i32, 2, 2]()  # in memory, since a loop changes it by element
    for i in range(count):
        table[i % 2, i // 2 % 2] += i
    for pair in table:
        out[5] = out_digits(pair[0], pair[1])


def out_digits(first, second):
    return 10 * first + second


def test_rows_of_fixed_arrays_are_copies(device):
    out = lp.zeros(6, lp.i32, device=device)
    rows[1]([1, 2, 3], [[1, 2, 3], [4, 5, 6]], out, 8)
    weighted, beside, last = 1 * 3 + (4 + 1) * 6, (1 * 1 + 2 * 2) * 1 + (4 * 3 + 5 * 4) * 2, 5 + 2 * 6 + 3 * 7
    assert out.numpy().tolist() == [123456, weighted, beside, last, 4, 10 * (1 + 5) + 3 + 7]


def test_fixed_arrays_and_arrays_of_other_lengths_do_not_mix(device):
    text = "@lp.kernel\ndef mixed(a: lp.Array[lp.i32], b: lp.FixedArray[lp.i32, 2]):\n    "
    kernel = lp.kernel_from_source(text + "for x, y, z in zip(a, b, (1, 2)):\n        a[0] += x + y + z\n")
    with pytest.raises(lp.CompileError, match="not both"):
        kernel[1](lp.zeros(2, lp.i32, device=device), [1, 2])
    kernel = lp.kernel_from_source(
        text + "for x, y in zip(b, (1, 2, 3), strict=True):\n        a[0] += x + y\n"
    )
    with pytest.raises(lp.CompileError, match="different lengths: 2, 3"):
        kernel[1](lp.zeros(2, lp.i32, device=device), [1, 2])
