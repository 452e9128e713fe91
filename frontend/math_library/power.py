"""pow and cbrt.

x**y = 2**(y log2 x), and the product may reach 1024 (128): so log2 x is computed in two parts to ten (seven) bits more
than a float has.  The first part has half of the bits, and products of halves are exact.
"""

from __future__ import annotations

from typing import Any

import lapilli as lp

from .exponential import EXP2_F32, EXP2_F64
from .formats import F32, F64, nearest_integer, polynomial, scaled, upper_half
from .logarithm import ROOT_HALF_F32, ROOT_HALF_F64, split

# atanh(s) / s⁵ - 1 / s⁴ - 1 / (3 s²) over s², s up to (√2 - 1) / (√2 + 1).
ATANH_F32 = (0.20000007527726016, 0.14281118111303162, 0.11524116233082814)
ATANH_F64 = (
    0.2, 0.14285714285714685, 0.11111111110827761, 0.0909090916771159, 0.0769229748052106, 0.06667402377708241,
    0.058531172195908546, 0.05861601751103732,
)  # fmt: skip
# 1 / 3 and 2 / ln 2, each as a number of half the bits and the rest.
THIRD_F32 = (0.333251953125, 8.138020833333333e-05)
THIRD_F64 = (0.3333333283662796, 4.967053731282552e-09)
TWO_OVER_LN2_F32 = (2.884765625, 0.0006244567779268147)
TWO_OVER_LN2_F64 = (2.885390043258667, 3.851925982253235e-08)


def log2_in_parts(x: Any, root_half: Any, coefficients: Any, third: Any, two_over_ln2: Any, form: Any) -> Any:
    """log2 of a positive finite x as the sum of a number of half the bits and a rest.

    log2 x = k + (2 / ln 2) (s + s³ / 3 + s⁵ Q(s²)), s = (m - 1) / (m + 1) and s³ / 3 in two parts each.
    """
    k, f = split(x, root_half, form)
    sum_ = 2.0 + f
    rounded_off = f - (sum_ - 2.0)
    s = f / sum_
    s_high = upper_half(s, form)
    sum_high = upper_half(sum_, form)
    s_low = ((f - s_high * sum_high) - s_high * ((sum_ - sum_high) + rounded_off)) / sum_
    square = s * s
    square_high = upper_half(square, form)
    square_low = (s_high * s_high - square_high) + (s_high + s) * s_low
    cube = s * square
    cube_high = upper_half(cube, form)
    cube_low = (s_high * square_high - cube_high) + (s_high * square_low + s_low * square)
    # s⁵ Q is at most a five-thousandth of s: what is rounded there does not count.
    large = cube_high * third[0]
    small = (cube_high * third[1] + cube_low * (third[0] + third[1])) + s * square * square * polynomial(
        square, coefficients
    )
    small = small + s_low
    high = upper_half(s_high + (large + small), form)
    low = ((s_high - high) + large) + small
    first = high * two_over_ln2[0]
    second = high * two_over_ln2[1] + low * (two_over_ln2[0] + two_over_ln2[1])
    total = upper_half(k + (first + second), form)
    return total, ((k - total) + first) + second


def power_of_parts(high: Any, low: Any, y: Any, limits: Any, coefficients: Any, form: Any) -> Any:
    """2**(y * (high + low))"""
    y_high = upper_half(y, form)
    product = y_high * high
    rest = (y - y_high) * high + y * low
    bounded = min(max(product, limits[0]), limits[1])
    rest = lp.select(bounded == product, rest, 0.0 * y_high)
    whole, k = nearest_integer(bounded + rest, form)
    r = (bounded - whole) + rest
    return scaled(1.0 + r * polynomial(r, coefficients), k, form)


