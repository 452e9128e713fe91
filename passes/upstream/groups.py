"""What becomes of operations of `gpu` on the values of a sub-group.

%r = gpu.subgroup_reduce add %x : (f32) -> f32     %r = spirv.GroupNonUniformFAdd <Subgroup> <Reduce> %x
%v, %p = gpu.shuffle xor %x, %o, %w : f32          %v = spirv.GroupNonUniformShuffleXor <Subgroup> %x, %o
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith, gpu
from xdsl.dialects.builtin import IndexType, IntegerType, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.attribute_values import integer
from ...ir.dialects.spirv import group
from ...ir.dialects.spirv.attributes import GroupOperationAttr, ScopeAttr
from ...ir.dialects.spirv.enums import GroupOperation, Scope
from ...ir.dialects.spirv.scalars import is_bool
from ...ir.upstream.gpu import Reduction, ShuffleMode
from ...ir.upstream.index import CmpPredicate
from .combining import combined, is_whole
from .place import Lowering, UpstreamPlace

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
_SMALLEST, _LARGEST = Reduction.MinimumF, Reduction.MaximumF


def _subgroup_reduce(place: UpstreamPlace) -> Sequence[SSAValue]:
    op = place.op
    size, stride = (integer(attribute) for attribute in (op.cluster_size, op.cluster_stride))
    if size is not None:
        return (_by_shuffles(place, op.value, size, 1 if stride is None else stride),)
    if op.op.data in (_SMALLEST, _LARGEST):
        return (_extreme(place, op.value),)
    return (_reduced(place, op.op.data, op.value),)


def _reduced(place: UpstreamPlace, word: Reduction, value: SSAValue) -> SSAValue:
    integers, floats, bools = _REDUCTIONS[word]
    kind = bools if is_bool(value.type) else integers if is_whole(value.type) else floats
    if kind is None:
        raise place.refused(
            f"'{word.value}' does not combine values of type {value.type}; take the word for that type"
        )
    return _of_sub_group(place, kind, [value], group_operation=GroupOperationAttr(GroupOperation.Reduce))


def _extreme(place: UpstreamPlace, value: SSAValue) -> SSAValue:
    """Returns the least or greatest float, where NaN wins and -0 is less than 0: as integers in the order of floats."""
    type_: Any = value.type
    whole = IntegerType(type_.bitwidth)
    bits = place.emit(arith.BitcastOp, [value], whole)
    word = Reduction.MinSI if place.op.op.data is _SMALLEST else Reduction.MaxSI
    found = _reduced(place, word, _ordered(place, bits))
    number = place.emit(arith.BitcastOp, [_ordered(place, found)], type_)
    is_nan = place.compare_floats("uno", value, value)
    some_nan = _reduced(place, Reduction.Or, place.emit(arith.ExtUIOp, [is_nan], i32))
    found_nan = place.compare(CmpPredicate.Ne, some_nan, place.constant(0, i32))
    return place.select(found_nan, place.constant(float("nan"), type_), number)


def _ordered(place: UpstreamPlace, bits: SSAValue) -> SSAValue:
    """Turns the bits of a float into an integer that compares as the float does, and back."""
    type_: Any = bits.type
    width = type_.width.data
    sign = place.emit(arith.ShRSIOp, [bits, place.constant(width - 1, type_)], type_)
    mask = place.emit(arith.AndIOp, [sign, place.constant((1 << width - 1) - 1, type_)], type_)
    return place.emit(arith.XOrIOp, [bits, mask], type_)


def _by_shuffles(place: UpstreamPlace, value: SSAValue, size: int, stride: int) -> SSAValue:
    """Combines with the work-item `stride`, 2 `stride`, … places away.

    Vulkan has instructions for clusters of neighbours; lavapipe 22.3 combines the whole sub-group there.
    """
    if size < 1 or size & (size - 1) or stride < 1 or stride & (stride - 1):
        raise place.refused(f"sizes and strides of clusters are powers of 2, found {size} and {stride}")
    distance = stride
    while distance < size * stride:
        other = _of_sub_group(
            place, group.GroupNonUniformShuffleXorOp, [value, place.constant(distance, i32)]
        )
        value = combined(place, place.op.op.data.value, value, other)
        distance *= 2
    return value


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


GROUPS: dict[str, Lowering] = {"gpu.shuffle": _shuffle, "gpu.subgroup_reduce": _subgroup_reduce}
"""How each is lowered."""
