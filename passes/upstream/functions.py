"""What becomes of functions of `math` that the compiler does not have.

%p = math.ipowi %b, %e : i32     a loop that squares: at most 31 rounds
%n = math.isnan %x : f32         %n = arith.cmpf uno, %x, %x
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Region, SSAValue

from ...ir.upstream.index import CmpPredicate
from .place import NO_FLAGS, Lowering, UpstreamPlace

_SMALLEST_NORMAL = {16: 2.0**-14, 32: 2.0**-126, 64: 2.0**-1022}


def _float_power(place: UpstreamPlace) -> tuple[SSAValue, ...]:
    type_ = place.op.result.type
    exponent = place.emit(arith.SIToFPOp, [place.op.rhs], type_)
    return (place.emit(math.PowFOp, [place.op.lhs, exponent], type_, fastmath=NO_FLAGS),)


def _integer_power(place: UpstreamPlace) -> tuple[SSAValue, ...]:
    """Squares as often as the exponent has bits; of a negative one only 1 and -1 have a power other than 0."""
    base, exponent = place.op.lhs, place.op.rhs
    type_ = base.type
    zero, one = place.constant(0, type_), place.constant(1, type_)
    power = _squared(place, base, exponent, one)
    is_negative = place.compare(CmpPredicate.Slt, exponent, zero)
    odd = place.compare(CmpPredicate.Ne, place.emit(arith.AndIOp, [exponent, one], type_), zero)
    minus = place.constant(-1, type_)
    of_minus = place.select(odd, minus, one)
    of_one = place.select(place.compare(CmpPredicate.Eq, base, one), one, zero)
    inverse = place.select(place.compare(CmpPredicate.Eq, base, minus), of_minus, of_one)
    return (place.select(is_negative, inverse, power),)


def _squared(place: UpstreamPlace, base: SSAValue, exponent: SSAValue, one: SSAValue) -> SSAValue:
    """Returns the power for an exponent that is not negative."""
    type_ = base.type
    zero = place.constant(0, type_)
    test, body = Block(arg_types=[type_] * 3), Block(arg_types=[type_] * 3)
    inner = place.inside(test)
    more = inner.compare(CmpPredicate.Sgt, test.args[1], zero)
    inner.make(scf.ConditionOp, [more, *test.args])
    inner = place.inside(body)
    result, left, square = body.args
    bit = inner.compare(CmpPredicate.Ne, inner.emit(arith.AndIOp, [left, one], type_), zero)
    product = inner.emit(arith.MuliOp, [result, square], type_)
    rest = inner.emit(arith.ShRUIOp, [left, one], type_)
    values = [inner.select(bit, product, result), rest, inner.emit(arith.MuliOp, [square, square], type_)]
    inner.make(scf.YieldOp, values)
    regions = [Region(test), Region(body)]
    return place.make(scf.WhileOp, [one, exponent, base], [type_] * 3, regions=regions).results[0]


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
