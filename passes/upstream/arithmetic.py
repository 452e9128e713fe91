"""What becomes of operations of `index` and `arith` that the compiler does not have.

%c = index.add %a, %b                              %c = arith.addi %a, %b : index
%s, %c = arith.addui_extended %a, %b : i32, i1     %s = arith.addi %a, %b   %c = arith.cmpi ult, %s, %a
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i32
from xdsl.ir import Operation, SSAValue

from ...ir.attribute_values import integer
from ...ir.narrowing import is_integer_type
from ...ir.parse_arith import ROUNDING
from ...ir.upstream.index import INDEX_ARITHMETIC, CmpPredicate
from .combining import is_whole
from .place import Lowering, UpstreamPlace

_INDEX_ARITHMETIC: dict[str, type[Operation]] = {
    "add": arith.AddiOp,
    "sub": arith.SubiOp,
    "mul": arith.MuliOp,
    "divs": arith.DivSIOp,
    "divu": arith.DivUIOp,
    "rems": arith.RemSIOp,
    "remu": arith.RemUIOp,
    "ceildivs": arith.CeilDivSIOp,
    "ceildivu": arith.CeilDivUIOp,
    "floordivs": arith.FloorDivSIOp,
    "maxs": arith.MaxSIOp,
    "maxu": arith.MaxUIOp,
    "mins": arith.MinSIOp,
    "minu": arith.MinUIOp,
    "shl": arith.ShLIOp,
    "shrs": arith.ShRSIOp,
    "shru": arith.ShRUIOp,
    "and": arith.AndIOp,
    "or": arith.OrIOp,
    "xor": arith.XOrIOp,
}


def _index_binary(place: UpstreamPlace) -> tuple[SSAValue, ...]:
    kind = _INDEX_ARITHMETIC[place.op.name.removeprefix("index.")]
    return (place.emit(kind, list(place.op.operands), IndexType()),)


def _index_compare(place: UpstreamPlace) -> tuple[SSAValue, ...]:
    return (place.compare(place.op.pred.data, place.op.lhs, place.op.rhs),)


def _index_constant(place: UpstreamPlace) -> tuple[SSAValue, ...]:
    return (place.constant(place.op.value.value.data, place.op.result.type),)


def _index_size(place: UpstreamPlace) -> tuple[SSAValue, ...]:
    return (place.constant(32, IndexType()),)


def _signed_cast(place: UpstreamPlace) -> tuple[SSAValue, ...]:
    return (place.emit(arith.IndexCastOp, [place.op.input], place.op.result.type),)


def _unsigned_cast(place: UpstreamPlace) -> tuple[SSAValue, ...]:
    """Extends with zeros: an index has 32 bits."""
    value, type_ = place.op.input, place.op.result.type
    if not is_whole(value.type) or not is_whole(type_):
        raise place.refused(f"it is for integers and indices, found {value.type} and {type_}")
    if is_integer_type(type_) and type_.width.data > 32:
        word = place.emit(arith.IndexCastOp, [value], i32)
        return (place.emit(arith.ExtUIOp, [word], type_),)
    if is_integer_type(value.type) and value.type.width.data < 32:
        value = place.emit(arith.ExtUIOp, [value], i32)
    return (place.emit(arith.IndexCastOp, [value], type_),)


def _add_with_carry(place: UpstreamPlace) -> tuple[SSAValue, ...]:
    lhs, rhs = place.op.lhs, place.op.rhs
    total = place.emit(arith.AddiOp, [lhs, rhs], lhs.type)
    return total, place.compare(CmpPredicate.Ult, total, lhs)


def _truncation(place: UpstreamPlace) -> None:
    """Leaves what rounds to the nearest float, as devices do."""
    mode = place.op.attributes.pop("roundingmode", None)
    number = integer(mode) or 0
    if number:
        word = ROUNDING[number] if 0 <= number < len(ROUNDING) else str(number)
        raise place.refused(
            f"rounding '{word}' does not exist in Vulkan; round with math.floor, math.ceil or math.trunc "
            "before, or leave the mode out: devices round to the nearest even"
        )


ARITHMETIC: dict[str, Lowering] = {
    **{f"index.{word}": _index_binary for word in INDEX_ARITHMETIC},
    "index.cmp": _index_compare,
    "index.constant": _index_constant,
    "index.bool.constant": _index_constant,
    "index.sizeof": _index_size,
    "index.casts": _signed_cast,
    "index.castu": _unsigned_cast,
    "arith.index_castui": _unsigned_cast,
    "arith.addui_extended": _add_with_carry,
    "arith.truncf": _truncation,
}
"""How each is lowered."""
