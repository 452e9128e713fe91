"""Angles modulo π/2: which quarter an angle lies in, and the rest.

Up to some size, multiples of the leading bits of π/2 are exact and are subtracted one after the other.  Beyond,
x = M 2**e is multiplied by those bits of 2/π that matter (Payne and Hanek): the ones before them give multiples
of four quarters, the ones after them nothing.
"""

from __future__ import annotations

from typing import Any

import lapilli as lp

from .formats import F32, F64, nearest_integer, words_at

TWO_OVER_PI = 0.6366197723675814
HALF_PI = 1.5707963267948966

HALF_PI_F32 = (1.570556640625, 0.0002396702766418457, 1.5890691429376602e-08, 2.563344151594519e-12)
"""Three times 13 bits of π/2, and the rest."""
HALF_PI_F64 = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32)
"""Three times 33 bits."""
NEAR_F32 = 3200.0
"""Fewer than 2**11 quarters."""
NEAR_F64 = 1600000.0
"""Fewer than 2**20 quarters."""

BITS_F32 = (0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041)
"""A word of zeros, and the bits of 2/π behind the point."""
GENERAL_BITS_F32 = (
    0, 0x028BE60D, 0xB9391054, 0xA7F09D5F, 0x47D4D377, 0x036D8A56, 0x64F10E41, 0x07F9458E, 0xAF7AEF15,
)  # fmt: skip
"""38 zeros, and the bits of 2/π behind the point."""
LEAST_EXPONENT_F32 = -13
"""Of angles that `reduced_general_f32` takes: those that are smaller are their own sines."""
BITS_F64 = (
    0, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41,
    0x3991D639835339F4, 0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08,
)  # fmt: skip


def reduced_near(x: Any, half_pi: Any, form: Any) -> Any:
    """Quarter and rest of an angle of few quarters; only the last two of the differences are rounded."""
    whole, quarter = nearest_integer(x * TWO_OVER_PI, form)
    first = (x - whole * half_pi[0]) - whole * half_pi[1]
    third = whole * half_pi[2]
    rest = first - third
    lost = (first - rest) - third
    return quarter, rest + (lost - whole * half_pi[3])


