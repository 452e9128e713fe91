"""``lp.sub_group``: functions of the work-items that a device runs together; those that are inactive take no part."""

from __future__ import annotations

import ast

from xdsl.dialects import arith, gpu
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, VectorType, i32
from xdsl.ir import Attribute, Operation

from ..ir.dialects.spirv import group as spirv_group
from ..ir.dialects.spirv.attributes import GroupOperationAttr, ScopeAttr
from ..ir.dialects.spirv.barrier import ControlBarrierOp
from ..ir.dialects.spirv.composite import CompositeExtractOp
from ..ir.dialects.spirv.enums import GroupOperation, MemorySemantics, Scope
from . import group_library
from .arithmetic import binary
from .barriers import add_barrier, choice, semantics
from .builtins import expect_count, min_max
from .conversions import condition, convert, settle, store_convert
from .dispatch import intrinsic
from .function_builder import FunctionBuilder
from .helpers import call_helper
from .ir_types import BOOL, INDEX_TYPE, IR_INDEX, ir_type
from .sub_group_types import combined, passed_on
from .types import ScalarType, f64
from .types import i32 as lapilli_i32
from .types import u32 as lapilli_u32
from .values import Composite, Scalar, Static, Value, describe, number_hint
from .vector_types import VecType
from .work_items import work_item_index, work_item_value

OPERATIONS = ("add", "mul", "min", "max", "and", "or", "xor")
"""How group functions combine values."""
_CHOICES = {name: name for name in OPERATIONS}
_NAMES = {"and": "BitwiseAnd", "or": "BitwiseOr", "xor": "BitwiseXor"}
_BOOL_NAMES = {"and": "LogicalAnd", "or": "LogicalOr", "xor": "LogicalXor"}
_COMBINED: dict[str, type[Operation]] = {
    op.name.removeprefix("spirv.GroupNonUniform"): op
    for op in spirv_group.OPS
    if issubclass(op, spirv_group.GroupArithmeticOp)
}
_SHUFFLES: dict[str, type[Operation]] = {
    "shuffle": spirv_group.GroupNonUniformShuffleOp,
    "shuffle_xor": spirv_group.GroupNonUniformShuffleXorOp,
    "shuffle_up": spirv_group.GroupNonUniformShuffleUpOp,
    "shuffle_down": spirv_group.GroupNonUniformShuffleDownOp,
}
_NUMBERS: dict[str, tuple[type[Operation], int]] = {
    "size": (gpu.SubgroupSizeOp, 1),
    "id": (gpu.LaneIdOp, 0),
    "index": (gpu.SubgroupIdOp, 0),
    "count": (gpu.NumSubgroupsOp, 1),
}
_LARGEST = 1 << 16
_SCOPE = {"execution_scope": ScopeAttr(Scope.Subgroup)}


def operand(fb: FunctionBuilder, node: ast.AST, value: Value, what: str) -> Scalar:
    """Returns a value that devices can combine or pass between work-items.

    Raises:
        CompileError: no number.
    """
    if not isinstance(value, Scalar):
        raise fb.error(
            node, f"{what} takes a number, found {describe(value)}", "LP2033", hint=number_hint(value)
        )
    if value.is_weak and fb.is_dry:
        return value
    return settle(fb, value, node)


def operation(fb: FunctionBuilder, node: ast.Call, arguments: list[Value], scalar: ScalarType) -> str:
    """Returns the word that says how values are combined: the second argument, or ``op=``.

    Raises:
        CompileError: another word, or one that the type does not take.
    """
    pair = next(((k.value, fb.evaluate(k.value)) for k in node.keywords if k.arg == "op"), None)
    if pair is None and len(arguments) == 2:
        pair = node.args[1], arguments[1]
    if pair is None or len(arguments) > 2:
        words = ", ".join(f'"{word}"' for word in OPERATIONS)
        raise fb.error(
            node,
            f"lp.{fb.callee} takes a value and an operation",
            "LP2045",
            hint=f'write lp.{fb.callee}(v, "add"); there are {words}',
        )
    word = choice(fb, pair[0], pair[1], "the operation of a group function", _CHOICES)
    if (scalar.is_float and word in _NAMES) or (scalar is BOOL and word not in _NAMES):
        raise fb.error(
            pair[0],
            f'there is no "{word}" of {describe(Scalar(scalar))}',
            "LP2033",
            hint="bits are those of integers: reinterpret the value with lp.bitcast"
            if scalar.is_float
            else f"bools have {', '.join(sorted(_NAMES))}; convert with lp.i32(…) to count them",
        )
    return word


