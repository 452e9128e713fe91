"""Functions that GLSL.std.450 lacks, in f32; f16 is computed in f32 and rounded.

Near zero, where a difference with 1 would cancel, each uses a series; truncation errors are below half a unit
in the last place of f32.  The rest inherits the precision that Vulkan demands of Exp and Log.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from xdsl.ir import SSAValue

from ...ir.dialects import spirv
from .double_rounding import truncated
from .float_expression import FloatExpression

Expansion = Callable[[FloatExpression, SSAValue], SSAValue]
"""Computes a function of one f32 (or vector of f32)."""


def expm1(e: FloatExpression, x: SSAValue) -> SSAValue:
    """exp(x) - 1: Taylor series where |x| < 1/2, nine terms."""
    series = e.multiply(x, e.polynomial(x, [1 / math.factorial(n) for n in range(1, 10)]))
    direct = e.subtract(e.call(spirv.GLExpOp, x), e.constant(1))
    return e.select(e.less(e.absolute(x), e.constant(0.5)), series, direct)


def log1p(e: FloatExpression, x: SSAValue) -> SSAValue:
    """log(1 + x): 2 atanh(x / (2 + x)) as a series where |x| < 3/8, six terms."""
    s = e.divide(x, e.add(e.constant(2), x))
    square = e.multiply(s, s)
    series = e.multiply(s, e.polynomial(square, [2 / (2 * n + 1) for n in range(7)]))
    direct = e.call(spirv.GLLogOp, e.add(e.constant(1), x))
    return e.select(e.less(e.absolute(x), e.constant(0.375)), series, direct)


def log10(e: FloatExpression, x: SSAValue) -> SSAValue:
    """log2(x) times log10(2)."""
    return e.multiply(e.call(spirv.GLLog2Op, x), e.constant(math.log10(2)))


_ERF_SERIES = [2 / math.sqrt(math.pi) * (-1) ** n / (math.factorial(n) * (2 * n + 1)) for n in range(11)]
_ERF_TAIL = (0.0, 0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
"""Abramowitz and Stegun, formula 7.1.26: absolute error below 1.5e-7."""


def erf(e: FloatExpression, x: SSAValue) -> SSAValue:
    """Error function: Taylor series where |x| < 1, else 1 - P(t) exp(-x²), t = 1 / (1 + 0.3275911 |x|)."""
    square = e.multiply(x, x)
    series = e.multiply(x, e.polynomial(square, _ERF_SERIES))
    magnitude = e.absolute(x)
    t = e.divide(e.constant(1), e.add(e.constant(1), e.multiply(e.constant(0.3275911), magnitude)))
    decay = e.call(spirv.GLExpOp, e.call(spirv.FNegateOp, square))
    tail = e.subtract(e.constant(1), e.multiply(e.polynomial(t, _ERF_TAIL), decay))
    return e.select(e.less(magnitude, e.constant(1)), series, e.copy_sign(tail, x))


def cbrt(e: FloatExpression, x: SSAValue) -> SSAValue:
    """Cube root: 2 ** (log2 |x| / 3), one Newton step, the sign of x; zeros and infinities are themselves."""
    magnitude = e.absolute(x)
    guess = e.call(spirv.GLExp2Op, e.multiply(e.call(spirv.GLLog2Op, magnitude), e.constant(1 / 3)))
    square = e.multiply(guess, guess)
    step = e.divide(e.subtract(guess, e.divide(magnitude, square)), e.constant(3))
    root = e.copy_sign(e.subtract(guess, step), x)
    # There the Newton step divides 0 by 0 or infinity by infinity.
    is_extreme = e.fn.emit(
        spirv.LogicalOrOp,
        (e.test(spirv.FOrdEqualOp, x, e.constant(0)), e.fn.emit(spirv.IsInfOp, (x,), e.bool)),
        e.bool,
    )
    return e.select(is_extreme, x, root)


def round_half_away(e: FloatExpression, x: SSAValue) -> SSAValue:
    """C's round(): halves away from zero; exact."""
    whole = truncated(e, x)
    is_half = e.test(spirv.FOrdGreaterThanEqualOp, e.absolute(e.subtract(x, whole)), e.constant(0.5))
    away = e.add(whole, e.copy_sign(e.constant(1), x))
    return e.select(is_half, away, whole)


def power(e: FloatExpression, x: SSAValue, y: SSAValue) -> SSAValue:
    """C's pow(): GLSL's Pow is not defined for x < 0, nor for x = 0 with y <= 0.

    |x| to the power of y; negated where x < 0 and y is odd, NaN where x < 0 and y is not whole, 1 where y =
    0.
    """
    magnitude = e.call(spirv.GLPowOp, e.absolute(x), y)
    zero = e.constant(0)
    whole = e.call(spirv.GLFloorOp, y)
    half = e.multiply(y, e.constant(0.5))
    is_odd = e.test(spirv.FOrdNotEqualOp, e.call(spirv.GLFloorOp, half), half)
    negated = e.select(is_odd, e.call(spirv.FNegateOp, magnitude), magnitude)
    is_whole = e.test(spirv.FOrdEqualOp, whole, y)
    of_negative = e.select(is_whole, negated, e.constant(math.nan))
    result = e.select(e.less(x, zero), of_negative, magnitude)
    return e.select(e.test(spirv.FOrdEqualOp, y, zero), e.constant(1), result)


def constant_power(e: FloatExpression, x: SSAValue, exponent: float) -> SSAValue | None:
    """Returns x to a constant power where that is simpler than `power`, else None.

    Small whole exponents are products, 1/2 is a square root: exact where Pow is not, and faster.
    """
    if exponent == 0.5:
        return e.call(spirv.GLSqrtOp, x)
    if not exponent.is_integer() or abs(exponent) > 8:
        return None
    if exponent == 0:
        return e.constant(1)
    result: SSAValue | None = None
    square, rest = x, int(abs(exponent))
    while rest:
        if rest & 1:
            result = square if result is None else e.multiply(result, square)
        rest >>= 1
        if rest:
            square = e.multiply(square, square)
    assert result is not None
    return e.divide(e.constant(1), result) if exponent < 0 else result
