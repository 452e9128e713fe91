"""log, log2, log10, log1p, and the inverse hyperbolic functions that are made of log1p.

A number is 2**k m with m from √½ to √2, and with f = m - 1, s = f / (2 + f), log m = 2 atanh s
= f - (f²/2 - s (f²/2 + R(s²))): the large coefficients are exact, so what is rounded is small.
"""

from __future__ import annotations

from typing import Any

import lapilli as lp

from .exponential import LN2_F32, LN2_F64
from .formats import F32, F64, polynomial, upper_half

# (2 atanh(s) - 2s) / s³ over s², s up to (√2 - 1) / (√2 + 1).
LOG_F32 = (0.6666666655449114, 0.4000012184467852, 0.28550820263191995, 0.2333048225750343)
LOG_F64 = (
    0.6666666666666666, 0.3999999999999999, 0.2857142857143536, 0.22222222219858545, 0.181818185936844,
    0.15384575130158748, 0.1333563876377429, 0.1168812153782324, 0.11882016280680187,
)  # fmt: skip

ROOT_HALF_F32 = (0x3F3504F3, 1.1754943508222875e-38)
"""Bits of √½, and the smallest normal number."""
ROOT_HALF_F64 = (0x3FE6A09E667F3BCD, 2.2250738585072014e-308)

# 1 / ln 2, 1 / ln 10 and log10 2, each as a number of few bits and the rest.
LOG2_F32 = (1.4423828125, 0.00031222838896340733, 1.0, 0.0)
LOG2_F64 = (1.4426950365304947, 4.3584687174185184e-09, 1.0, 0.0)
LOG10_F32 = (0.43408203125, 0.00021245065325182765, 0.301025390625, 4.605038981195214e-06)
LOG10_F64 = (0.434294480830431, 1.0728208431540585e-09, 0.30102999566383914, 1.42050232272661e-13)


def split(x: Any, root_half: Any, form: Any) -> Any:
    """x = 2**k (1 + f); returns k as a float and f.  A subnormal x is made normal first."""
    real = form[0]
    bits = form[1]
    fraction = form[2]
    is_small = x < root_half[1]
    normal = lp.select(is_small, x * real(bits(1) << (fraction + 2)), x)
    above = lp.bitcast(normal, bits) - root_half[0]
    k = lp.i32(above >> fraction) - lp.select(is_small, fraction + 2, 0)
    m = lp.bitcast((above & ((bits(1) << fraction) - 1)) + root_half[0], real)
    return real(k), m - 1.0


def with_special_values(x: Any, result: Any) -> Any:
    """The logarithm of 0, of infinity, of what is below 0, and of NaN."""
    result = lp.select(x == lp.math.inf, x, result)
    result = lp.select(x == 0.0, -lp.math.inf, result)
    return lp.select((x < 0.0) | (x != x), lp.math.nan, result)


def sum_of_parts(k: Any, f: Any, correction: Any, coefficients: Any, ln2: Any) -> Any:
    """k ln 2 + log(1 + f) + correction, smallest coefficients first."""
    s = f / (2.0 + f)
    square = s * s
    half = 0.5 * f * f
    small = s * (half + square * polynomial(square, coefficients)) + (k * ln2[1] + correction)
    return k * ln2[0] - ((half - small) - f)


def log_f32(x: lp.f32) -> lp.f32:
    """Natural logarithm."""
    k, f = split(x, ROOT_HALF_F32, F32)
    return with_special_values(x, sum_of_parts(k, f, 0.0, LOG_F32, LN2_F32))


def log_f64(x: lp.f64) -> lp.f64:
    """Natural logarithm."""
    k, f = split(x, ROOT_HALF_F64, F64)
    return with_special_values(x, sum_of_parts(k, f, 0.0, LOG_F64, LN2_F64))


def log_of_base(x: Any, root_half: Any, coefficients: Any, base: Any, form: Any) -> Any:
    """k log_b 2 + log(1 + f) / ln b, the second logarithm in two parts whose products are exact."""
    k, f = split(x, root_half, form)
    s = f / (2.0 + f)
    square = s * s
    half = 0.5 * f * f
    high = upper_half(f - half, form)
    low = ((f - high) - half) + s * (half + square * polynomial(square, coefficients))
    first = high * base[0]
    of_k = k * base[2]
    total = of_k + first
    rest = ((of_k - total) + first) + (k * base[3] + ((low + high) * base[1] + low * base[0]))
    return with_special_values(x, rest + total)


def log2_f32(x: lp.f32) -> lp.f32:
    """Logarithm to base 2: exact for powers of two."""
    return log_of_base(x, ROOT_HALF_F32, LOG_F32, LOG2_F32, F32)


