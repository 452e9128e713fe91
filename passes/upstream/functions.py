"""What becomes of functions of `math` that the compiler does not have.

%p = math.ipowi %b, %e : i32     a loop that squares: at most 31 rounds
%p = math.fpowi %b, %e : f32, i32   the same, none where the exponent is known
%n = math.isnan %x : f32         %n = arith.cmpf uno, %x, %x
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Region, SSAValue

from ...ir.narrowing import is_any_integer
from ...ir.upstream.index import CmpPredicate
from .place import NO_FLAGS, Lowering, UpstreamPlace, known_number

_SMALLEST_NORMAL = {16: 2.0**-14, 32: 2.0**-126, 64: 2.0**-1022}


def _float_power(place: UpstreamPlace) -> tuple[SSAValue, ...]:
    """Multiplies as C's runtime library does: the power for the exponent without its sign, and one by it below zero."""
    base, exponent = place.op.lhs, place.op.rhs
    whole, real = exponent.type, base.type
    zero, one = place.constant(0, whole), place.constant(1.0, real)
    is_negative = place.compare(CmpPredicate.Slt, exponent, zero)
    size = place.select(is_negative, place.emit(arith.SubiOp, [zero, exponent], whole), exponent)
    known = known_number(exponent)
    power = _squared(place, base, size, one) if known is None else _known_power(place, base, abs(known), one)
    return (
        place.select(is_negative, place.emit(arith.DivfOp, [one, power], real, fastmath=NO_FLAGS), power),
    )


def _known_power(place: UpstreamPlace, base: SSAValue, exponent: int, one: SSAValue) -> SSAValue:
    """Returns a power without a loop."""
    result, square = one, base
    while exponent:
        if exponent & 1:
            result = square if result is one else _product(place, result, square)
        exponent >>= 1
        if exponent:
            square = _product(place, square, square)
    return result


def _product(place: UpstreamPlace, a: SSAValue, b: SSAValue) -> SSAValue:
    """Returns a product of integers or of floats."""
    type_ = a.type
    if is_any_integer(type_):
        return place.emit(arith.MuliOp, [a, b], type_)
    return place.emit(arith.MulfOp, [a, b], type_, fastmath=NO_FLAGS)


def _integer_power(place: UpstreamPlace) -> tuple[SSAValue, ...]:
    """Squares as often as the exponent has bits; of a negative one only 1 and -1 have a power other than 0."""
    base, exponent = place.op.lhs, place.op.rhs
    type_ = base.type
    zero, one = place.constant(0, type_), place.constant(1, type_)
    power = _squared(place, base, place.emit(arith.MaxSIOp, [exponent, zero], type_), one)
    is_negative = place.compare(CmpPredicate.Slt, exponent, zero)
    odd = place.compare(CmpPredicate.Ne, place.emit(arith.AndIOp, [exponent, one], type_), zero)
    minus = place.constant(-1, type_)
    of_minus = place.select(odd, minus, one)
    of_one = place.select(place.compare(CmpPredicate.Eq, base, one), one, zero)
    inverse = place.select(place.compare(CmpPredicate.Eq, base, minus), of_minus, of_one)
    return (place.select(is_negative, inverse, power),)


def _squared(place: UpstreamPlace, base: SSAValue, exponent: SSAValue, one: SSAValue) -> SSAValue:
    """Returns the power of an integer or a float for an exponent without sign."""
    types = [base.type, exponent.type, base.type]
    zero, last = place.constant(0, exponent.type), place.constant(1, exponent.type)
    test, body = Block(arg_types=types), Block(arg_types=types)
    inner = place.inside(test)
    more = inner.compare(CmpPredicate.Ugt, test.args[1], zero)
    inner.make(scf.ConditionOp, [more, *test.args])
    inner = place.inside(body)
    result, left, square = body.args
    bit = inner.compare(CmpPredicate.Ne, inner.emit(arith.AndIOp, [left, last], left.type), zero)
    rest = inner.emit(arith.ShRUIOp, [left, last], left.type)
    product = inner.select(bit, _product(inner, result, square), result)
    inner.make(scf.YieldOp, [product, rest, _product(inner, square, square)])
    regions = [Region(test), Region(body)]
    return place.make(scf.WhileOp, [one, exponent, base], types, regions=regions).results[0]


def _is_nan(place: UpstreamPlace) -> Sequence[SSAValue]:
    return (place.compare_floats("uno", place.op.operand, place.op.operand),)


def _magnitude(place: UpstreamPlace) -> SSAValue:
    return place.emit(math.AbsFOp, [place.op.operand], place.op.operand.type, fastmath=NO_FLAGS)


def _is_infinite(place: UpstreamPlace) -> Sequence[SSAValue]:
    infinity = place.constant(float("inf"), place.op.operand.type)
    return (place.compare_floats("oeq", _magnitude(place), infinity),)


def _is_finite(place: UpstreamPlace) -> Sequence[SSAValue]:
    infinity = place.constant(float("inf"), place.op.operand.type)
    return (place.compare_floats("olt", _magnitude(place), infinity),)


def _is_normal(place: UpstreamPlace) -> Sequence[SSAValue]:
    type_ = place.op.operand.type
    magnitude = _magnitude(place)
    smallest = place.constant(_SMALLEST_NORMAL[type_.bitwidth], type_)
    is_large = place.compare_floats("oge", magnitude, smallest)
    is_finite = place.compare_floats("olt", magnitude, place.constant(float("inf"), type_))
    return (place.emit(arith.AndIOp, [is_large, is_finite], i1),)


FUNCTIONS: dict[str, Lowering] = {
    "math.fpowi": _float_power,
    "math.ipowi": _integer_power,
    "math.isfinite": _is_finite,
    "math.isinf": _is_infinite,
    "math.isnan": _is_nan,
    "math.isnormal": _is_normal,
}
"""How each is lowered."""
