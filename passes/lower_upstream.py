"""Replaces operations of upstream's dialects that the compiler does not have by those that it has.

    %c = index.add %a, %b                              %c = arith.addi %a, %b : index
    %s, %c = arith.addui_extended %a, %b : i32, i1     %s = arith.addi %a, %b   %c = arith.cmpi ult, %s, %a
    %r = gpu.subgroup_reduce add %x : (f32) -> f32     %r = spirv.GroupNonUniformFAdd <Subgroup> <Reduce> %x

Programs written for MLIR have them; the front end never makes one.  What has no counterpart stays, and the lowering
refuses it by name.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith, gpu, math
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, ModuleOp, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from ..ir import upstream_operations as upstream
from ..ir.dialects import spirv
from ..ir.dialects.spirv import group
from ..ir.dialects.spirv.attributes import GroupOperationAttr, ScopeAttr
from ..ir.dialects.spirv.enums import GroupOperation, Scope
from ..ir.dialects.spirv.types import is_bool, is_integer, is_integer_type, is_vector, scalar_of
from ..ir.upstream_operations import CmpPredicate, Reduction, ShuffleMode
from .upstream_control_flow import execute_region, index_switch
from .upstream_memory import atomic_update, same_memory, without_effect
from .upstream_place import Lowering, UpstreamPlace

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
_REDUCTIONS: dict[
    Reduction, tuple[type[Operation] | None, type[Operation] | None, type[Operation] | None]
] = {
    Reduction.Add: (group.GroupNonUniformIAddOp, group.GroupNonUniformFAddOp, None),
    Reduction.Mul: (group.GroupNonUniformIMulOp, group.GroupNonUniformFMulOp, None),
    Reduction.MinUI: (group.GroupNonUniformUMinOp, None, None),
    Reduction.MinSI: (group.GroupNonUniformSMinOp, None, None),
    Reduction.MaxUI: (group.GroupNonUniformUMaxOp, None, None),
    Reduction.MaxSI: (group.GroupNonUniformSMaxOp, None, None),
    Reduction.MinNumF: (None, group.GroupNonUniformFMinOp, None),
    Reduction.MaxNumF: (None, group.GroupNonUniformFMaxOp, None),
    Reduction.And: (group.GroupNonUniformBitwiseAndOp, None, group.GroupNonUniformLogicalAndOp),
    Reduction.Or: (group.GroupNonUniformBitwiseOrOp, None, group.GroupNonUniformLogicalOrOp),
    Reduction.Xor: (group.GroupNonUniformBitwiseXorOp, None, group.GroupNonUniformLogicalXorOp),
}
"""What combines integers, floats and bools.  Vulkan has none of `minimumf` and `maximumf`, where NaN wins."""


def lower_upstream(module: ModuleOp) -> None:
    """Replaces the operations that have a counterpart."""
    for op in list(module.walk()):
        lowering = _LOWERINGS.get(op.name)
        if lowering is not None:
            _replace(op, lowering)


def _replace(op: Operation, lowering: Lowering) -> None:
    values = lowering(UpstreamPlace(op))
    if values is None:
        return
    for result, value in zip(op.results, values, strict=True):
        value.name_hint = value.name_hint or result.name_hint
        result.replace_all_uses_with(value)
    op.detach()
    op.erase()


def _is_integer(type_: Attribute) -> bool:
    return is_integer_type(type_) or isinstance(type_, IndexType)


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


def _unsigned_cast(place: UpstreamPlace) -> tuple[SSAValue, ...] | None:
    """Extends with zeros: an index has 32 bits."""
    value, type_ = place.op.input, place.op.result.type
    if not _is_integer(value.type) or not _is_integer(type_):
        return None
    if is_integer_type(type_) and type_.width.data > 32:
        word = place.emit(arith.IndexCastOp, [value], i32)
        return (place.emit(arith.ExtUIOp, [word], type_),)
    if is_integer_type(value.type) and value.type.width.data < 32:
        value = place.emit(arith.ExtUIOp, [value], i32)
    return (place.emit(arith.IndexCastOp, [value], type_),)


def _remainder(place: UpstreamPlace) -> tuple[SSAValue, ...]:
    return (place.emit(spirv.FRemOp, [place.op.lhs, place.op.rhs], place.op.result.type),)


def _add_with_carry(place: UpstreamPlace) -> tuple[SSAValue, ...] | None:
    lhs, rhs = place.op.lhs, place.op.rhs
    if not _is_integer(lhs.type):
        return None
    total = place.emit(arith.AddiOp, [lhs, rhs], lhs.type)
    return total, place.compare(CmpPredicate.Ult, total, lhs)


def _integer_power(place: UpstreamPlace) -> tuple[SSAValue, ...] | None:
    type_ = place.op.result.type
    if is_vector(type_):
        return None
    exponent = place.emit(arith.SIToFPOp, [place.op.rhs], type_)
    return (
        place.emit(math.PowFOp, [place.op.lhs, exponent], type_, fastmath=arith.FastMathFlagsAttr("none")),
    )


def _compare_floats(place: UpstreamPlace, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    number = IntegerAttr(arith.CMPF_COMPARISON_OPERATIONS.index(predicate), i64)
    flags = arith.FastMathFlagsAttr("none")
    return place.emit(arith.CmpfOp, [lhs, rhs], i1, predicate=number, fastmath=flags)


def _is_nan(place: UpstreamPlace) -> tuple[SSAValue, ...] | None:
    if is_vector(place.op.operand.type):
        return None
    return (_compare_floats(place, "uno", place.op.operand, place.op.operand),)


def _magnitude(place: UpstreamPlace, predicate: str) -> tuple[SSAValue, ...] | None:
    type_ = place.op.operand.type
    if is_vector(type_):
        return None
    magnitude = place.emit(math.AbsFOp, [place.op.operand], type_, fastmath=arith.FastMathFlagsAttr("none"))
    infinity = place.emit(arith.ConstantOp, [], type_, value=FloatAttr(float("inf"), type_))
    return (_compare_floats(place, predicate, magnitude, infinity),)


def _is_infinite(place: UpstreamPlace) -> tuple[SSAValue, ...] | None:
    return _magnitude(place, "oeq")


def _is_finite(place: UpstreamPlace) -> tuple[SSAValue, ...] | None:
    return _magnitude(place, "olt")


def _subgroup_reduce(place: UpstreamPlace) -> tuple[SSAValue, ...] | None:
    op = place.op
    scalar = scalar_of(op.value.type)
    integers, floats, bools = _REDUCTIONS.get(op.op.data, (None, None, None))
    kind = bools if is_bool(scalar) else integers if is_integer(scalar) else floats
    if kind is None or (op.cluster_stride is not None and op.cluster_stride.value.data != 1):
        return None
    operands, operation = [op.value], GroupOperation.Reduce
    if op.cluster_size is not None:
        operands.append(place.constant(op.cluster_size.value.data, i32))
        operation = GroupOperation.ClusteredReduce
    return (_of_sub_group(place, kind, operands, group_operation=GroupOperationAttr(operation)),)


def _of_sub_group(
    place: UpstreamPlace, kind: type[Operation], operands: list[SSAValue], **properties: Attribute
) -> SSAValue:
    scope = ScopeAttr(Scope.Subgroup)
    return place.emit(kind, operands, operands[0].type, execution_scope=scope, **properties)


def _shuffle(place: UpstreamPlace) -> tuple[SSAValue, ...]:
    """Reads the work-item that mode and offset name; there is one where its number is below the width."""
    op = place.op
    lane = place.emit(arith.IndexCastOp, [place.emit(gpu.LaneIdOp, [], IndexType())], i32)
    mode = op.mode.data
    if mode is ShuffleMode.Idx:
        target = op.offset
    else:
        step = {ShuffleMode.Xor: arith.XOrIOp, ShuffleMode.Up: arith.SubiOp, ShuffleMode.Down: arith.AddiOp}[
            mode
        ]
        target = place.emit(step, [lane, op.offset], i32)
    if mode is ShuffleMode.Xor:
        value = _of_sub_group(place, group.GroupNonUniformShuffleXorOp, [op.value, op.offset])
    else:
        value = _of_sub_group(place, group.GroupNonUniformShuffleOp, [op.value, target])
    return value, place.compare(CmpPredicate.Ult, target, op.width)


_LOWERINGS: dict[str, Lowering] = {
    **{f"index.{word}": _index_binary for word in upstream.INDEX_ARITHMETIC},
    "index.cmp": _index_compare,
    "index.constant": _index_constant,
    "index.bool.constant": _index_constant,
    "index.sizeof": _index_size,
    "index.casts": _signed_cast,
    "index.castu": _unsigned_cast,
    "arith.index_castui": _unsigned_cast,
    "arith.remf": _remainder,
    "arith.addui_extended": _add_with_carry,
    "gpu.subgroup_reduce": _subgroup_reduce,
    "gpu.shuffle": _shuffle,
    "math.fpowi": _integer_power,
    "math.isnan": _is_nan,
    "math.isinf": _is_infinite,
    "math.isfinite": _is_finite,
    "memref.assume_alignment": same_memory,
    "memref.atomic_rmw": atomic_update,
    "memref.cast": same_memory,
    "memref.dealloc": without_effect,
    "scf.execute_region": execute_region,
    "scf.index_switch": index_switch,
}


class LowerUpstreamPass(ModulePass):
    """Replaces upstream's operations (see the head of this file)."""

    name = "lower-upstream"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lower_upstream(op)
