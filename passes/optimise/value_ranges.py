"""What numbers a value can be, as far as the operations show it that compute it: few are followed, memory is not.

    %a = arith.andi %x, %c255 : i32        %a, read as unsigned, is at most 255
    %f = arith.uitofp %a : i32 to f32      0.0 to 255.0, never a NaN
    %g = arith.maxnumf %y, %zero : f32     0.0 to inf, never a NaN: the larger number, where there is one

Ranges of floats hold on devices that round differently, contract, or flush denormal numbers to zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, Float64Type, IndexType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from ...ir.walk import operands_of
from .constants import INDEX_WIDTH, constant_float, constant_integer, integer_width, is_foldable, unsigned
from .fold_floats import round_to

_DEPTH = 10
"""How many operations are followed to what a value is computed from."""
_LONG = 64


def most_unsigned(value: SSAValue, depth: int = _DEPTH) -> int:
    """Returns the largest number that an integer, i1 or index can be, read as unsigned."""
    width = _width(value)
    assert width is not None, "an integer"
    every = (1 << width) - 1
    number = constant_integer(value)
    if number is not None:
        return unsigned(number, width)
    if type(value) is not OpResult or depth == 0:  # `owner` is two calls
        return every
    rule = _MOST.get(type(value.op))
    most = None if rule is None else rule(value.op, depth - 1)
    return every if most is None or most > every else most


def _width(value: SSAValue) -> int | None:
    """Returns the bits of an integer; of an index as many as kernels with long ids have."""
    return _LONG if isinstance(value.type, IndexType) else integer_width(value.type)


def _smaller(op: Operation, depth: int) -> int:
    return min(most_unsigned(operand, depth) for operand in operands_of(op))


def _same_bits(op: Operation, depth: int) -> int:
    return (1 << max(most_unsigned(operand, depth) for operand in operands_of(op)).bit_length()) - 1


def _sum(op: Operation, depth: int) -> int:
    a, b = operands_of(op)
    return most_unsigned(a, depth) + most_unsigned(b, depth)


def _product(op: Operation, depth: int) -> int:
    a, b = operands_of(op)
    return most_unsigned(a, depth) * most_unsigned(b, depth)


def _shifted_left(op: Operation, depth: int) -> int | None:
    a, b = operands_of(op)
    places = constant_integer(b)
    return None if places is None or places < 0 else most_unsigned(a, depth) << places


def _shifted_right(op: Operation, depth: int) -> int | None:
    a, b = operands_of(op)
    places = constant_integer(b)
    return None if places is None or places < 0 else most_unsigned(a, depth) >> places


def _quotient(op: Operation, depth: int) -> int | None:
    a, b = operands_of(op)
    divisor = constant_integer(b)
    return None if divisor is None or divisor <= 0 else most_unsigned(a, depth) // divisor


def _remainder(op: Operation, depth: int) -> int | None:
    a, b = operands_of(op)
    divisor = constant_integer(b)
    return None if divisor is None or divisor <= 0 else min(most_unsigned(a, depth), divisor - 1)


def _extended(op: Operation, depth: int) -> int | None:
    (operand,) = operands_of(op)
    return most_unsigned(operand, depth) if _width(operand) else None


def _sign_extended(op: Operation, depth: int) -> int | None:
    (operand,) = operands_of(op)
    # An index has 32 bits or 64: what holds for fewer holds for both.
    width = INDEX_WIDTH if isinstance(operand.type, IndexType) else integer_width(operand.type)
    most = None if width is None else most_unsigned(operand, depth)
    return most if width is not None and most is not None and most < 1 << (width - 1) else None


def _chosen(op: Operation, depth: int) -> int | None:
    _, a, b = operands_of(op)
    return max(most_unsigned(a, depth), most_unsigned(b, depth)) if _width(a) else None


_MOST: dict[type[Operation], Callable[[Operation, int], int | None]] = {
    arith.AndIOp: _smaller,
    arith.MinUIOp: _smaller,
    arith.OrIOp: _same_bits,
    arith.XOrIOp: _same_bits,
    arith.AddiOp: _sum,
    arith.MuliOp: _product,
    arith.ShLIOp: _shifted_left,
    arith.ShRUIOp: _shifted_right,
    arith.DivUIOp: _quotient,
    arith.RemUIOp: _remainder,
    arith.ExtUIOp: _extended,
    arith.ExtSIOp: _sign_extended,
    arith.IndexCastOp: _sign_extended,
    arith.SelectOp: _chosen,
}
"""The largest number that an operation gives, by its class; too large a one, or None: any."""


@dataclass(frozen=True, slots=True)
class FloatRange:
    """Numbers that a float can be."""

    low: float
    high: float
    has_nan: bool = False
    """Whether it can be a NaN as well."""


_ANYTHING = FloatRange(-math.inf, math.inf, has_nan=True)


def float_range(value: SSAValue, depth: int = _DEPTH) -> FloatRange:
    """Returns a range that holds every number that a scalar float can be."""
    if not is_foldable(value.type):
        return _ANYTHING
    number = constant_float(value)
    if number is not None:
        return _ANYTHING if math.isnan(number) else FloatRange(number, number)
    if type(value) is not OpResult or depth == 0:
        return _ANYTHING
    rule = _RANGES.get(value.op.name)
    return _ANYTHING if rule is None else rule(value.op, depth - 1)


def _of_unsigned(op: Operation, _depth: int) -> FloatRange:
    return _of_integers(op, 0, most_unsigned(operands_of(op)[0]))


def _of_signed(op: Operation, _depth: int) -> FloatRange:
    (operand,) = operands_of(op)
    width, most = _width(operand), most_unsigned(operand)
    assert width is not None, "an integer"
    half = 1 << (width - 1)
    return _of_integers(op, 0, most) if most < half else _of_integers(op, -half, half - 1)


def _of_integers(op: Operation, low: int, high: int) -> FloatRange:
    type_ = op.results[0].type
    assert is_foldable(type_), "looked at before"
    return FloatRange(round_to(float(low), type_), round_to(float(high), type_))


def _of_operands(op: Operation, depth: int) -> list[FloatRange]:
    return [float_range(operand, depth) for operand in operands_of(op)]


def _lesser(op: Operation, depth: int) -> FloatRange:
    a, b = _of_operands(op, depth)
    # Beside a NaN the other one stays: only what is always a number bounds the result by itself.
    highs = [r.high for r in (a, b) if not r.has_nan]
    return FloatRange(min(a.low, b.low), min(highs, default=max(a.high, b.high)), a.has_nan and b.has_nan)


def _greater(op: Operation, depth: int) -> FloatRange:
    a, b = _of_operands(op, depth)
    lows = [r.low for r in (a, b) if not r.has_nan]
    return FloatRange(max(lows, default=min(a.low, b.low)), max(a.high, b.high), a.has_nan and b.has_nan)


def _either(op: Operation, depth: int) -> FloatRange:
    _, if_true, if_false = operands_of(op)
    a, b = float_range(if_true, depth), float_range(if_false, depth)
    return FloatRange(min(a.low, b.low), max(a.high, b.high), a.has_nan or b.has_nan)


def _difference(op: Operation, depth: int) -> FloatRange:
    a, b = _of_operands(op, depth)
    return _computed(op, a, b, (a.low - b.high, a.high - b.low))


def _total(op: Operation, depth: int) -> FloatRange:
    a, b = _of_operands(op, depth)
    return _computed(op, a, b, (a.low + b.low, a.high + b.high))


def _times(op: Operation, depth: int) -> FloatRange:
    a, b = _of_operands(op, depth)
    corners = (a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)
    return _computed(op, a, b, corners)


_SLACK = 1e-5
"""Of bounds, relative: more than devices err by in f32, fused operations among them."""
_LARGEST: dict[type[Attribute], float] = {Float32Type: 1e38, Float64Type: 1e300}
"""Up to which nothing overflows, by type."""
_SMALLEST = 1e-30
"""Up to which a number may become zero."""


def _computed(op: Operation, a: FloatRange, b: FloatRange, bounds: tuple[float, ...]) -> FloatRange:
    largest = _LARGEST.get(type(op.results[0].type), 0.0)
    if a.has_nan or b.has_nan or any(not abs(bound) <= largest for bound in (*bounds, a.low, b.low)):
        return _ANYTHING  # infinities give NaN among others
    return FloatRange(_rounded(min(bounds), -1), _rounded(max(bounds), 1))


def _rounded(bound: float, direction: int) -> float:
    """Returns a bound that is moved outwards; zero stays, as no rounding goes past it."""
    if abs(bound) <= _SMALLEST:
        return 0.0 if bound * direction <= 0 else direction * _SMALLEST
    return bound * (1 + _SLACK if bound * direction > 0 else 1 - _SLACK)


def _negated(op: Operation, depth: int) -> FloatRange:
    (a,) = _of_operands(op, depth)
    return FloatRange(-a.high, -a.low, a.has_nan)


def _size(op: Operation, depth: int) -> FloatRange:
    (a,) = _of_operands(op, depth)
    return FloatRange(max(0.0, a.low, -a.high), max(-a.low, a.high), a.has_nan)


def _whole(op: Operation, depth: int) -> FloatRange:
    """Floors, ceilings and what rounds to whole numbers lie within one of the number."""
    (a,) = _of_operands(op, depth)
    return FloatRange(_toward(math.floor, a.low), _toward(math.ceil, a.high), a.has_nan)


def _toward(function: Callable[[float], int], bound: float) -> float:
    return float(function(bound)) if math.isfinite(bound) else bound


_RANGES: dict[str, Callable[[Operation, int], FloatRange]] = {
    "arith.uitofp": _of_unsigned,
    "arith.sitofp": _of_signed,
    "arith.minnumf": _lesser,
    "arith.maxnumf": _greater,
    "arith.select": _either,
    "arith.addf": _total,
    "arith.subf": _difference,
    "arith.mulf": _times,
    "arith.negf": _negated,
    "math.absf": _size,
    "math.floor": _whole,
    "math.ceil": _whole,
    "math.trunc": _whole,
    "math.roundeven": _whole,
}
"""The range of what an operation gives, by its name: classes of the `math` dialect would import it."""
