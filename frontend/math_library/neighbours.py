"""The numbers next to a number, by their bits: nextafter, ulp.

Those of f16 and bf16 are computed in f32, in which they are all normal, or have bf16's bits: no integers of 16 bits
are needed, which not every device has.
"""

from __future__ import annotations

from typing import Any

import lapilli as lp

from .formats import F32, F64


def nextafter(x: Any, y: Any, form: Any) -> Any:
    """The number after x on the way to y: its bits count up away from zero."""
    real = form[0]
    bits = form[1]
    pattern = lp.bitcast(x, bits)
    is_away = (x < y) == (x > 0.0)
    step = lp.select(is_away, pattern + 1, pattern - 1)
    smallest = lp.math.copysign(lp.bitcast(bits(1), real), y)
    result = lp.select(x == 0.0, smallest, lp.bitcast(step, real))
    result = lp.select(x == y, y, result)
    return lp.select((x != x) | (y != y), lp.math.nan, result)


def nextafter_f32(x: lp.f32, y: lp.f32) -> lp.f32:
    """The number after x on the way to y."""
    return nextafter(x, y, F32)


def nextafter_f64(x: lp.f64, y: lp.f64) -> lp.f64:
    """The number after x on the way to y."""
    return nextafter(x, y, F64)


def ulp(x: Any, form: Any) -> Any:
    """The difference between |x| and the number after it; for the largest, to the one before it."""
    real = form[0]
    bits = form[1]
    a = abs(x)
    pattern = lp.bitcast(a, bits)
    above = lp.bitcast(pattern + 1, real)
    step = lp.select(above < lp.math.inf, above - a, a - lp.bitcast(pattern - 1, real))
    return lp.select(a < lp.math.inf, step, a)


def ulp_f32(x: lp.f32) -> lp.f32:
    """The value of the last bit of x."""
    return ulp(x, F32)


def ulp_f64(x: lp.f64) -> lp.f64:
    """The value of the last bit of x."""
    return ulp(x, F64)


_F16_STEP = 1 << 13
"""From one f16 to the next, in the bits of an f32."""
_BF16_STEP = 1 << 16


def nextafter_f16(x: lp.f32, y: lp.f32) -> lp.f32:
    """The f16 after x on the way to y; below 2**-14 they are 2**-24 apart."""
    finite = min(max(x, -65536.0), 65536.0)  # where infinity would stand
    is_away = (x < y) == (x > 0.0)
    step = lp.select(is_away, _F16_STEP, -_F16_STEP)
    result = lp.bitcast(lp.bitcast(finite, lp.i32) + step, lp.f32)
    is_small = (abs(x) < 2.0**-14) | ((abs(x) == 2.0**-14) & (abs(result) < abs(x)))
    moved = x + lp.select(x < y, lp.f32(2.0**-24), lp.f32(-(2.0**-24)))
    result = lp.select(is_small, lp.math.copysign(moved, lp.select(x == 0.0, y, x)), result)
    result = lp.select(x == y, y, result)
    return lp.select((x != x) | (y != y), lp.math.nan, result)


def nextafter_bf16(x: lp.f32, y: lp.f32) -> lp.f32:
    """The bf16 after x on the way to y."""
    is_away = (x < y) == (x > 0.0)
    step = lp.select(is_away, _BF16_STEP, -_BF16_STEP)
    result = lp.bitcast(lp.bitcast(x, lp.i32) + step, lp.f32)
    smallest = lp.math.copysign(lp.bitcast(lp.i32(_BF16_STEP), lp.f32), y)
    result = lp.select(x == 0.0, smallest, result)
    result = lp.select(x == y, y, result)
    return lp.select((x != x) | (y != y), lp.math.nan, result)


def ulp_f16(x: lp.f32) -> lp.f32:
    """The value of the last bit of an f16; infinity's and NaN's is itself."""
    a = abs(x)
    step = lp.bitcast(lp.bitcast(a, lp.i32) + _F16_STEP, lp.f32) - a
    return lp.select(a < lp.math.inf, lp.select(a < 2.0**-14, lp.f32(2.0**-24), step), a)


def ulp_bf16(x: lp.f32) -> lp.f32:
    """The value of the last bit of a bf16; for the largest, the distance to the one before it."""
    a = abs(x)
    pattern = lp.bitcast(a, lp.i32)
    above = lp.bitcast(pattern + _BF16_STEP, lp.f32)
    step = lp.select(above < lp.math.inf, above - a, a - lp.bitcast(pattern - _BF16_STEP, lp.f32))
    return lp.select(a < lp.math.inf, step, a)
