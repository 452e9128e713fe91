"""Zeros that a driver finds out at its compile time are computed with as IEEE 754 says.

Mesa's llvmpipe took 0.0 * x for 0.0, x / 0.0 for 0.0 and -0.0 + 0.0 for -0.0, where the zero came from a specialization
constant, from a loop that it wrote out or from a table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lapilli as lp

ZERO = lp.SpecializationId(lp.f32, 5.0)
NEGATIVE = lp.SpecializationId(lp.f32, 5.0)
NONE = lp.SpecializationId(lp.i32, 5)
ROW = lp.SpecializationId(lp.FixedArray[lp.f32, 3], [5.0, 5.0, 5.0])
TABLE = np.array([0.0, 1.0, 0.0], np.float32)
X = np.array([np.inf, -np.inf, np.nan, -0.0, 0.0, 1.5, -2.5, 1e30], np.float32)


def scaled(x: lp.f32, factor: lp.f32) -> lp.f32:
    if x > 1e20:
        return x * factor
    return x / factor


@lp.kernel
def constants(x: lp.In[lp.f32], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    v = x[i]
    out[0, i] = v * ZERO
    out[1, i] = v / ZERO
    out[2, i] = ZERO / v
    out[3, i] = v + ZERO
    out[4, i] = ZERO - v
    out[5, i] = v - NEGATIVE
    out[6, i] = v * lp.f32(NONE)
    out[7, i] = v * abs(ZERO)
    out[8, i] = lp.math.fma(v, ZERO, NEGATIVE)
    out[9, i] = v * (0.0 if NONE == 0 else 1.0)
    out[10, i] = scaled(v, ZERO)
    out[11, i] = v + 0.0
    out[12, i] = 0.0 - v
    pair = lp.f32x2(v, v)
    out[13, i] = (pair / lp.f32x2(ZERO, 1.0)).x
    out[14, i] = (pair * lp.f32x2(0.0, 1.0)).x


@lp.kernel
def loops(x: lp.In[lp.f32], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    v = x[i]
    total = 0.0
    product = 0.0
    counted = 1.0
    from_table = 1.0
    from_row = 1.0
    for k in range(3):
        total = total + v
        product = product * v
        counted = counted * (v * lp.f32(k))
        from_table = from_table * (v * TABLE[k])
        from_row = from_row * (v * ROW[k])
    falling = 2.0
    seen = 1.0
    while falling > -0.5:
        falling -= 1.0
        if falling == 0.0:
            seen = v * falling
    out[0, i] = total
    out[1, i] = product
    out[2, i] = counted
    out[3, i] = from_table
    out[4, i] = from_row
    out[5, i] = seen


def of_constants(x: np.ndarray) -> list[np.ndarray]:
    zero = np.float32(0)
    times, over = x * zero, x / zero
    either = np.where(x > 1e20, times, over)
    return [
        *(times, over, zero / x, x + zero, zero - x, x + zero, times, times, times + -zero),
        *(times, either, x + zero, zero - x, over, times),
    ]


def of_loops(x: np.ndarray) -> list[np.ndarray]:
    zero, two = np.float32(0), np.float32(2)
    table = (x * zero) * x * (x * zero)
    return [x + zero + x + x, zero * x * x * x, (x * zero) * x * (x * two), table, table, x * zero]


@pytest.mark.parametrize("opt_level", [0, 1])
@pytest.mark.parametrize(("kernel", "expected"), [(constants, of_constants), (loops, of_loops)])
def test_known_zeros(device: lp.Device, kernel: Any, expected: Any, opt_level: int) -> None:
    kernel = lp.kernel(kernel.function, opt_level=opt_level, contract=False)
    with np.errstate(all="ignore"):
        rows = np.stack(expected(X))
    out = lp.zeros(rows.shape, device=device)
    values = {ZERO: 0.0, NEGATIVE: -0.0, NONE: 0} if expected is of_constants else {ROW: TABLE}
    kernel[X.size].spec(values)(lp.asarray(X, device=device), out)
    np.testing.assert_array_equal(out.numpy(), rows)
    signed = ~np.isnan(rows)
    np.testing.assert_array_equal(np.signbit(out.numpy())[signed], np.signbit(rows)[signed])
