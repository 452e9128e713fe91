"""The typing rules of expressions: which type two operands meet in, and which literals fit a type.

Follows API section 2: literals are weak; integers of one signedness give the wider; signed with unsigned of the
same width is a mistake, with a narrower unsigned the signed type; an integer with a float gives the float's type.
Pure functions of types; no IR.
"""

from __future__ import annotations

import math
import struct
from functools import cache, lru_cache

import numpy as np

from .ir_types import INDEX_TYPE, WEAK_FLOAT, WEAK_INT
from .types import ScalarType, bf16, bool_, f16, f32, f64, i32

_FLOAT_MAXIMUM = {
    f16: 65504.0,
    bf16: 3.3895313892515355e38,
    f32: 3.4028234663852886e38,
    f64: 1.7976931348623157e308,
}


class MixedSignsError(Exception):
    """A signed and an unsigned integer of the same width, or a wider unsigned one, met."""


@lru_cache(maxsize=1024)
def promote(left: ScalarType, right: ScalarType) -> ScalarType:
    """Returns the type that arithmetic on `left` and `right` is done in.

    A bool counts as i32, and beside an unsigned type that i32 cannot meet as that: both hold 0 and 1.

    Raises:
        MixedSignsError: signed beside unsigned where the signed type does not hold both.
    """
    for one, other in ((left, right), (right, left)):
        if one.kind == "bool" and other.kind == "uint" and other.bits >= i32.bits:
            return other
    left, right = _number(left), _number(right)
    if left is right:
        return left
    for one, other in ((left, right), (right, left)):
        if one.bits == 0:
            return _with_literal(one, other)
    if left.is_float or right.is_float:
        return _with_float(left, right)
    return _integers(left, right)


def _number(scalar: ScalarType) -> ScalarType:
    return i32 if scalar.kind == "bool" else scalar


def _with_literal(literal: ScalarType, other: ScalarType) -> ScalarType:
    if literal is WEAK_INT or other.is_float:
        return other
    return WEAK_FLOAT if other is WEAK_INT else f32


def _with_float(left: ScalarType, right: ScalarType) -> ScalarType:
    if not (left.is_float and right.is_float):
        return left if left.is_float else right
    if left.bits == right.bits:  # f16 with bf16: neither holds the other
        return f32
    return left if left.bits > right.bits else right


def _integers(left: ScalarType, right: ScalarType) -> ScalarType:
    for one, other in ((left, right), (right, left)):
        if one is INDEX_TYPE:
            # Ids and sizes give way to what they cannot hold, and are i32 beside the rest.
            return other if other.bits == 64 or (other.bits == 32 and not other.is_signed) else i32
    if left.kind == right.kind:
        return left if left.bits >= right.bits else right
    signed, unsigned = (left, right) if left.is_signed else (right, left)
    if signed.bits <= unsigned.bits:
        raise MixedSignsError
    return signed


def join(left: ScalarType, right: ScalarType) -> ScalarType | None:
    """Returns the type of a variable that values of both types are assigned to, None where there is none."""
    if left is right:
        return left
    if "bool" in (left.kind, right.kind):
        return None
    try:
        return promote(left, right)
    except MixedSignsError:
        return None


def settled(scalar: ScalarType) -> ScalarType:
    """Returns the type of a variable that only literals are assigned to: i32 and f32."""
    if scalar is WEAK_INT:
        return i32
    return f32 if scalar is WEAK_FLOAT else scalar


def fits(value: int | float | bool, scalar: ScalarType) -> bool:
    """Whether the literal `value` can be written as `scalar`: integers exactly, floats rounded but not to infinity."""
    if scalar.kind == "bool":
        return isinstance(value, bool)
    if scalar.is_float:
        if isinstance(value, int):
            return abs(value) <= _FLOAT_MAXIMUM[scalar]
        return not math.isfinite(value) or abs(value) <= _rounding_limit(scalar)
    return isinstance(value, int) and scalar.minimum <= value <= scalar.maximum


@cache
def _rounding_limit(scalar: ScalarType) -> float:
    """Returns the largest double that rounds to a finite value of `scalar`."""
    maximum = _FLOAT_MAXIMUM[scalar]
    significand_bits = {f16: 11, bf16: 8, f32: 24, f64: 53}[scalar]
    if scalar is f64:
        return maximum
    half_ulp = math.ldexp(1.0, math.frexp(maximum)[1] - significand_bits - 1)
    return math.nextafter(maximum + half_ulp, 0.0)


_F32 = struct.Struct("=f")


def rounded(value: float, scalar: ScalarType) -> float:
    """Returns `value` as a float of `scalar` holds it, a NaN as it is (`nan_payloads`)."""
    if value != value:
        return value
    if scalar is bf16:
        return _rounded_to_bf16(value)
    if scalar is f32:
        try:
            return _F32.unpack(_F32.pack(value))[0]
        except OverflowError:  # an explicit conversion may give infinity
            return math.copysign(math.inf, value)
    with np.errstate(over="ignore"):
        return float(np.float16(value)) if scalar is f16 else value


_LAST_BIT_OF_BF16 = -133
"""Exponent of the smallest subnormal number."""


def _rounded_to_bf16(value: float) -> float:
    if not math.isfinite(value) or value == 0:
        return value
    last = max(math.frexp(value)[1] - 8, _LAST_BIT_OF_BF16)
    result = math.copysign(math.ldexp(round(math.ldexp(value, -last)), last), value)
    return result if abs(result) <= _FLOAT_MAXIMUM[bf16] else math.copysign(math.inf, value)


def low_bits(value: int, scalar: ScalarType) -> int:
    """Returns the integer that the low bits of `value` are in `scalar`."""
    value &= (1 << scalar.bits) - 1
    return value - (1 << scalar.bits) if value > scalar.maximum else value


def saturated(value: float, scalar: ScalarType) -> int:
    """Returns a float converted to an integer type: truncated, saturated, NaN gives 0."""
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return scalar.maximum if value > 0 else scalar.minimum
    return min(max(int(value), scalar.minimum), scalar.maximum)


BOOL = bool_
