"""Zeros that a driver finds in fixed arrays which are values: 0.0 times NaN is NaN, and 0.0 times -1.0 is -0.0."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

Pair = lp.FixedArray[lp.f32, 2]
Rows = lp.FixedArray[lp.f32, 2, 2]
Numbers = lp.FixedArray[lp.i32, 2]
Vectors = lp.FixedArray[lp.f32x2, 2]
ZERO = lp.SpecializationId(lp.f32, 0.0)
XS = np.array([np.nan, np.inf, -1.0, 2.0], np.float32)
FACTORS = 14


def second(p: Pair) -> lp.f32:
    return p[1]


def exchanged(p: Pair) -> Pair:
    return Pair(p[1], p[0])


def products(x: lp.In[lp.f32], o: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    v, y = x[i], x[3]
    o[0, i] = v * Pair(y, 0.0)[1]
    o[1, i] = v * (Pair(y, -0.0) + Pair(0.0))[1]
    o[2, i] = v * -(-Pair(y, 0.0))[1]
    o[3, i] = v * Pair(y, ZERO)[1]
    o[4, i] = v * (Pair(y, 0.0) if v > 1.0 else Pair(1.0, 0.0))[1]
    o[5, i] = v * Rows((y, 1.0), (y, 0.0))[1][1]
    o[6, i] = v * Rows((y, 0.0), (y, 0.0))[i % 2][1]
    o[7, i] = v * Vectors(lp.f32x2(y), lp.f32x2(y, 0.0))[1].y
    o[8, i] = v * second(Pair(y, 0.0))
    o[9, i] = v * exchanged(Pair(0.0, y))[1]
    o[10, i] = v * lp.f32(Numbers(i, 0)[1])
    changed = Pair(v, y)
    changed[1] = 0.0
    o[11, i] = v * changed[1]
    carried = Pair(y, 0.0)
    for n in range(2):
        o[12 + n, i] = v * carried[1]
        carried[0] += v


@pytest.mark.parametrize("level", [0, 1, 2])
def test_zeros_that_are_elements(device: lp.Device, level: Literal[0, 1, 2]) -> None:
    kernel = lp.kernel(contract=False, opt_level=level)(products)
    out = lp.empty((FACTORS, 4), device=device)
    kernel[4](lp.asarray(XS, device=device), out)
    for row in out.numpy():
        np.testing.assert_array_equal(row, [np.nan, np.nan, -0.0, 0.0])
        assert np.signbit(row[2:]).tolist() == [True, False], row
