"""Atomic read-modify-write operations (SPIR-V 1.6 §3.52.18); all return the value before.

MLIR has no atomic load and store, nor minimum and maximum of floats.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from .attributes import MemorySemanticsAttr, ScopeAttr
from .base import SpirvOp, check_kind, check_same, check_semantics, fail
from .enums import MemorySemantics, Scope
from .types import PointerType


def _check_pointer(op: Operation, pointer: SSAValue, result: SSAValue, kind: str) -> None:
    if not isinstance(pointer.type, PointerType):
        fail(op, f"expects a !spirv.ptr, found {pointer.type}")
    check_kind(op, "what its pointer points to", pointer.type.pointee, kind)
    check_same(op, "its result", result.type, pointer.type.pointee)


class AtomicUpdateOp(SpirvOp):
    """`*pointer = *pointer <op> value`."""

    KIND: ClassVar[str] = "integer"

    pointer = operand_def()
    value = operand_def()
    memory_scope = prop_def(ScopeAttr)
    semantics = prop_def(MemorySemanticsAttr)
    result = result_def()

    def __init__(
        self,
        pointer: SSAValue | Operation,
        value: SSAValue | Operation,
        scope: Scope,
        semantics: MemorySemantics,
    ):
        operand = SSAValue.get(value)
        super().__init__(
            operands=[pointer, operand],
            properties={"memory_scope": ScopeAttr(scope), "semantics": MemorySemanticsAttr(semantics)},
            result_types=[operand.type],
        )

    def verify_(self) -> None:
        _check_pointer(self, self.pointer, self.result, self.KIND)
        check_same(self, "its value", self.value.type, self.result.type)
        check_semantics(self, "semantics", self.semantics)


class AtomicCountOp(SpirvOp):
    """Counts `*pointer` up or down by one."""

    pointer = operand_def()
    memory_scope = prop_def(ScopeAttr)
    semantics = prop_def(MemorySemanticsAttr)
    result = result_def()

    def __init__(self, pointer: SSAValue | Operation, scope: Scope, semantics: MemorySemantics):
        operand = SSAValue.get(pointer)
        assert isinstance(operand.type, PointerType)
        super().__init__(
            operands=[operand],
            properties={"memory_scope": ScopeAttr(scope), "semantics": MemorySemanticsAttr(semantics)},
            result_types=[operand.type.pointee],
        )

    def verify_(self) -> None:
        _check_pointer(self, self.pointer, self.result, "integer")
        check_semantics(self, "semantics", self.semantics)


@irdl_op_definition
class AtomicIAddOp(AtomicUpdateOp):
    """Sum."""

    name = "spirv.AtomicIAdd"


@irdl_op_definition
class AtomicISubOp(AtomicUpdateOp):
    """Difference."""

    name = "spirv.AtomicISub"


@irdl_op_definition
class AtomicSMinOp(AtomicUpdateOp):
    """Signed minimum."""

    name = "spirv.AtomicSMin"


@irdl_op_definition
class AtomicUMinOp(AtomicUpdateOp):
    """Unsigned minimum."""

    name = "spirv.AtomicUMin"


@irdl_op_definition
class AtomicSMaxOp(AtomicUpdateOp):
    """Signed maximum."""

    name = "spirv.AtomicSMax"


@irdl_op_definition
class AtomicUMaxOp(AtomicUpdateOp):
    """Unsigned maximum."""

    name = "spirv.AtomicUMax"


@irdl_op_definition
class AtomicAndOp(AtomicUpdateOp):
    """Bitwise and."""

    name = "spirv.AtomicAnd"


@irdl_op_definition
class AtomicOrOp(AtomicUpdateOp):
    """Bitwise or."""

    name = "spirv.AtomicOr"


@irdl_op_definition
class AtomicXorOp(AtomicUpdateOp):
    """Bitwise exclusive or."""

    name = "spirv.AtomicXor"


@irdl_op_definition
class AtomicExchangeOp(AtomicUpdateOp):
    """The value."""

    name = "spirv.AtomicExchange"
    KIND: ClassVar[str] = "number"


@irdl_op_definition
class EXTAtomicFAddOp(AtomicUpdateOp):
    """Sum of floats (SPV_EXT_shader_atomic_float_add)."""

    name = "spirv.EXT.AtomicFAdd"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class EXTAtomicFMinOp(AtomicUpdateOp):
    """Minimum of floats (SPV_EXT_shader_atomic_float_min_max); not in upstream MLIR."""

    name = "spirv.EXT.AtomicFMin"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class EXTAtomicFMaxOp(AtomicUpdateOp):
    """Maximum of floats (SPV_EXT_shader_atomic_float_min_max); not in upstream MLIR."""

    name = "spirv.EXT.AtomicFMax"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class AtomicLoadOp(SpirvOp):
    """The value that a pointer points to; not in upstream MLIR."""

    name = "spirv.AtomicLoad"

    pointer = operand_def()
    memory_scope = prop_def(ScopeAttr)
    semantics = prop_def(MemorySemanticsAttr)
    result = result_def()

    def verify_(self) -> None:
        _check_pointer(self, self.pointer, self.result, "number")
        check_semantics(self, "semantics", self.semantics)
        if self.semantics.data & (MemorySemantics.Release | MemorySemantics.AcquireRelease):
            fail(self, "reads and cannot release memory")


@irdl_op_definition
class AtomicStoreOp(SpirvOp):
    """Writes a value through a pointer; not in upstream MLIR."""

    name = "spirv.AtomicStore"

    pointer = operand_def()
    value = operand_def()
    memory_scope = prop_def(ScopeAttr)
    semantics = prop_def(MemorySemanticsAttr)

    def verify_(self) -> None:
        _check_pointer(self, self.pointer, self.value, "number")
        check_semantics(self, "semantics", self.semantics)
        if self.semantics.data & (MemorySemantics.Acquire | MemorySemantics.AcquireRelease):
            fail(self, "writes and cannot acquire memory")


@irdl_op_definition
class AtomicIIncrementOp(AtomicCountOp):
    """Counts up."""

    name = "spirv.AtomicIIncrement"


@irdl_op_definition
class AtomicIDecrementOp(AtomicCountOp):
    """Counts down."""

    name = "spirv.AtomicIDecrement"


@irdl_op_definition
class AtomicCompareExchangeOp(SpirvOp):
    """Stores `value` where `*pointer` equals `comparator`."""

    name = "spirv.AtomicCompareExchange"

    pointer = operand_def()
    value = operand_def()
    comparator = operand_def()
    memory_scope = prop_def(ScopeAttr)
    equal_semantics = prop_def(MemorySemanticsAttr)
    unequal_semantics = prop_def(MemorySemanticsAttr)
    result = result_def()

    def __init__(
        self,
        pointer: SSAValue | Operation,
        value: SSAValue | Operation,
        comparator: SSAValue | Operation,
        scope: Scope,
        equal_semantics: MemorySemantics,
        unequal_semantics: MemorySemantics,
    ):
        operand = SSAValue.get(value)
        super().__init__(
            operands=[pointer, operand, comparator],
            properties={
                "memory_scope": ScopeAttr(scope),
                "equal_semantics": MemorySemanticsAttr(equal_semantics),
                "unequal_semantics": MemorySemanticsAttr(unequal_semantics),
            },
            result_types=[operand.type],
        )

    def verify_(self) -> None:
        _check_pointer(self, self.pointer, self.result, "integer")
        check_same(self, "its value", self.value.type, self.result.type)
        check_same(self, "its comparator", self.comparator.type, self.result.type)
        check_semantics(self, "equal_semantics", self.equal_semantics)
        check_semantics(self, "unequal_semantics", self.unequal_semantics)
        if self.unequal_semantics.data & (MemorySemantics.Release | MemorySemantics.AcquireRelease):
            fail(self, "cannot release memory where the comparison fails")


OPS: list[type[Operation]] = [
    AtomicIAddOp,
    AtomicISubOp,
    AtomicSMinOp,
    AtomicUMinOp,
    AtomicSMaxOp,
    AtomicUMaxOp,
    AtomicAndOp,
    AtomicOrOp,
    AtomicXorOp,
    AtomicExchangeOp,
    EXTAtomicFAddOp,
    EXTAtomicFMinOp,
    EXTAtomicFMaxOp,
    AtomicLoadOp,
    AtomicStoreOp,
    AtomicIIncrementOp,
    AtomicIDecrementOp,
    AtomicCompareExchangeOp,
]
