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
