"""`vector.bitcast`: the same bits in components of another width.

%l = vector.bitcast %v : vector<2xi32> to vector<1xi64>     %a = arith.extui %v#0 …   %b = arith.extui %v#1 …
                                                             %s = arith.shli %b, %c32   %l#0 = arith.ori %a, %s
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, SSAValue

from ...ir.narrowing import is_integer_type
from .vector_place import VectorLowering, VectorPlace, element_of


def bitcast(place: VectorPlace) -> list[list[SSAValue]]:
    """Joins or divides components, the lowest bits first."""
    (source,), (result,) = place.op.operands, place.op.results
    given, wanted = element_of(source.type), element_of(result.type)
    parts, before, after = place.parts(source), _width(given), _width(wanted)
    if before == after:
        return [[_as(place, part, wanted) for part in parts]]
    whole, narrow = IntegerType(max(before, after)), IntegerType(min(before, after))
    ratio, rest = divmod(max(before, after), min(before, after))
    place.expect(rest == 0, "one width is a multiple of the other")
    if before < after:
        rows = [parts[n : n + ratio] for n in range(0, len(parts), ratio)]
        place.expect(all(len(row) == ratio for row in rows), "both vectors have the same bits")
        return [[_as(place, _joined(place, row, narrow, whole), wanted) for row in rows]]
    divided = [_divided(place, part, narrow, whole, ratio) for part in parts]
    return [[_as(place, part, wanted) for row in divided for part in row]]


def _width(type_: Attribute) -> int:
    return cast("Any", type_).bitwidth if not is_integer_type(type_) else type_.width.data


def _as(place: VectorPlace, value: SSAValue, type_: Attribute) -> SSAValue:
    return value if value.type == type_ else place.emit(arith.BitcastOp, [value], type_)


def _joined(place: VectorPlace, row: Sequence[SSAValue], narrow: IntegerType, whole: IntegerType) -> SSAValue:
    parts = [place.emit(arith.ExtUIOp, [_as(place, part, narrow)], whole) for part in row]
    result = parts[0]
    for number, part in enumerate(parts[1:], 1):
        shift = place.constant(number * narrow.width.data, whole)
        result = place.emit(arith.OrIOp, [result, place.emit(arith.ShLIOp, [part, shift], whole)], whole)
    return result


def _divided(
    place: VectorPlace, value: SSAValue, narrow: IntegerType, whole: IntegerType, ratio: int
) -> list[SSAValue]:
    bits = _as(place, value, whole)
    parts: list[SSAValue] = []
    for number in range(ratio):
        shift = place.constant(number * narrow.width.data, whole)
        moved = place.emit(arith.ShRUIOp, [bits, shift], whole) if number else bits
        parts.append(place.emit(arith.TruncIOp, [moved], narrow))
    return parts


BITS: dict[str, VectorLowering] = {"vector.bitcast": bitcast}
"""How it is lowered."""
