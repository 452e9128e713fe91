"""Operand words of instructions that are not simply the ids of the operation's operands.

Most operations are: opcode, result type, result, operand ids.  The others have a function here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.dialects.builtin import Float16Type, Float32Type, Float64Type, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ..ir.dialects import spirv
from ..ir.dialects.spirv.attributes import MemoryAccessAttr, MemorySemanticsAttr, ScopeAttr
from ..ir.dialects.spirv.enums import GroupOperation, MemoryAccess, MemorySemantics, StorageClass
from ..ir.dialects.spirv.scalars import bit_width
from ..ir.dialects.spirv.types import PointerType
from ..ir.narrowing import is_integer_type, is_vector_type
from ..ir.walk import operands_of
from .emit_context import EmitContext, cannot_emit
from .layout import alignment_bytes, size_bytes
from .tables import GLSL_STD_450, Capability, NewerCapability, Op, enumerant_value, opcode

ValueId = Callable[[SSAValue], int]
OperandEncoder = Callable[[EmitContext, Operation, ValueId], list[int]]

_GL_PREFIX = "spirv.GL."
_RENAMED = {
    "spirv.EXT.AtomicFAdd": "OpAtomicFAddEXT",
    "spirv.EXT.AtomicFMin": "OpAtomicFMinEXT",
    "spirv.EXT.AtomicFMax": "OpAtomicFMaxEXT",
    "spirv.KHR.AssumeTrue": "OpAssumeTrueKHR",
    "spirv.KHR.Expect": "OpExpectKHR",
    "spirv.KHR.ReadClock": "OpReadClockKHR",
    "spirv.KHR.CooperativeMatrixLoad": "OpCooperativeMatrixLoadKHR",
    "spirv.KHR.CooperativeMatrixStore": "OpCooperativeMatrixStoreKHR",
    "spirv.KHR.CooperativeMatrixMulAdd": "OpCooperativeMatrixMulAddKHR",
    "spirv.KHR.CooperativeMatrixLength": "OpCooperativeMatrixLengthKHR",
}


def opcode_of(kind: type[Operation]) -> int | None:
    """Returns the opcode of operations of a class; None for those that have no instruction in a function."""
    name = kind.name
    if name.startswith(_GL_PREFIX):
        return Op.ExtInst
    try:
        return opcode(_RENAMED.get(name, "Op" + name.removeprefix("spirv.")))
    except KeyError:
        return None


def operand_encoder(kind: type[Operation]) -> OperandEncoder | None:
    """Returns what encodes the operands of operations of a class; None where these are the ids of the operands."""
    name = kind.name
    if name.startswith(_GL_PREFIX):
        return _glsl(GLSL_STD_450[name.removeprefix(_GL_PREFIX)][0])
    if name in _ENCODERS:
        return _ENCODERS[name]
    # Not issubclass: operations are abstract classes, which ask all of their subclasses at the first time.
    return next((_FAMILIES[base.__name__] for base in kind.__mro__ if base.__name__ in _FAMILIES), None)


class _Codes(dict[type[Operation], tuple[int | None, OperandEncoder | None]]):
    """Opcode and operand encoder of each class that was asked for."""

    def __missing__(self, kind: type[Operation]) -> tuple[int | None, OperandEncoder | None]:
        found = self[kind] = opcode_of(kind), operand_encoder(kind)
        return found


CODES = _Codes()
"""Opcode and operand encoder by the class of an operation, each as `opcode_of` and `operand_encoder` have it."""


def _glsl(number: int) -> OperandEncoder:
    def encode(context: EmitContext, op: Operation, value: ValueId) -> list[int]:
        return [context.glsl_set(), number, *map(value, operands_of(op))]

    return encode


def _literals(values: Iterable[IntegerAttr]) -> list[int]:
    return [value.value.data & 0xFFFFFFFF for value in values]


def _access(access: MemoryAccessAttr | None, alignment: IntegerAttr | None) -> list[int]:
    if access is None:
        return []
    mask = access.data
    words = [int(mask)]
    if MemoryAccess.Aligned in mask and alignment is not None:
        words.append(alignment.value.data)
    return words


def _load(context: EmitContext, op: Operation, value: ValueId) -> list[int]:
    assert isinstance(op, spirv.LoadOp)
    words = list(map(value, operands_of(op)))
    if not op.properties:
        return words
    return words + _access(op.memory_access, op.alignment) + _memory_scope(context, op.memory_scope)


def _memory_scope(context: EmitContext, scope: ScopeAttr | None) -> list[int]:
    return [] if scope is None else [_scope(context, scope)]


def _store(context: EmitContext, op: Operation, value: ValueId) -> list[int]:
    assert isinstance(op, spirv.StoreOp)
    words = list(map(value, operands_of(op)))
    if not op.properties:
        return words
    return words + _access(op.memory_access, op.alignment) + _memory_scope(context, op.memory_scope)


def _copy_memory(context: EmitContext, op: Operation, value: ValueId) -> list[int]:
    assert isinstance(op, spirv.CopyMemoryOp)
    words = [value(op.target), value(op.source), *_access(op.memory_access, op.alignment)]
    words += _memory_scope(context, op.memory_scope)
    if op.source_memory_access is not None:
        if op.memory_access is None:
            cannot_emit("a memory access of the source needs one of the target", op)
        words += _access(op.source_memory_access, op.source_alignment)
    return words + _memory_scope(context, op.source_memory_scope)


def _composite_extract(_: EmitContext, op: Operation, value: ValueId) -> list[int]:
    assert isinstance(op, spirv.CompositeExtractOp)
    return [value(op.operands[0]), *_literals(op.indices)]


def _composite_insert(_: EmitContext, op: Operation, value: ValueId) -> list[int]:
    assert isinstance(op, spirv.CompositeInsertOp)
    return [value(op.operands[0]), value(op.operands[1]), *_literals(op.indices)]


def _vector_shuffle(_: EmitContext, op: Operation, value: ValueId) -> list[int]:
    assert isinstance(op, spirv.VectorShuffleOp)
    return [value(op.operands[0]), value(op.operands[1]), *_literals(op.components)]


def _scope(context: EmitContext, attribute: ScopeAttr) -> int:
    return context.types.u32(attribute.data)


def _semantics(context: EmitContext, attribute: MemorySemanticsAttr) -> int:
    return context.types.u32(attribute.data & ~MemorySemantics.None_)


_ATOMIC_ADDITIONS: dict[type[Attribute], int] = {
    Float16Type: Capability.AtomicFloat16AddEXT,
    Float32Type: Capability.AtomicFloat32AddEXT,
    Float64Type: Capability.AtomicFloat64AddEXT,
}
_ATOMIC_EXTREMA: dict[type[Attribute], int] = {
    Float16Type: Capability.AtomicFloat16MinMaxEXT,
    Float32Type: Capability.AtomicFloat32MinMaxEXT,
    Float64Type: Capability.AtomicFloat64MinMaxEXT,
}


def _atomic_capability(context: EmitContext, op: Operation, type_: Attribute) -> None:
    if isinstance(op, spirv.EXTAtomicFAddOp):
        capability = _ATOMIC_ADDITIONS.get(type(type_))
        if capability is None:
            cannot_emit(f"there is no atomic addition of {type_}", op)
        context.capabilities.add(capability)
    elif isinstance(op, spirv.EXTAtomicFMinOp | spirv.EXTAtomicFMaxOp):
        capability = _ATOMIC_EXTREMA.get(type(type_))
        if capability is None:
            cannot_emit(f"there is no atomic minimum or maximum of {type_}", op)
        context.capabilities.add(capability)
    elif bit_width(type_) == 64 and not isinstance(type_, Float64Type):
        context.capabilities.add(Capability.Int64Atomics)


def _atomic(context: EmitContext, op: Operation, value: ValueId) -> list[int]:
    assert isinstance(op, spirv.AtomicUpdateOp | spirv.AtomicCountOp)
    _atomic_capability(context, op, op.result.type)
    pointer, *values = map(value, op.operands)
    return [pointer, _scope(context, op.memory_scope), _semantics(context, op.semantics), *values]


def _atomic_load(context: EmitContext, op: Operation, value: ValueId) -> list[int]:
    assert isinstance(op, spirv.AtomicLoadOp)
    _atomic_capability(context, op, op.result.type)
    return [value(op.pointer), _scope(context, op.memory_scope), _semantics(context, op.semantics)]


def _atomic_store(context: EmitContext, op: Operation, value: ValueId) -> list[int]:
    assert isinstance(op, spirv.AtomicStoreOp)
    _atomic_capability(context, op, op.value.type)
    scope, semantics = _scope(context, op.memory_scope), _semantics(context, op.semantics)
    return [value(op.pointer), scope, semantics, value(op.value)]


def _compare_exchange(context: EmitContext, op: Operation, value: ValueId) -> list[int]:
    assert isinstance(op, spirv.AtomicCompareExchangeOp)
    _atomic_capability(context, op, op.result.type)
    return [
        value(op.pointer),
        _scope(context, op.memory_scope),
        _semantics(context, op.equal_semantics),
        _semantics(context, op.unequal_semantics),
        value(op.value),
        value(op.comparator),
    ]


def _control_barrier(context: EmitContext, op: Operation, _: ValueId) -> list[int]:
    assert isinstance(op, spirv.ControlBarrierOp)
    scopes = [_scope(context, op.execution_scope), _scope(context, op.memory_scope)]
    return [*scopes, _semantics(context, op.memory_semantics)]


def _memory_barrier(context: EmitContext, op: Operation, _: ValueId) -> list[int]:
    assert isinstance(op, spirv.MemoryBarrierOp)
    return [_scope(context, op.memory_scope), _semantics(context, op.memory_semantics)]


def _group(context: EmitContext, op: Operation, value: ValueId) -> list[int]:
    assert isinstance(op, spirv.GroupOp)
    context.capabilities.add(Capability.GroupNonUniform)
    context.capabilities.add(enumerant_value("Capability", op.CAPABILITY))
    words = [_scope(context, op.execution_scope)]
    if isinstance(op, spirv.GroupArithmeticOp | spirv.GroupNonUniformBallotBitCountOp):
        operation = op.group_operation.data
        words.append(int(operation))
        if operation is GroupOperation.ClusteredReduce:
            context.capabilities.add(Capability.GroupNonUniformClustered)
    return [*words, *map(value, op.operands)]


def _dot(context: EmitContext, op: Operation, value: ValueId) -> list[int]:
    assert isinstance(op, spirv.DotOp)
    if NewerCapability.BFloat16TypeKHR in context.capabilities and "bf16" in str(op.result.type):
        context.capabilities.add(NewerCapability.BFloat16DotProductKHR)
    return list(map(value, op.operands))


def _array_length(_: EmitContext, op: Operation, value: ValueId) -> list[int]:
    assert isinstance(op, spirv.ArrayLengthOp)
    return [value(op.structure), op.array_member.value.data]


_WITH_LAYOUT = (StorageClass.StorageBuffer, StorageClass.Uniform, StorageClass.PhysicalStorageBuffer)


def _pointer_chain(context: EmitContext, op: Operation, value: ValueId) -> list[int]:
    assert isinstance(op, spirv.PtrAccessChainOp)
    type_ = op.base_ptr.type
    assert isinstance(type_, PointerType)
    if op.stride is not None:
        context.types.give_stride(type_, op.stride.value.data)
    elif type_.storage_class.data in _WITH_LAYOUT:
        size, alignment = size_bytes(type_.pointee), alignment_bytes(type_.pointee)
        if size is None:
            cannot_emit("a run-time array has no size for a pointer to move by", op)
        context.types.give_stride(type_, -(-size // alignment) * alignment)
    return list(map(value, op.operands))


def _integer_dot(context: EmitContext, op: Operation, value: ValueId) -> list[int]:
    assert isinstance(op, spirv.IntegerDotOp)
    context.capabilities.add(Capability.DotProduct)
    vector = op.vector1.type
    if not is_vector_type(vector):
        context.capabilities.add(Capability.DotProductInput4x8BitPacked)
    elif is_integer_type(vector.element_type) and vector.element_type.width.data == 8:
        context.capabilities.add(Capability.DotProductInput4x8Bit)
    else:
        context.capabilities.add(Capability.DotProductInputAll)
    return [*map(value, op.operands), *([] if op.format is None else [int(op.format.data)])]


def _extension(capability: int) -> OperandEncoder:
    def encode(context: EmitContext, op: Operation, value: ValueId) -> list[int]:
        context.capabilities.add(capability)
        return list(map(value, op.operands))

    return encode


def _read_clock(context: EmitContext, op: Operation, _: ValueId) -> list[int]:
    assert isinstance(op, spirv.KHRReadClockOp)
    context.capabilities.add(Capability.ShaderClockKHR)
    return [_scope(context, op.scope)]


def _matrix_load(context: EmitContext, op: Operation, value: ValueId) -> list[int]:
    assert isinstance(op, spirv.KHRCooperativeMatrixLoadOp)
    layout = context.types.u32(op.matrix_layout.data)
    access = _access(op.memory_operand, op.alignment) + _memory_scope(context, op.memory_scope)
    return [value(op.pointer), layout, value(op.stride), *access]


def _matrix_store(context: EmitContext, op: Operation, value: ValueId) -> list[int]:
    assert isinstance(op, spirv.KHRCooperativeMatrixStoreOp)
    layout = context.types.u32(op.matrix_layout.data)
    access = _access(op.memory_operand, op.alignment) + _memory_scope(context, op.memory_scope)
    return [value(op.pointer), value(op.object), layout, value(op.stride), *access]


def _matrix_multiply_add(_: EmitContext, op: Operation, value: ValueId) -> list[int]:
    assert isinstance(op, spirv.KHRCooperativeMatrixMulAddOp)
    mask = op.matrix_operands
    return [*map(value, op.operands), *([] if mask is None else [int(mask.data)])]


def _matrix_length(context: EmitContext, op: Operation, _: ValueId) -> list[int]:
    assert isinstance(op, spirv.KHRCooperativeMatrixLengthOp)
    return [context.types.id(op.cooperative_matrix_type)]


def _image_access(context: EmitContext, op: Operation, value: ValueId) -> list[int]:
    from .image_capabilities import access_capabilities

    assert isinstance(op, spirv.ImageAccessOp)
    context.capabilities.update(access_capabilities(op))
    ids = list(map(value, op.operands))
    flags = op.image_operands
    return ids if flags is None else [*ids[: op.FIXED], int(flags.data), *ids[op.FIXED :]]


def _image_query(context: EmitContext, op: Operation, value: ValueId) -> list[int]:
    context.capabilities.add(Capability.ImageQuery)
    return list(map(value, op.operands))


def _function_call(context: EmitContext, op: Operation, value: ValueId) -> list[int]:
    assert isinstance(op, spirv.FunctionCallOp)
    return [context.symbol_id(op.callee.root_reference.data), *map(value, operands_of(op))]


_FAMILIES: dict[str, OperandEncoder] = {
    "GroupOp": _group,
    "IntegerDotOp": _integer_dot,
    "ImageAccessOp": _image_access,
    "AtomicUpdateOp": _atomic,
    "AtomicCountOp": _atomic,
}
"""Operand encoders by the name of a class that operations derive from."""

_ENCODERS: dict[str, OperandEncoder] = {
    "spirv.Load": _load,
    "spirv.Store": _store,
    "spirv.CopyMemory": _copy_memory,
    "spirv.CompositeExtract": _composite_extract,
    "spirv.CompositeInsert": _composite_insert,
    "spirv.VectorShuffle": _vector_shuffle,
    "spirv.AtomicCompareExchange": _compare_exchange,
    "spirv.AtomicLoad": _atomic_load,
    "spirv.AtomicStore": _atomic_store,
    "spirv.ControlBarrier": _control_barrier,
    "spirv.MemoryBarrier": _memory_barrier,
    "spirv.Dot": _dot,
    "spirv.FunctionCall": _function_call,
    "spirv.ImageQuerySize": _image_query,
    "spirv.ImageQuerySizeLod": _image_query,
    "spirv.ImageQueryLevels": _image_query,
    "spirv.ImageQuerySamples": _image_query,
    "spirv.ImageSparseTexelsResident": _extension(Capability.SparseResidency),
    "spirv.ArrayLength": _array_length,
    "spirv.PtrAccessChain": _pointer_chain,
    "spirv.KHR.AssumeTrue": _extension(Capability.ExpectAssumeKHR),
    "spirv.KHR.Expect": _extension(Capability.ExpectAssumeKHR),
    "spirv.KHR.ReadClock": _read_clock,
    "spirv.KHR.CooperativeMatrixLoad": _matrix_load,
    "spirv.KHR.CooperativeMatrixStore": _matrix_store,
    "spirv.KHR.CooperativeMatrixMulAdd": _matrix_multiply_add,
    "spirv.KHR.CooperativeMatrixLength": _matrix_length,
}
"""Operand encoders by the name of the operation: classes would import the whole dialect."""
