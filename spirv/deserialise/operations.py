"""One instruction of a function to one operation.

Most are: class by opcode, operands in order, result type.  The others have a function here, the inverse of
those in `emit_operands`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from functools import cache
from typing import Protocol, TypeVar

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, SymbolRefAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.spirv import attributes as attrs
from ...ir.dialects.spirv import enums
from ...ir.dialects.spirv.group import GroupArithmeticOp, GroupOp
from ...ir.dialects.spirv.group_ballot import GroupNonUniformBallotBitCountOp
from ...ir.dialects.spirv.integer_dot import IntegerDotAccumulateOp, IntegerDotOp
from ..binary import Instruction
from ..emit_operands import opcode_of
from ..operands import id_counts
from ..tables import Op, glsl_std_450_name
from .errors import unreadable


class Operands(Protocol):
    """What an instruction may ask of the function around it."""

    def value(self, number: int, user: Instruction) -> SSAValue:
        """The value with an id."""
        ...

    def type(self, number: int, user: Instruction) -> Attribute:
        """The type with an id."""
        ...

    def integer(self, number: int, user: Instruction) -> int:
        """The plain integer constant with an id."""
        ...

    def is_glsl(self, number: int) -> bool:
        """Whether an id is the import of GLSL.std.450."""
        ...

    def callee(self, number: int, user: Instruction) -> str:
        """The symbol of a function."""
        ...

    def stride(self, number: int) -> int | None:
        """How many bytes apart the elements are that a pointer may be moved over, where the binary says it."""
        ...


FlagT = TypeVar("FlagT", bound=enum.IntFlag)
Reader = Callable[[Operands, Instruction, type[Operation]], Operation]


@cache
def _classes() -> dict[int, type[Operation]]:
    opcodes = {kind: opcode_of(kind) for kind in spirv.SPIRV_OPS.values()}
    found = {opcode: kind for kind, opcode in opcodes.items() if opcode not in (None, Op.ExtInst)}
    for structural in (Op.Branch, Op.BranchConditional, Op.Switch, Op.Return, Op.ReturnValue, Op.Unreachable):
        found.pop(structural, None)
    return found


def read_operation(around: Operands, item: Instruction) -> Operation:
    """Returns the operation of an instruction that is neither OpPhi nor a terminator."""
    if item.opcode == Op.ExtInst:
        return _extended(around, item)
    op_class = _classes().get(item.opcode)
    if op_class is None:
        unreadable("the dialect has no such operation", item)
    reader = _READERS.get(op_class)
    if reader is None and issubclass(op_class, GroupOp):
        reader = _group
    elif reader is None and issubclass(op_class, IntegerDotOp):
        reader = _integer_dot
    elif reader is None and issubclass(op_class, spirv.AtomicUpdateOp | spirv.AtomicCountOp):
        reader = _atomic
    elif reader is None and issubclass(op_class, spirv.ImageAccessOp):
        reader = _image_access
    if reader is not None:
        return reader(around, item, op_class)
    if id_counts(item.opcode) is None:
        unreadable("its operands have no form in the dialect", item)
    return _create(around, item, op_class, item.operands)


def _create(
    around: Operands,
    item: Instruction,
    op_class: type[Operation],
    operands: Sequence[int],
    properties: dict[str, Attribute] | None = None,
) -> Operation:
    results = [] if item.result_type is None else [around.type(item.result_type, item)]
    values = [around.value(number, item) for number in operands]
    return op_class.create(operands=values, result_types=results, properties=properties or {})


def _copy_logical(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    copy = _create(around, item, op_class, item.operands)
    # Types that differ in their ids only are one type in the dialect.
    if copy.operands[0].type == copy.results[0].type:
        return _create(around, item, spirv.CopyObjectOp, item.operands)
    return copy


def _pointer_chain(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    stride = around.stride(_need(item, 2)[0])
    properties: dict[str, Attribute] = {} if stride is None else {"stride": IntegerAttr(stride, i32)}
    return _create(around, item, op_class, item.operands, properties)


def _extended(around: Operands, item: Instruction) -> Operation:
    if len(item.operands) < 2 or not around.is_glsl(item.operands[0]):
        unreadable("only the extended instructions of GLSL.std.450 are supported", item)
    name = glsl_std_450_name(item.operands[1])
    op_class = spirv.SPIRV_OPS.get(f"spirv.GL.{name}")
    if op_class is None:
        unreadable(f"the dialect has no GLSL.std.450 instruction {name or item.operands[1]}", item)
    return _create(around, item, op_class, item.operands[2:])


def _need(item: Instruction, count: int) -> tuple[int, ...]:
    if len(item.operands) < count:
        unreadable(f"has {len(item.operands)} operands, expected at least {count}", item)
    return item.operands


def _literals(words: Sequence[int]) -> ArrayAttr[IntegerAttr]:
    return ArrayAttr([IntegerAttr(word - (1 << 32) if word >> 31 else word, i32) for word in words])


def _scope(around: Operands, number: int, item: Instruction) -> Attribute:
    value = around.integer(number, item)
    try:
        return attrs.ScopeAttr(enums.Scope(value))
    except ValueError:
        unreadable(f"{value} is no scope of the dialect", item)


def _semantics(around: Operands, number: int, item: Instruction) -> Attribute:
    return attrs.MemorySemanticsAttr(_flags(enums.MemorySemantics, around.integer(number, item), item))


def _flags(kind: type[FlagT], word: int, item: Instruction) -> FlagT:
    known = sum(int(flag) for flag in kind)
    if word & ~known:
        unreadable(f"{word & ~known:#x} is no {kind.__name__} of the dialect", item)
    return kind(word)


def _access(
    around: Operands, item: Instruction, words: Sequence[int], prefix: str = "", visible: str = "memory_scope"
) -> tuple[dict[str, Attribute], Sequence[int]]:
    """Reads memory operands; returns properties and the words left.

    `visible` is the property for the scope that memory becomes visible to.
    """
    if not words:
        return {}, words
    flags = _flags(enums.MemoryAccess, words[0], item)
    found: dict[str, Attribute] = {f"{prefix}memory_access": attrs.MemoryAccessAttr(flags)}
    rest = list(words[1:])
    scopes = (
        (enums.MemoryAccess.MakePointerAvailable, "memory_scope"),
        (enums.MemoryAccess.MakePointerVisible, visible),
    )
    wanted = (enums.MemoryAccess.Aligned in flags) + sum(flag in flags for flag, _ in scopes)
    if len(rest) < wanted:
        unreadable("its memory operands are cut short", item)
    if enums.MemoryAccess.Aligned in flags:
        alignment = rest.pop(0)
        if alignment >> 31:
            unreadable(f"an alignment of {alignment}", item)
        found[f"{prefix}alignment"] = IntegerAttr(alignment, i32)
    for flag, name in scopes:
        if flag in flags:
            found[name] = _scope(around, rest.pop(0), item)
    return found, rest


def _load(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    pointer, *words = _need(item, 1)
    return _create(around, item, op_class, [pointer], _only(_access(around, item, words), item))


def _store(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    pointer, value, *words = _need(item, 2)
    return _create(around, item, op_class, [pointer, value], _only(_access(around, item, words), item))


def _only(read: tuple[dict[str, Attribute], Sequence[int]], item: Instruction) -> dict[str, Attribute]:
    if read[1]:
        unreadable("it has more memory operands than it can have", item)
    return read[0]


def _copy_memory(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    target, source, *words = _need(item, 2)
    properties, rest = _access(around, item, words, "", "source_memory_scope")
    properties |= _only(_access(around, item, rest, "source_", "source_memory_scope"), item)
    return _create(around, item, op_class, [target, source], properties)


def _composite_extract(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    composite, *indices = _need(item, 1)
    return _create(around, item, op_class, [composite], {"indices": _literals(indices)})


def _composite_insert(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    part, composite, *indices = _need(item, 2)
    return _create(around, item, op_class, [part, composite], {"indices": _literals(indices)})


def _vector_shuffle(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    first, second, *components = _need(item, 2)
    return _create(around, item, op_class, [first, second], {"components": _literals(components)})


def _array_length(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    structure, member = _need(item, 2)[:2]
    return _create(around, item, op_class, [structure], {"array_member": _literals([member]).data[0]})


def _atomic(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    pointer, scope, semantics, *values = _need(item, 3)
    properties = {
        "memory_scope": _scope(around, scope, item),
        "semantics": _semantics(around, semantics, item),
    }
    return _create(around, item, op_class, [pointer, *values], properties)


def _compare_exchange(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    pointer, scope, equal, unequal, value, comparator = _need(item, 6)[:6]
    properties = {
        "memory_scope": _scope(around, scope, item),
        "equal_semantics": _semantics(around, equal, item),
        "unequal_semantics": _semantics(around, unequal, item),
    }
    return _create(around, item, op_class, [pointer, value, comparator], properties)


def _control_barrier(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    execution, memory, semantics = _need(item, 3)[:3]
    properties = {
        "execution_scope": _scope(around, execution, item),
        "memory_scope": _scope(around, memory, item),
        "memory_semantics": _semantics(around, semantics, item),
    }
    return _create(around, item, op_class, [], properties)


def _memory_barrier(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    scope, semantics = _need(item, 2)[:2]
    properties = {
        "memory_scope": _scope(around, scope, item),
        "memory_semantics": _semantics(around, semantics, item),
    }
    return _create(around, item, op_class, [], properties)


def _group(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    scope, *operands = _need(item, 1)
    properties = {"execution_scope": _scope(around, scope, item)}
    if issubclass(op_class, GroupArithmeticOp | GroupNonUniformBallotBitCountOp):
        operation, *operands = _need(item, 2)[1:]
        if operation not in enums.GroupOperation.__members__.values():
            unreadable(f"{operation} is no group operation of the dialect", item)
        properties["group_operation"] = attrs.GroupOperationAttr(enums.GroupOperation(operation))
    return _create(around, item, op_class, operands, properties)


def _integer_dot(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    count = 3 if issubclass(op_class, IntegerDotAccumulateOp) else 2
    words = _need(item, count)
    properties: dict[str, Attribute] = {}
    if len(words) > count:
        if words[count] != enums.PackedVectorFormat.PackedVectorFormat4x8Bit:
            unreadable(f"{words[count]} is no packed vector format", item)
        properties["format"] = attrs.PackedVectorFormatAttr(enums.PackedVectorFormat.PackedVectorFormat4x8Bit)
    return _create(around, item, op_class, words[:count], properties)


def _image_access(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    assert issubclass(op_class, spirv.ImageAccessOp)
    count = op_class.FIXED
    words = _need(item, count)
    properties: dict[str, Attribute] = {}
    if len(words) > count:
        flags = _flags(enums.ImageOperands, words[count], item)
        properties["image_operands"] = attrs.ImageOperandsAttr(flags)
    return _create(around, item, op_class, [*words[:count], *words[count + 1 :]], properties)


def _function_call(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    callee, *arguments = _need(item, 1)
    properties: dict[str, Attribute] = {"callee": SymbolRefAttr(around.callee(callee, item))}
    return _create(around, item, op_class, arguments, properties)


def _read_clock(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    return _create(around, item, op_class, [], {"scope": _scope(around, _need(item, 1)[0], item)})


def _layout(around: Operands, number: int, item: Instruction) -> Attribute:
    value = around.integer(number, item)
    if value not in enums.CooperativeMatrixLayout.__members__.values():
        unreadable(f"{value} is no layout of a cooperative matrix", item)
    return attrs.CooperativeMatrixLayoutAttr(enums.CooperativeMatrixLayout(value))


def _matrix_access(around: Operands, item: Instruction, words: Sequence[int]) -> dict[str, Attribute]:
    found = _only(_access(around, item, words), item)
    return {"memory_operand" if name == "memory_access" else name: value for name, value in found.items()}


def _matrix_load(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    pointer, layout, stride, *words = _need(item, 3)
    properties = {"matrix_layout": _layout(around, layout, item), **_matrix_access(around, item, words)}
    return _create(around, item, op_class, [pointer, stride], properties)


def _matrix_store(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    pointer, matrix, layout, stride, *words = _need(item, 4)
    properties = {"matrix_layout": _layout(around, layout, item), **_matrix_access(around, item, words)}
    return _create(around, item, op_class, [pointer, matrix, stride], properties)


def _matrix_multiply_add(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    words = _need(item, 3)
    properties: dict[str, Attribute] = {}
    if len(words) > 3:
        flags = _flags(enums.CooperativeMatrixOperands, words[3], item)
        properties["matrix_operands"] = attrs.CooperativeMatrixOperandsAttr(flags)
    return _create(around, item, op_class, words[:3], properties)


def _matrix_length(around: Operands, item: Instruction, op_class: type[Operation]) -> Operation:
    kind = around.type(_need(item, 1)[0], item)
    return _create(around, item, op_class, [], {"cooperative_matrix_type": kind})


_READERS: dict[type[Operation], Reader] = {
    spirv.LoadOp: _load,
    spirv.StoreOp: _store,
    spirv.CopyMemoryOp: _copy_memory,
    spirv.CopyLogicalOp: _copy_logical,
    spirv.PtrAccessChainOp: _pointer_chain,
    spirv.CompositeExtractOp: _composite_extract,
    spirv.CompositeInsertOp: _composite_insert,
    spirv.VectorShuffleOp: _vector_shuffle,
    spirv.ArrayLengthOp: _array_length,
    spirv.AtomicLoadOp: _atomic,
    spirv.AtomicStoreOp: _atomic,
    spirv.AtomicCompareExchangeOp: _compare_exchange,
    spirv.ControlBarrierOp: _control_barrier,
    spirv.MemoryBarrierOp: _memory_barrier,
    spirv.FunctionCallOp: _function_call,
    spirv.KHRReadClockOp: _read_clock,
    spirv.KHRCooperativeMatrixLoadOp: _matrix_load,
    spirv.KHRCooperativeMatrixStoreOp: _matrix_store,
    spirv.KHRCooperativeMatrixMulAddOp: _matrix_multiply_add,
    spirv.KHRCooperativeMatrixLengthOp: _matrix_length,
}
