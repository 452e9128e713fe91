"""Comparisons and functions of fixed arrays work by element, as those of SYCL's marray and of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

Matrix = lp.FixedArray[lp.f32, 2, 3]
Points = lp.FixedArray[lp.f32x2, 3]


@lp.kernel
def compare(
    a: lp.In[Matrix], b: lp.In[Matrix], same: lp.Out[lp.i32, 3], chosen: lp.Out[Matrix], ranks: lp.Out[lp.i32]
):
    i = lp.global_id(0)
    equal = a[i] == b[i]
    for r in range(2):
        for k in range(3):
            same[i, r, k] = equal[r, k]
    chosen[i] = lp.select(a[i] > b[i], lp.math.sqrt(a[i]), max(a[i], 2.0))
    less = a[i][0] < b[i][1]
    other = a[i] != 1.0
    ranks[i] = (less[0] * 8 + less[1] * 4 + less[2] * 2) + (1 if other[1, 2] or not other[0][0] else 0)


def test_numbers(device):
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 4, (2, 40, 2, 3)).astype(np.float32)
    same, chosen = lp.zeros((40, 2, 3), lp.i32, device=device), lp.zeros(40, Matrix, device=device)
    ranks = lp.zeros(40, lp.i32, device=device)
    compare[40](
        lp.asarray(a, Matrix, device=device), lp.asarray(b, Matrix, device=device), same, chosen, ranks
    )
    np.testing.assert_array_equal(same.numpy(), a == b)
    np.testing.assert_allclose(
        chosen.numpy(), np.where(a > b, np.sqrt(a), np.maximum(a, 2)), rtol=2e-7
    )  # sqrt
    flags = (a[:, 1, 2] != 1) | (a[:, 0, 0] == 1)
    np.testing.assert_array_equal(ranks.numpy(), ((a[:, 0] < b[:, 1]) * [8, 4, 2]).sum(1) + flags)


@lp.kernel
def fold(points: Points, out: lp.Out[Points]):
    is_beyond = points > lp.f32x2(1, 2)
    out[0] = lp.select(is_beyond, points, -points)


def test_vectors(device):
    points = np.float32([[0, 1], [2, 3], [1, 4]])
    out = lp.zeros(1, Points, device=device)
    fold[1](points, out)
    np.testing.assert_array_equal(out.numpy()[0], np.where(points > np.float32([1, 2]), points, -points))


@lp.kernel
def extremes(m: Matrix, out: lp.Out[lp.f32]):
    out[0] = min(m)
    out[1] = max(m[1])
    out[2] = max(lp.FixedArray[lp.f32, 1](7.0))


def test_the_least_and_the_largest_element(device):
    out = lp.zeros(3, device=device)
    extremes[1](np.float32([[3, -1, 5], [2, 4, 0]]), out)
    assert out.numpy().tolist() == [-1, 4, 7]
