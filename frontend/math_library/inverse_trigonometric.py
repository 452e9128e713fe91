"""asin, acos, atan and atan2."""

from __future__ import annotations

from typing import Any

import lapilli as lp

from .formats import polynomial

# (asin(x) - x) / x³ over x² on |x| <= 1/2.
ASIN_F32 = (
    0.16666666686208717, 0.07499992362386085, 0.0446476865690981, 0.03026869911475286, 0.023615613781587094,
    0.01055947385540975, 0.03099638525665727,
)  # fmt: skip
ASIN_F64 = (
    0.16666666666666666, 0.07499999999999991, 0.04464285714288372, 0.030381944441328874, 0.022372159281666765,
    0.017352757410387578, 0.013965011409653063, 0.011549064705133085, 0.009792977031400325,
    0.008134196071682044, 0.008803285285179766, 0.0003521045652389571, 0.0226187175001927,
    -0.024107341585967706, 0.0307703088697412,
)  # fmt: skip
# (atan(x) - x) / x³ over x² on |x| <= tan(π/8).
ATAN_F32 = (
    -0.33333333278951577, 0.19999977153974205, -0.14284145548273774, 0.11071260444313767,
    -0.08623896669600505, 0.05046128167603517,
)  # fmt: skip
ATAN_F64 = (
    -0.3333333333333333, 0.199999999999998, -0.14285714285659326, 0.11111111105106705, -0.09090908751076636,
    0.0769229630497447, -0.06666423628069258, 0.058789145444006215, -0.052303478730160745,
    0.04551108126325172, -0.034558092551413795, 0.01627194475162406,
)  # fmt: skip

HALF_PI_F32 = (1.5707963705062866, -4.3711390001862426e-08)
"""π/2, and what its rounding lost."""
HALF_PI_F64 = (1.5707963267948966, 6.123233995736766e-17)
TAN_OF_EIGHTH = 0.41421356237309503


def odd(x: Any, coefficients: Any) -> Any:
    """x + x³ P(x²)"""
    square = x * x
    return x + x * (square * polynomial(square, coefficients))


def asin(x: Any, coefficients: Any, half_pi: Any) -> Any:
    """Above 1/2: π/2 - 2 asin √((1 - |x|) / 2)."""
    a = abs(x)
    is_small = a < 0.5
    argument = lp.select(is_small, a, lp.math.sqrt(0.5 - 0.5 * min(a, 1.0)))
    of_argument = odd(argument, coefficients)
    beyond = half_pi[0] - (2.0 * of_argument - half_pi[1])
    result = lp.math.copysign(lp.select(is_small, of_argument, beyond), x)
    return lp.select(a <= 1.0, result, lp.math.nan)


def asin_f32(x: lp.f32) -> lp.f32:
    """Inverse sine."""
    return asin(x, ASIN_F32, HALF_PI_F32)


def asin_f64(x: lp.f64) -> lp.f64:
    """Inverse sine."""
    return asin(x, ASIN_F64, HALF_PI_F64)


def acos(x: Any, coefficients: Any, half_pi: Any) -> Any:
    """Below 1/2: π/2 - asin x; above: 2 asin √((1 - x) / 2)."""
    a = abs(x)
    is_small = a < 0.5
    argument = lp.select(is_small, x, lp.math.sqrt(0.5 - 0.5 * min(a, 1.0)))
    of_argument = odd(argument, coefficients)
    near = half_pi[0] - (of_argument - half_pi[1])
    doubled = 2.0 * of_argument
    beyond = lp.select(x < 0.0, 2.0 * half_pi[0] - (doubled - 2.0 * half_pi[1]), doubled)
    return lp.select(a <= 1.0, lp.select(is_small, near, beyond), lp.math.nan)


def acos_f32(x: lp.f32) -> lp.f32:
    """Inverse cosine."""
    return acos(x, ASIN_F32, HALF_PI_F32)


def acos_f64(x: lp.f64) -> lp.f64:
    """Inverse cosine."""
    return acos(x, ASIN_F64, HALF_PI_F64)


def atan_of_quotient(above: Any, below: Any, coefficients: Any, half_pi: Any) -> Any:
    """atan(above / below) of 0 <= above <= below: from tan(π/8) on, π/4 + atan((a - b) / (a + b))."""
    is_small = above <= TAN_OF_EIGHTH * below
    quotient = lp.select(is_small, above, above - below) / lp.select(is_small, below, above + below)
    result = odd(quotient, coefficients)
    return lp.select(is_small, result, 0.5 * half_pi[0] + (result + 0.5 * half_pi[1]))


def atan(x: Any, coefficients: Any, half_pi: Any) -> Any:
    """Above 1: π/2 - atan(1 / |x|)."""
    a = abs(x)
    is_large = a > 1.0
    finite = min(a, 1e30)  # from there on the result is π/2
    result = atan_of_quotient(
        lp.select(is_large, 1.0, a), lp.select(is_large, finite, 1.0), coefficients, half_pi
    )
    result = lp.select(is_large, half_pi[0] - (result - half_pi[1]), result)
    return lp.select((x != x) | (x == 0.0), x, lp.math.copysign(result, x))


def atan_f32(x: lp.f32) -> lp.f32:
    """Inverse tangent."""
    return atan(x, ATAN_F32, HALF_PI_F32)


def atan_f64(x: lp.f64) -> lp.f64:
    """Inverse tangent."""
    return atan(x, ATAN_F64, HALF_PI_F64)


def atan2(y: Any, x: Any, one: Any, scale: Any, coefficients: Any, half_pi: Any) -> Any:
    """The angle of a point, by the smaller of its coordinates over the larger.

    `scale` brings a pair of huge or tiny coordinates to where a division is precise.
    """
    a = abs(y)
    b = abs(x)
    large = max(a, b)
    small = min(a, b)
    factor = lp.select(large > scale, one / scale, lp.select(large < 1.0 / scale, scale, one))
    is_corner = large == lp.math.inf
    above = lp.select(is_corner, lp.select(small == lp.math.inf, one, 0.0 * one), small * factor)
    below = lp.select(is_corner | (large == 0.0), one, large * factor)
    result = atan_of_quotient(above, below, coefficients, half_pi)
    result = lp.select(a > b, half_pi[0] - (result - half_pi[1]), result)
    is_left = lp.math.copysign(one, x) < 0.0
    result = lp.select(is_left, 2.0 * half_pi[0] - (result - 2.0 * half_pi[1]), result)
    return lp.select((x != x) | (y != y), lp.math.nan, lp.math.copysign(result, y))


def atan2_f32(y: lp.f32, x: lp.f32) -> lp.f32:
    """The angle of the point (x, y)."""
    return atan2(y, x, lp.f32(1.0), 2.0**60, ATAN_F32, HALF_PI_F32)


def atan2_f64(y: lp.f64, x: lp.f64) -> lp.f64:
    """The angle of the point (x, y)."""
    return atan2(y, x, lp.f64(1.0), 2.0**500, ATAN_F64, HALF_PI_F64)
