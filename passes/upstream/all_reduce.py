"""What becomes of `gpu.all_reduce`: a tree in memory of the work-group, for every size of work-groups.

%r = gpu.all_reduce add %x uniform {}     values[id] = x; barrier
                                          while count > 1: half = (count + 1) / 2
                                              if id < count - half: values[id] = values[id] + values[id + half]
                                              barrier; count = half
                                          r = values[0]; barrier
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith, gpu, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    MemRefType,
    NoneAttr,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...ir.dialects.kernel import is_kernel, launch_rank
from ...ir.dialects.spirv.attributes import StorageClassAttr
from ...ir.dialects.spirv.enums import StorageClass
from ...ir.dialects.spirv.scalars import is_bool
from ...ir.upstream.index import CmpPredicate
from .combining import combined
from .place import Lowering, Number, UpstreamPlace

_INDEX = IndexType()
_SCRATCH = "upstream.scratch"
"""Unit attribute of the memory: reductions of one type use it one after the other."""


def all_reduce(place: UpstreamPlace) -> Sequence[SSAValue]:
    """Combines the values of a work-group; bools are words in memory."""
    op = place.op
    if (op.op is None) == (not op.body.blocks):
        raise place.refused("it combines by an operation or by a region, exactly one of them")
    type_: Attribute = i32 if is_bool(op.value.type) else op.value.type
    size, lane = _size(place), _linear_id(place)
    values = _scratch(place, type_)
    place.store(_as(place, op.value, type_), values, [lane])
    place.make(gpu.BarrierOp)
    _tree(place, values, size, lane)
    result = _as(place, place.load(values, [0]), op.value.type)
    place.make(gpu.BarrierOp)
    return (result,)


def _as(place: UpstreamPlace, value: SSAValue, type_: Attribute) -> SSAValue:
    if value.type == type_:
        return value
    return place.emit(arith.ExtUIOp if is_bool(value.type) else arith.TruncIOp, [value], type_)


def _dimension(place: UpstreamPlace, kind: type[Operation], word: str) -> SSAValue:
    dimension = gpu.DimensionAttr(gpu.DimensionEnum(word))
    return place.emit(kind, [], _INDEX, dimension=dimension)


def _kernel(place: UpstreamPlace) -> Any:
    """Returns the kernel that the operation is in."""
    function = place.op.parent_op()
    while function is not None and function.name not in ("func.func", "gpu.func"):
        function = function.parent_op()
    if function is None or not is_kernel(function):
        raise place.refused(
            "only a kernel has memory of its work-group; move it from the function into the kernel"
        )
    return function


def _dimensions(place: UpstreamPlace) -> str:
    """Returns the dimensions of the launch range."""
    return "xyz"[: launch_rank(_kernel(place))]


def _size(place: UpstreamPlace) -> SSAValue:
    return place.value(
        place.product([_dimension(place, gpu.BlockDimOp, word) for word in _dimensions(place)])
    )


def _linear_id(place: UpstreamPlace) -> SSAValue:
    linear: Number = 0
    for word in reversed(_dimensions(place)):
        row = place.times(linear, _dimension(place, gpu.BlockDimOp, word))
        linear = place.plus(row, _dimension(place, gpu.ThreadIdOp, word))
    return place.value(linear)


def _scratch(place: UpstreamPlace, type_: Attribute) -> SSAValue:
    """Returns one element a work-item, at the start of the kernel."""
    entry = _kernel(place).regions[0].blocks[0]
    array = MemRefType(type_, [DYNAMIC_INDEX], NoneAttr(), StorageClassAttr(StorageClass.Workgroup))
    for op in entry.ops:
        if _SCRATCH in op.attributes and op.results[0].type == array:
            return op.results[0]
    start = UpstreamPlace(place.op, anchor=entry.first_op)
    segments = DenseArrayBase.from_list(i32, [1, 0])
    made = start.make(memref.AllocOp, [_size(start)], [array], operandSegmentSizes=segments)
    made.attributes[_SCRATCH] = UnitAttr()
    return made.results[0]


def _tree(place: UpstreamPlace, values: SSAValue, size: SSAValue, lane: SSAValue) -> None:
    test, body = Block(arg_types=[_INDEX]), Block(arg_types=[_INDEX])
    inner = place.inside(test)
    one = inner.constant(1, _INDEX)
    inner.make(scf.ConditionOp, [inner.compare(CmpPredicate.Ugt, test.args[0], one), test.args[0]])
    inner = place.inside(body)
    (count,) = body.args
    one = inner.constant(1, _INDEX)
    half = inner.emit(arith.ShRUIOp, [inner.value(inner.plus(count, one)), one], _INDEX)
    rest = inner.emit(arith.SubiOp, [count, half], _INDEX)

    def combine(deeper: UpstreamPlace) -> Sequence[SSAValue]:
        left = deeper.load(values, [lane])
        right = deeper.load(values, [deeper.plus(lane, half)])
        deeper.store(_combined(deeper, left, right), values, [lane])
        return ()

    inner.choose(inner.compare(CmpPredicate.Ult, lane, rest), [], combine)
    inner.make(gpu.BarrierOp)
    inner.make(scf.YieldOp, [half])
    place.make(scf.WhileOp, [size], [_INDEX], regions=[Region(test), Region(body)])


def _combined(place: UpstreamPlace, left: SSAValue, right: SSAValue) -> SSAValue:
    """Combines as the operation says: two values of memory, in the type there."""
    op = place.op
    if op.op is not None:
        if is_bool(op.value.type) and op.op.data.value not in ("and", "or", "xor"):
            raise place.refused(f"'{op.op.data.value}' does not combine bools; take and, or, xor")
        return combined(place, op.op.data.value, left, right)
    if len(op.body.blocks) != 1 or len(op.body.block.args) != 2:
        raise place.refused("its region is one block of two arguments; run mlir-opt --lift-cf-to-scf before")
    values: dict[SSAValue, SSAValue] = {
        argument: _as(place, value, op.value.type)
        for argument, value in zip(op.body.block.args, (left, right), strict=True)
    }
    last: Any
    *steps, last = op.body.block.ops
    for step in steps:
        place.add(step.clone(values))
    if len(last.operands) != 1:
        raise place.refused("its region ends in gpu.yield of one value")
    result: SSAValue = last.operands[0]
    return _as(place, values.get(result, result), left.type)


ALL_REDUCE: dict[str, Lowering] = {"gpu.all_reduce": all_reduce}
"""How it is lowered."""