def log2_f64(x: lp.f64) -> lp.f64:
    """Logarithm to base 2: exact for powers of two."""
    return log_of_base(x, ROOT_HALF_F64, LOG_F64, LOG2_F64, F64)


def log10_f32(x: lp.f32) -> lp.f32:
    """Logarithm to base 10."""
    return log_of_base(x, ROOT_HALF_F32, LOG_F32, LOG10_F32, F32)


def log10_f64(x: lp.f64) -> lp.f64:
    """Logarithm to base 10."""
    return log_of_base(x, ROOT_HALF_F64, LOG_F64, LOG10_F64, F64)


def log1p(x: Any, root_half: Any, coefficients: Any, ln2: Any, form: Any) -> Any:
    """log(1 + x): the logarithm of the rounded sum u, and what was rounded away, divided by u."""
    u = 1.0 + x
    k, f = split(u, root_half, form)
    lost = lp.select(k > 0.0, 1.0 - (u - x), x - (u - 1.0)) / u
    lost = lp.select(abs(u) < lp.math.inf, lost, 0.0)
    is_near = k == 0.0
    result = sum_of_parts(k, lp.select(is_near, x, f), lp.select(is_near, 0.0, lost), coefficients, ln2)
    return lp.select(x == 0.0, x, with_special_values(u, result))


def log1p_f32(x: lp.f32) -> lp.f32:
    """log(1 + x)"""
    return log1p(x, ROOT_HALF_F32, LOG_F32, LN2_F32, F32)


def log1p_f64(x: lp.f64) -> lp.f64:
    """log(1 + x)"""
    return log1p(x, ROOT_HALF_F64, LOG_F64, LN2_F64, F64)


LN2 = 0.6931471805599453
LARGE_F32 = 1073741824.0
"""From here on x² + 1 is x², and 2 x + 1 is 2 x."""
LARGE_F64 = 1152921504606846976.0


def asinh_argument(a: Any, large: Any) -> Any:
    """z with asinh a = log1p(z), and for a large one log1p(z) + ln 2."""
    inside = min(a, large)
    z = inside + inside * (inside / (1.0 + lp.math.sqrt(1.0 + inside * inside)))
    return lp.select(a < large, z, a)


def asinh_f32(x: lp.f32) -> lp.f32:
    """Inverse hyperbolic sine."""
    a = abs(x)
    result = log1p_f32(asinh_argument(a, LARGE_F32)) + lp.select(a < LARGE_F32, 0.0, LN2)
    return lp.select((x == 0.0) | (x != x), x, lp.math.copysign(result, x))


def asinh_f64(x: lp.f64) -> lp.f64:
    """Inverse hyperbolic sine."""
    a = abs(x)
    result = log1p_f64(asinh_argument(a, LARGE_F64)) + lp.select(a < LARGE_F64, lp.f64(0.0), LN2)
    return lp.select((x == 0.0) | (x != x), x, lp.math.copysign(result, x))


def acosh_argument(x: Any, large: Any) -> Any:
    """z with acosh x = log1p(z), and for a large one log1p(z) + ln 2."""
    t = min(x, large) - 1.0
    return lp.select(x < large, t + lp.math.sqrt(t * (t + 2.0)), x - 1.0)


def acosh_f32(x: lp.f32) -> lp.f32:
    """Inverse hyperbolic cosine."""
    result = log1p_f32(acosh_argument(x, LARGE_F32)) + lp.select(x < LARGE_F32, 0.0, LN2)
    return lp.select(x >= 1.0, result, lp.math.nan)


def acosh_f64(x: lp.f64) -> lp.f64:
    """Inverse hyperbolic cosine."""
    result = log1p_f64(acosh_argument(x, LARGE_F64)) + lp.select(x < LARGE_F64, lp.f64(0.0), LN2)
    return lp.select(x >= 1.0, result, lp.math.nan)


def with_atanh_values(x: Any, result: Any) -> Any:
    """Infinity at 1, NaN beyond, and the sign of x."""
    a = abs(x)
    result = lp.select(a < 1.0, result, lp.select(a == 1.0, lp.math.inf, lp.math.nan))
    return lp.select(x == 0.0, x, lp.math.copysign(result, x))


def atanh_f32(x: lp.f32) -> lp.f32:
    """Inverse hyperbolic tangent."""
    a = min(abs(x), 0.99999994)
    return with_atanh_values(x, 0.5 * log1p_f32(2.0 * a / (1.0 - a)))


def atanh_f64(x: lp.f64) -> lp.f64:
    """Inverse hyperbolic tangent."""
    a = min(abs(x), 0.9999999999999999)
    return with_atanh_values(x, 0.5 * log1p_f64(2.0 * a / (1.0 - a)))