def window(words: Any, start: Any, width: Any, word: Any) -> Any:
    """The three words of a table from bit `start` on."""
    first, second, third, fourth = words_at(words, start // width, 4, word)
    left = start % width
    right = width - 1 - left
    return (
        first << left | second >> 1 >> right,
        second << left | third >> 1 >> right,
        third << left | fourth >> 1 >> right,
    )


def quarter_and_fraction(high: Any, low: Any, width: Any, signed: Any, real: Any, scale: Any) -> Any:
    """Splits a fixed-point number of quarters modulo 4: the nearest quarter, and the signed fraction as a float."""
    quarter = lp.i32(high >> (width - 2))
    fraction = high << 2 | low >> (width - 2)
    below = low << 2
    is_above_half = signed(fraction) < 0
    quarter = quarter + lp.select(is_above_half, 1, 0)
    # 1 - fraction, which is negative then, in two's complement
    fraction = lp.select(is_above_half, ~fraction, fraction)
    below = lp.select(is_above_half, ~below, below)
    size = real(fraction) * scale + real(below) * (scale * scale)
    return quarter, lp.select(is_above_half, -size, size)


def reduced_far_f32(x: lp.f32) -> Any:
    """Quarter and rest of any angle of 2**11 or more."""
    bits = lp.bitcast(x, lp.u32)
    exponent = lp.i32((bits >> 23) & 255) - 127
    mantissa = ((bits & 0x7FFFFF) | 0x800000) << 8
    high, middle, low = window(BITS_F32, min(max(exponent, 1), 127) - 1, 32, lp.u32)
    product = mantissa * middle
    sum_low = product + lp.math.mul_hi(mantissa, low)
    carry = lp.select(sum_low < product, lp.u32(1), lp.u32(0))
    sum_high = mantissa * high + lp.math.mul_hi(mantissa, middle) + carry
    quarter, fraction = quarter_and_fraction(sum_high, sum_low, 32, lp.i32, lp.f32, 2.0**-32)
    rest = fraction * HALF_PI
    return lp.select(x < 0.0, -quarter, quarter), lp.select(x < 0.0, -rest, rest)


def reduced_far_f64(x: lp.f64) -> Any:
    """Quarter and rest of any angle of 2**20 or more."""
    bits = lp.bitcast(x, lp.u64)
    exponent = lp.i32((bits >> 52) & 2047) - 1023
    mantissa = ((bits & 0xFFFFFFFFFFFFF) | 0x10000000000000) << 11
    high, middle, low = window(BITS_F64, min(max(exponent, 1), 1023) - 1, 64, lp.u64)
    product = mantissa * middle
    sum_low = product + lp.math.mul_hi(mantissa, low)
    carry = lp.select(sum_low < product, lp.u64(1), lp.u64(0))
    sum_high = mantissa * high + lp.math.mul_hi(mantissa, middle) + carry
    quarter, fraction = quarter_and_fraction(sum_high, sum_low, 64, lp.i64, lp.f64, 2.0**-64)
    rest = fraction * HALF_PI
    return lp.select(x < 0.0, -quarter, quarter), lp.select(x < 0.0, -rest, rest)


def reduced_f32(x: lp.f32) -> Any:
    """Quarter and rest of any angle; NaN stays NaN, and infinity becomes it."""
    quarter, rest = reduced_near(x, HALF_PI_F32, F32)
    if abs(x) > NEAR_F32:
        quarter, rest = reduced_far_f32(x)
    return quarter, lp.select(abs(x) < lp.math.inf, rest, lp.math.nan)


def reduced_f64(x: lp.f64) -> Any:
    """Quarter and rest of any angle; NaN stays NaN, and infinity becomes it."""
    quarter, rest = reduced_near(x, HALF_PI_F64, F64)
    if abs(x) > NEAR_F64:
        quarter, rest = reduced_far_f64(x)
    return quarter, lp.select(abs(x) < lp.math.inf, rest, lp.math.nan)


def reduced_general_f32(x: lp.f32) -> Any:
    """Turn and rest of |x|, for angles of 2**LEAST_EXPONENT_F32 or more, and of any size beyond, without a branch.

    The turn is a u32 with the quarter in its two upper bits.  Few shifts: software drivers do them lane by lane.
    """
    bits = lp.bitcast(x, lp.u32)
    least = 127 + LEAST_EXPONENT_F32
    start = lp.u32(max(lp.i32((bits >> 23) & 255), least) - least)
    mantissa = (bits & 0x7FFFFF) | 0x800000
    high, middle, low = window(GENERAL_BITS_F32, start, 32, lp.u32)
    product = mantissa * middle
    below = product + lp.math.mul_hi(mantissa, low)
    carry = lp.select(below < product, lp.u32(1), lp.u32(0))
    quarters = mantissa * high + lp.math.mul_hi(mantissa, middle) + carry
    turn = quarters + 0x20000000  # half a quarter more, to round to the nearest
    # What is above or below the quarter, as 31 bits and 31 bits; the complement is short of it by the last bit of 62.
    is_below = lp.i32(quarters * 4) < 0
    flips = lp.select(is_below, lp.u32(0xFFFFFFFF), lp.u32(0))
    upper = quarters * 4 + lp.select(lp.i32(below) < 0, lp.u32(2), lp.u32(0))
    size = lp.f32(lp.i32((upper ^ flips) & 0x7FFFFFFE)) * 2.0**-32
    size = size + lp.f32(lp.i32((below ^ flips) & 0x7FFFFFFF)) * 2.0**-62
    rest = size * HALF_PI
    return turn, lp.select(is_below, -rest, rest)
