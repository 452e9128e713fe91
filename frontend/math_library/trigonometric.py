"""sin, cos and tan, of angles of any size."""

from __future__ import annotations

from typing import Any

import lapilli as lp

from .angle_reduction import LEAST_EXPONENT_F32, reduced_f32, reduced_f64, reduced_general_f32
from .formats import polynomial

# (sin(x) - x) / x³ and (cos(x) - 1 + x²/2) / x⁴, over x² on |x| <= π/4.
SIN_F32 = (-0.16666666663850796, 0.008333331872963532, -0.00019840085791985552, 2.7249803501237962e-06)
COS_F32 = (0.041666664657098035, -0.0013888302568653848, 2.454784114961604e-05)
SIN_F64 = (
    -0.16666666666666666, 0.008333333333333331, -0.00019841269841265055, 2.755731921933174e-06,
    -2.5052106229867592e-08, 1.6058531210130865e-10, -7.586673021289394e-13,
)  # fmt: skip
COS_F64 = (
    0.041666666666666664, -0.0013888888888888887, 2.4801587301584642e-05, -2.7557319221398695e-07,
    2.087675578964601e-09, -1.1470460660294752e-11, 4.7458585048710725e-14,
)  # fmt: skip


def sin_of_rest(r: Any, coefficients: Any) -> Any:
    """sin r on |r| <= π/4."""
    square = r * r
    return r + r * (square * polynomial(square, coefficients))


def cos_of_rest(r: Any, coefficients: Any) -> Any:
    """cos r on |r| <= π/4; what 1 - r²/2 loses is added again."""
    square = r * r
    half = 0.5 * square
    near = 1.0 - half
    return near + (((1.0 - near) - half) + square * square * polynomial(square, coefficients))


def sin_in_quarter(quarter: Any, sine: Any, cosine: Any) -> Any:
    """sin of quarter * π/2 + r."""
    result = lp.select((quarter & 1) == 0, sine, cosine)
    return lp.select((quarter & 2) == 0, result, -result)


def sin_f32(x: lp.f32) -> lp.f32:
    """Sine."""
    quarter, r = reduced_f32(x)
    result = sin_in_quarter(quarter, sin_of_rest(r, SIN_F32), cos_of_rest(r, COS_F32))
    return lp.select(x == 0.0, x, result)


def sin_f64(x: lp.f64) -> lp.f64:
    """Sine."""
    quarter, r = reduced_f64(x)
    result = sin_in_quarter(quarter, sin_of_rest(r, SIN_F64), cos_of_rest(r, COS_F64))
    return lp.select(x == 0.0, x, result)


def cos_f32(x: lp.f32) -> lp.f32:
    """Cosine."""
    quarter, r = reduced_f32(x)
    return sin_in_quarter(quarter + 1, sin_of_rest(r, SIN_F32), cos_of_rest(r, COS_F32))


def cos_f64(x: lp.f64) -> lp.f64:
    """Cosine."""
    quarter, r = reduced_f64(x)
    return sin_in_quarter(quarter + 1, sin_of_rest(r, SIN_F64), cos_of_rest(r, COS_F64))


def sine_of_turn(turn: Any, r: Any) -> Any:
    """sin of turn * π/2**31 + r in f32: one polynomial, whose coefficients are those of the sine or the cosine."""
    is_cosine = (turn & 0x40000000) != 0
    square = r * r
    term = lp.select(is_cosine, lp.f32(COS_F32[2]), lp.f32(SIN_F32[3]))
    term = term * square + lp.select(is_cosine, lp.f32(COS_F32[1]), lp.f32(SIN_F32[2]))
    term = term * square + lp.select(is_cosine, lp.f32(COS_F32[0]), lp.f32(SIN_F32[1]))
    term = term * square + lp.select(is_cosine, lp.f32(-0.5), lp.f32(SIN_F32[0]))
    first = lp.select(is_cosine, lp.f32(1.0), r)
    result = first + first * (square * term)
    return lp.bitcast(lp.bitcast(result, lp.u32) ^ (turn & 0x80000000), lp.f32)


def sin_f32_general(x: lp.f32) -> lp.f32:
    """Sine, without a branch."""
    turn, r = reduced_general_f32(x)
    result = sine_of_turn(turn ^ (lp.bitcast(x, lp.u32) & 0x80000000), r)
    result = lp.select(abs(x) < 2.0**LEAST_EXPONENT_F32, x, result)
    return lp.select(abs(x) < lp.math.inf, result, lp.math.nan)


def cos_f32_general(x: lp.f32) -> lp.f32:
    """Cosine, without a branch: of the smallest angles it is 1."""
    turn, r = reduced_general_f32(x)
    result = sine_of_turn(turn + 0x40000000, r)
    return lp.select(abs(x) < lp.math.inf, result, lp.math.nan)


def tan_in_quarter(quarter: Any, sine: Any, cosine: Any) -> Any:
    """tan of quarter * π/2 + r."""
    is_even = (quarter & 1) == 0
    return lp.select(is_even, sine, -cosine) / lp.select(is_even, cosine, sine)


def tan_f32(x: lp.f32) -> lp.f32:
    """Tangent."""
    quarter, r = reduced_f32(x)
    result = tan_in_quarter(quarter, sin_of_rest(r, SIN_F32), cos_of_rest(r, COS_F32))
    return lp.select(x == 0.0, x, result)


def tan_f64(x: lp.f64) -> lp.f64:
    """Tangent."""
    quarter, r = reduced_f64(x)
    result = tan_in_quarter(quarter, sin_of_rest(r, SIN_F64), cos_of_rest(r, COS_F64))
    return lp.select(x == 0.0, x, result)


def tan_f32_general(x: lp.f32) -> lp.f32:
    """Tangent, without a branch."""
    turn, r = reduced_general_f32(x)
    sine, cosine = sin_of_rest(r, SIN_F32), cos_of_rest(r, COS_F32)
    is_even = (turn & 0x40000000) == 0
    result = lp.select(is_even, sine, -cosine) / lp.select(is_even, cosine, sine)
    result = lp.select(x < 0.0, -result, result)
    result = lp.select(abs(x) < 2.0**LEAST_EXPONENT_F32, x, result)
    return lp.select(abs(x) < lp.math.inf, result, lp.math.nan)
