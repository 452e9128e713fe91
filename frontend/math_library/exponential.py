"""exp, exp2, expm1, and the hyperbolic functions that are made of them."""

from __future__ import annotations

from typing import Any

import lapilli as lp

from .formats import F32, F64, nearest_integer, polynomial, scaled

# ln 2 as a number with trailing zeros, whose multiples are exact, and the rest.
LN2_F32 = (0.693145751953125, 1.4286068203094173e-06)
LN2_F64 = (0.6931471803691238, 1.9082149292705877e-10)
LOG2_E = 1.4426950408889634

# (e**r - 1 - r) / r² on |r| <= ln 2 / 2.
EXP_F32 = (0.5, 0.16666576839342087, 0.04166655442937628, 0.008363204078282449, 0.001392621484879234)
EXP_F64 = (
    0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326112, 0.001388888888888373,
    0.00019841269874904994, 2.480158732560799e-05, 2.7557255293237253e-06, 2.75572735667227e-07,
    2.510526150644964e-08, 2.0914718747079475e-09,
)  # fmt: skip
# (2**r - 1) / r on |r| <= 1/2.
EXP2_F32 = (
    0.6931471880711763, 0.24022650760957306, 0.05550356898627073, 0.00961808237061666, 0.0013390978248123866,
    0.00015453262409320672,
)  # fmt: skip
EXP2_F64 = (
    0.6931471805599453, 0.24022650695910072, 0.05550410866482158, 0.009618129107628484, 0.0013333558146428445,
    0.00015403530393362603, 1.5252733804051059e-05, 1.3215486816155575e-06, 1.017808602125736e-07,
    7.054894317261137e-09, 4.4455302771875135e-10, 2.5733678739192404e-11, 1.371701341040781e-12,
)  # fmt: skip
# (sinh(x) - x) / x³ over x² on |x| <= 1.
SINH_F32 = (0.16666666646682549, 0.00833333971420984, 0.00019838089211055785, 2.806382249944865e-06)
SINH_F64 = (
    0.16666666666666666, 0.008333333333333333, 0.0001984126984126984, 2.7557319223985825e-06,
    2.5052108385476415e-08, 1.6059043826820739e-10, 7.647165424736503e-13, 2.811290296549423e-15,
    8.30934993709767e-18,
)  # fmt: skip

LIMITS_F32 = (-176.0, 89.5)
"""exp is 0 below and infinite above; exp2 has its own.  At the lower limit both factors of `scaled` are 0: where they
are not, a processor takes hundreds of cycles for the products that are too small."""
LIMITS_F64 = (-1418.0, 710.5)


def clamped(x: Any, limits: Any) -> Any:
    """x between two limits; NaN stays, which min and max would replace."""
    low = lp.select(x < limits[0], limits[0], x)
    return lp.select(low > limits[1], limits[1], low)


def reduced(x: Any, limits: Any, ln2: Any, form: Any) -> Any:
    """x = k ln 2 + r with |r| <= ln 2 / 2; returns k and r, which is NaN where x is."""
    inside = clamped(x, limits)
    whole, k = nearest_integer(inside * LOG2_E, form)
    return k, (inside - whole * ln2[0]) - whole * ln2[1]


def exp_times_power(x: Any, shift: Any, coefficients: Any, limits: Any, ln2: Any, form: Any) -> Any:
    """e**x * 2**shift: the power of two may be what keeps the result finite."""
    k, r = reduced(x, limits, ln2, form)
    return scaled(1.0 + (r + r * r * polynomial(r, coefficients)), k + shift, form)


def exp_f32(x: lp.f32) -> lp.f32:
    """e**x"""
    return exp_times_power(x, 0, EXP_F32, LIMITS_F32, LN2_F32, F32)


def exp_f64(x: lp.f64) -> lp.f64:
    """e**x"""
    return exp_times_power(x, 0, EXP_F64, LIMITS_F64, LN2_F64, F64)


def exp2(x: Any, limits: Any, coefficients: Any, form: Any) -> Any:
    """2**x: exact for whole x."""
    inside = clamped(x, limits)
    whole, k = nearest_integer(inside, form)
    r = inside - whole
    return scaled(1.0 + r * polynomial(r, coefficients), k, form)


def exp2_f32(x: lp.f32) -> lp.f32:
    """2**x"""
    return exp2(x, (-254.0, 128.5), EXP2_F32, F32)


def exp2_f64(x: lp.f64) -> lp.f64:
    """2**x"""
    return exp2(x, (-2046.0, 1024.5), EXP2_F64, F64)


def expm1(x: Any, coefficients: Any, limits: Any, ln2: Any, form: Any) -> Any:
    """e**x - 1 = 2**k (e**r - 1) + (2**k - 1), with half of 2**k, which is finite where the result is."""
    k, r = reduced(x, limits, ln2, form)
    part = r + r * r * polynomial(r, coefficients)
    real = form[0]
    half = scaled(real(0.5), k, form)
    result = 2.0 * (half * part + (half - 0.5))
    result = lp.select(k == 0, part, result)
    return lp.select(x == 0.0, x, result)


def expm1_f32(x: lp.f32) -> lp.f32:
    """e**x - 1"""
    return expm1(x, EXP_F32, (-18.0, 89.0), LN2_F32, F32)


def expm1_f64(x: lp.f64) -> lp.f64:
    """e**x - 1"""
    return expm1(x, EXP_F64, (-40.0, 710.0), LN2_F64, F64)


def sinh(x: Any, half: Any, coefficients: Any) -> Any:
    """A polynomial below 1, else e**x / 2 - e**-x / 2; `half` is e**|x| / 2."""
    square = x * x
    series = x + x * (square * polynomial(square, coefficients))
    result = half - 0.25 / half
    return lp.select(abs(x) < 1.0, series, lp.math.copysign(result, x))


def sinh_f32(x: lp.f32) -> lp.f32:
    """Hyperbolic sine."""
    half = exp_times_power(abs(x), -1, EXP_F32, (0.0, 90.5), LN2_F32, F32)
    return sinh(x, half, SINH_F32)


def sinh_f64(x: lp.f64) -> lp.f64:
    """Hyperbolic sine."""
    half = exp_times_power(abs(x), -1, EXP_F64, (0.0, 711.5), LN2_F64, F64)
    return sinh(x, half, SINH_F64)


def cosh_f32(x: lp.f32) -> lp.f32:
    """Hyperbolic cosine."""
    half = exp_times_power(abs(x), -1, EXP_F32, (0.0, 90.5), LN2_F32, F32)
    return half + 0.25 / half


def cosh_f64(x: lp.f64) -> lp.f64:
    """Hyperbolic cosine."""
    half = exp_times_power(abs(x), -1, EXP_F64, (0.0, 711.5), LN2_F64, F64)
    return half + 0.25 / half


def tanh(x: Any, less_one: Any) -> Any:
    """(1 - e) / (1 + e) of e = e**(-2 |x|), from `less_one` = e - 1."""
    result = lp.math.copysign(less_one / (less_one + 2.0), x)
    return lp.select(x == 0.0, x, result)


def tanh_f32(x: lp.f32) -> lp.f32:
    """Hyperbolic tangent."""
    return tanh(x, expm1_f32(-2.0 * abs(x)))


def tanh_f64(x: lp.f64) -> lp.f64:
    """Hyperbolic tangent."""
    return tanh(x, expm1_f64(-2.0 * abs(x)))