def with_power_values(x: Any, y: Any, magnitude: Any, one: Any, odd_limit: Any) -> Any:
    """What C and Python say of negative bases, zeros and infinities; numbers from `odd_limit` on are even."""
    a = abs(x)
    is_growing = (a > 1.0) == (y > 0.0)
    result = lp.select((a == 0.0) | (a == lp.math.inf), lp.select(is_growing, lp.math.inf, 0.0), magnitude)
    result = lp.select(
        abs(y) == lp.math.inf, lp.select(a == 1.0, 1.0, lp.select(is_growing, lp.math.inf, 0.0)), result
    )
    half = 0.5 * y
    is_whole = lp.math.floor(y) == y
    is_odd = is_whole & (lp.math.floor(half) != half) & (abs(y) < odd_limit)
    is_negative = lp.math.copysign(one, x) < 0.0
    result = lp.select(is_negative & is_odd, -result, result)
    is_real = (x >= 0.0) | is_whole | (a == lp.math.inf) | (a == 0.0)
    result = lp.select(is_real & (x == x) & (y == y), result, lp.math.nan)
    return lp.select((y == 0.0) | (x == 1.0), 1.0, result)


def pow_f32(x: lp.f32, y: lp.f32) -> lp.f32:
    """x**y"""
    base = lp.select((x != 0.0) & (abs(x) < lp.math.inf), abs(x), 1.0)
    exponent = min(max(y, -1e12), 1e12)
    high, low = log2_in_parts(base, ROOT_HALF_F32, ATANH_F32, THIRD_F32, TWO_OVER_LN2_F32, F32)
    magnitude = power_of_parts(high, low, exponent, (-254.0, 140.0), EXP2_F32, F32)
    return with_power_values(x, y, magnitude, lp.f32(1.0), 2.0**24)


def pow_f64(x: lp.f64, y: lp.f64) -> lp.f64:
    """x**y"""
    base = lp.select((x != 0.0) & (abs(x) < lp.math.inf), abs(x), 1.0)
    exponent = min(max(y, -1e25), 1e25)
    high, low = log2_in_parts(base, ROOT_HALF_F64, ATANH_F64, THIRD_F64, TWO_OVER_LN2_F64, F64)
    magnitude = power_of_parts(high, low, exponent, (-2046.0, 1040.0), EXP2_F64, F64)
    return with_power_values(x, y, magnitude, lp.f64(1.0), 2.0**53)


def refined_root(t: Any, x: Any) -> Any:
    """One step of Halley's iteration for the cube root of x: three times as many digits."""
    cube = t * t * t
    return t * ((cube + 2.0 * x) / (2.0 * cube + x))


def last_root_step(t: Any, x: Any, form: Any) -> Any:
    """One more from an estimate of half the bits: x less its cube is exact, so the division need not be."""
    estimate = upper_half(t, form)
    square = estimate * estimate
    high = upper_half(square, form)
    rest = (x - estimate * high) - estimate * (square - high)
    return estimate + estimate * (rest / (2.0 * estimate * square + x))


def cbrt_f32(x: lp.f32) -> lp.f32:
    """Cube root, of x times a power of eight with which cubes neither overflow nor underflow."""
    a = abs(x)
    up = lp.select(a < 1e-30, 2.0**48, lp.select(a > 1e30, lp.f32(2.0**-48), 1.0))
    back = lp.select(a < 1e-30, 2.0**-16, lp.select(a > 1e30, lp.f32(2.0**16), 1.0))
    scaled_x = a * up
    t = lp.bitcast(lp.bitcast(scaled_x, lp.u32) // 3 + 709958130, lp.f32)
    t = last_root_step(refined_root(t, scaled_x), scaled_x, F32) * back
    return lp.select((x == 0.0) | (a == lp.math.inf) | (x != x), x, lp.math.copysign(t, x))


def cbrt_f64(x: lp.f64) -> lp.f64:
    """Cube root, of x times a power of eight with which cubes neither overflow nor underflow."""
    a = abs(x)
    up = lp.select(a < 1e-290, 2.0**60, lp.select(a > 1e290, lp.f64(2.0**-60), 1.0))
    back = lp.select(a < 1e-290, 2.0**-20, lp.select(a > 1e290, lp.f64(2.0**20), 1.0))
    scaled_x = a * up
    t = lp.bitcast(lp.bitcast(scaled_x, lp.u64) // 3 + 3071306043645493248, lp.f64)
    t = last_root_step(refined_root(refined_root(t, scaled_x), scaled_x), scaled_x, F64) * back
    return lp.select((x == 0.0) | (a == lp.math.inf) | (x != x), x, lp.math.copysign(t, x))