@intrinsic("sub_group.reduce", "sub_group.inclusive_scan", "sub_group.exclusive_scan")
def compile_arithmetic(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.sub_group.reduce(v, op)`` and the scans."""
    name = fb.callee
    value = operand(fb, node, arguments[0] if arguments else Static(None, "None"), f"lp.{name}")
    word = operation(fb, node, arguments, value.type)
    fb.uses_barrier = True
    if value.type.bits == f64.bits and value.type is not f64:  # no instruction that Vulkan promises
        function = getattr(group_library, name.replace(".", "_"))
        return call_helper(fb, function, node, {"value": value, "op": Static(word, repr(word))})
    kind = name.removeprefix("sub_group.").title().replace("_", "")
    properties = {**_SCOPE, "group_operation": GroupOperationAttr(GroupOperation[kind])}

    def compute(part: Scalar) -> Scalar:
        if fb.is_dry:
            return Scalar(part.type)
        fb.node = node
        op = _COMBINED[_name(word, part.type)]
        return Scalar(part.type, fb.emit(op, [fb.ssa(part)], ir_type(part.type), properties))

    return combined(fb, value, word, node, compute)


def _name(word: str, scalar: ScalarType) -> str:
    if scalar is BOOL:
        return _BOOL_NAMES[word]
    if word in _NAMES:
        return _NAMES[word]
    if scalar.is_float:
        return "F" + word.title()
    if word in ("add", "mul"):
        return "I" + word.title()
    return ("S" if scalar.is_signed else "U") + word.title()


@intrinsic("sub_group.any", "sub_group.all")
def compile_vote(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.sub_group.any(c)`` and ``all``."""
    name = fb.callee
    expect_count(fb, node, arguments, f"lp.{name}", 1, 1)
    test = condition(fb, arguments[0], node.args[0])
    fb.uses_barrier = True
    is_any = name.endswith("any")
    kind = spirv_group.GroupNonUniformAnyOp if is_any else spirv_group.GroupNonUniformAllOp
    return Scalar(BOOL, None if fb.is_dry else fb.emit(kind, [fb.ssa(test)], ir_type(BOOL), _SCOPE))


@intrinsic("sub_group.ballot")
def compile_ballot(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.sub_group.ballot(c)``: a u32x4, the first work-item in the lowest bit."""
    expect_count(fb, node, arguments, "lp.sub_group.ballot", 1, 1)
    test = condition(fb, arguments[0], node.args[0])
    fb.uses_barrier = True
    kind = VecType(lapilli_u32, 4)
    if fb.is_dry:
        return Composite(tuple(Scalar(lapilli_u32) for _ in range(4)), kind)
    words = fb.emit(spirv_group.GroupNonUniformBallotOp, [fb.ssa(test)], VectorType(i32, [4]), _SCOPE)
    paths: list[Attribute] = [ArrayAttr([IntegerAttr(k, i32)]) for k in range(4)]
    items = [Scalar(lapilli_u32, fb.emit(CompositeExtractOp, [words], i32, {"indices": p})) for p in paths]
    return Composite(tuple(items), kind)


@intrinsic(*(f"sub_group.{name}" for name in _SHUFFLES))
def compile_shuffle(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.sub_group.shuffle(v, lane)`` and its relatives; from no such work-item comes no known value."""
    name = fb.callee
    expect_count(fb, node, arguments, f"lp.{name}", 2, 2)
    return _passed(fb, node, arguments[0], arguments[1], _SHUFFLES[name.removeprefix("sub_group.")])


@intrinsic("sub_group.broadcast")
def compile_broadcast(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.sub_group.broadcast(v, lane=0)``; a lane that is no literal takes a shuffle."""
    lane = broadcast_lane(fb, node, arguments)
    is_literal = isinstance(lane, Scalar) and lane.const is not None
    kind = spirv_group.GroupNonUniformBroadcastOp if is_literal else spirv_group.GroupNonUniformShuffleOp
    return _passed(fb, node, arguments[0], lane, kind)


def broadcast_lane(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Returns the lane of a broadcast, by position or name, 0 where there is none."""
    lane = next((fb.evaluate(k.value) for k in node.keywords if k.arg == "lane"), None)
    expect_count(fb, node, arguments, f"lp.{fb.callee}", 1, 2 if lane is None else 1)
    if lane is not None:
        return lane
    return arguments[1] if len(arguments) == 2 else Scalar(lapilli_i32, const=0)


def _passed(fb: FunctionBuilder, node: ast.Call, value: Value, lane: Value, kind: type[Operation]) -> Value:
    scalar = operand(fb, node.args[0], value, f"lp.{fb.callee}")
    if not isinstance(lane, Scalar) or not lane.type.is_integer:
        hint = "convert it: int(…)" if isinstance(lane, Scalar) else None
        found = f"the lane of lp.{fb.callee} is an integer, found {describe(lane)}"
        raise fb.error(node, found, "LP2033", hint=hint)
    wanted = lapilli_u32 if lane.type is lapilli_u32 else lapilli_i32
    number = store_convert(fb, lane, wanted, node, f"the lane of lp.{fb.callee}")
    fb.uses_barrier = True

    def compute(part: Scalar) -> Scalar:
        if fb.is_dry:
            return Scalar(part.type)
        fb.node = node
        ssa = fb.emit(kind, [fb.ssa(part), fb.ssa(number)], ir_type(part.type), _SCOPE)
        return Scalar(part.type, ssa)

    return passed_on(fb, scalar, node, compute)


@intrinsic(*(f"sub_group.{name}" for name in _NUMBERS))
def compile_number(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.sub_group.size()``, ``id()`` (the lane), ``index()`` and ``count()``."""
    name = fb.callee
    expect_count(fb, node, arguments, f"lp.{name}", 0, 0)
    op, low = _NUMBERS[name.removeprefix("sub_group.")]
    fb.uses_work_items = fb.uses_barrier = True
    bounds = (low, _LARGEST)
    if fb.is_dry:
        return Scalar(fb.module.index_type, bounds=bounds)
    if name == "sub_group.count":
        return _count(fb)
    return _number(fb, name, op)


@intrinsic("sub_group.present")
def compile_present(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles a sub-group's ``get_local_range()``: the last one of a work-group may have fewer work-items."""
    del arguments
    fb.uses_work_items = fb.uses_barrier = True
    if fb.is_dry:
        return Scalar(fb.module.index_type, bounds=(1, _LARGEST))
    size, index = (_number(fb, f"sub_group.{name}", _NUMBERS[name][0]) for name in ("size", "index"))
    before = binary(fb, "Mult", index, size, node)
    left = binary(fb, "Sub", convert(fb, work_group_size(fb), fb.module.index_type), before, node)
    assert isinstance(left, Scalar)
    return min_max(fb, "min", size, left, node)


def _number(fb: FunctionBuilder, name: str, op: type[Operation]) -> Scalar:
    index = fb.prologue_value(name, op, IR_INDEX)
    return Scalar(fb.module.index_type, fb.cast_from_index(index, name), bounds=(0, _LARGEST))


def _count(fb: FunctionBuilder) -> Scalar:
    """Returns the number of sub-groups: what the device says, or what the sizes say if that is more.

    lavapipe 22.3 leaves a partial sub-group out of NumSubgroups; a device that reports its largest sub-group
    size and uses smaller ones has more than the sizes say.  (In 2 and 3 dimensions lavapipe starts a sub-group
    at every row, so that there are more than either number.)
    """
    size, told = (_number(fb, f"sub_group.{name}", _NUMBERS[name][0]) for name in ("size", "count"))
    kind = fb.module.index_type
    ir = ir_type(kind)
    total = fb.ssa(convert(fb, work_group_size(fb), kind))
    less = fb.emit(arith.SubiOp, [fb.ssa(size), fb.constant(1, kind)], ir)
    padded = fb.emit(arith.AddiOp, [total, less], ir)
    packed = fb.emit(arith.DivUIOp, [padded, fb.ssa(size)], ir)
    count = fb.emit(arith.MaxSIOp, [packed, fb.ssa(told)], ir)
    return Scalar(kind, count, bounds=(1, _LARGEST))


def work_group_size(fb: FunctionBuilder) -> Scalar:
    """Returns the number of work-items of a work-group; with 32 bits, as lengths of arrays have, in every kernel."""
    total: Value = _local_range(fb, 0)
    for dimension in range(1, fb.module.rank):
        total = binary(fb, "Mult", total, _local_range(fb, dimension), fb.source.tree)
    assert isinstance(total, Scalar)
    return Scalar(INDEX_TYPE, total.ssa, bounds=(1, _LARGEST))


def _local_range(fb: FunctionBuilder, dimension: int) -> Scalar:
    plain = work_item_value(fb, "local_range", dimension)
    if fb.module.index_type is INDEX_TYPE:
        return plain
    if fb.is_dry:
        return Scalar(INDEX_TYPE, bounds=plain.bounds)
    index = work_item_index(fb, "local_range", dimension)
    narrow = fb.prologue_value(("i32", "local_range", dimension), arith.IndexCastOp, i32, operands=(index,))
    return Scalar(INDEX_TYPE, narrow, bounds=plain.bounds)


@intrinsic("sub_group.barrier")
def compile_barrier(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.sub_group.barrier()``."""
    expect_count(fb, node, arguments, "lp.sub_group.barrier", 0, 0)
    orders = semantics(MemorySemantics.AcquireRelease)
    add_barrier(fb, node, ControlBarrierOp(Scope.Subgroup, Scope.Subgroup, orders))
    return Static(None, "None")
