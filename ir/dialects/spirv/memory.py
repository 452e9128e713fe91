"""Variables, loads, stores and access chains (SPIR-V 1.6 §3.52.8)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from .attributes import MemoryAccessAttr, StorageClassAttr
from .base import SpirvOp, check_same, fail
from .enums import MemoryAccess, StorageClass
from .types import PointerType, StructType, element_type_at, is_integer


def pointer_type(op: Operation, value: SSAValue) -> PointerType:
    """Returns the type of pointer `value`; VerifyException about `op` where it is none."""
    if not isinstance(value.type, PointerType):
        fail(op, f"expects a !spirv.ptr, found {value.type}")
    return value.type


def _access_properties(alignment: int | None) -> dict[str, Attribute | None]:
    if alignment is None:
        return {}
    return {"memory_access": MemoryAccessAttr(MemoryAccess.Aligned), "alignment": IntegerAttr(alignment, i32)}


def check_access(op: Operation, access: MemoryAccessAttr | None, alignment: IntegerAttr | None) -> None:
    """Checks that an alignment is given exactly where the access is Aligned, and is a power of two."""
    is_aligned = access is not None and MemoryAccess.Aligned in access.data
    if is_aligned != (alignment is not None):
        fail(op, "has an alignment if and only if its memory access is Aligned")
    if alignment is not None and alignment.value.data.bit_count() != 1:
        fail(op, f"expects an alignment that is a power of two, found {alignment.value.data}")


def constant_index(value: SSAValue) -> int | None:
    """Returns the integer that `value` is known to be, else None."""
    owner = value.owner
    if isinstance(owner, Operation) and owner.name in ("spirv.Constant", "arith.constant"):
        attribute = owner.properties.get("value")
        if isinstance(attribute, IntegerAttr):
            return attribute.value.data
    return None


@irdl_op_definition
class VariableOp(SpirvOp):
    """A variable of the function; in the first block of the function, before other instructions."""

    name = "spirv.Variable"

    storage_class = prop_def(StorageClassAttr)
    initializer = opt_operand_def()
    pointer = result_def()

    def __init__(self, type_: PointerType, initializer: SSAValue | Operation | None = None):
        super().__init__(
            operands=[initializer], properties={"storage_class": type_.storage_class}, result_types=[type_]
        )

    def verify_(self) -> None:
        pointer = pointer_type(self, self.pointer)
        if self.storage_class.data is not StorageClass.Function:
            fail(self, f"is in storage class Function, found {self.storage_class.data.name}")
        check_same(self, "its result", pointer, PointerType(pointer.pointee, self.storage_class))
        if self.initializer is not None:
            check_same(self, "its initializer", self.initializer.type, pointer.pointee)


@irdl_op_definition
class LoadOp(SpirvOp):
    """The value that a pointer points to."""

    name = "spirv.Load"

    ptr = operand_def()
    memory_access = opt_prop_def(MemoryAccessAttr)
    alignment = opt_prop_def(IntegerAttr)
    value = result_def()

    def __init__(self, ptr: SSAValue | Operation, *, alignment: int | None = None):
        pointer = SSAValue.get(ptr)
        assert isinstance(pointer.type, PointerType)
        super().__init__(
            operands=[pointer], properties=_access_properties(alignment), result_types=[pointer.type.pointee]
        )

    def verify_(self) -> None:
        pointer = pointer_type(self, self.ptr)
        check_same(self, "its result", self.value.type, pointer.pointee)
        check_access(self, self.memory_access, self.alignment)


@irdl_op_definition
class StoreOp(SpirvOp):
    """Writes a value through a pointer."""

    name = "spirv.Store"

    ptr = operand_def()
    value = operand_def()
    memory_access = opt_prop_def(MemoryAccessAttr)
    alignment = opt_prop_def(IntegerAttr)

    def __init__(
        self, ptr: SSAValue | Operation, value: SSAValue | Operation, *, alignment: int | None = None
    ):
        super().__init__(operands=[ptr, value], properties=_access_properties(alignment))

    def verify_(self) -> None:
        pointer = pointer_type(self, self.ptr)
        check_same(self, "the stored value", self.value.type, pointer.pointee)
        check_access(self, self.memory_access, self.alignment)
        if pointer.storage_class.data in (
            StorageClass.Input,
            StorageClass.PushConstant,
            StorageClass.UniformConstant,
        ):
            fail(self, f"cannot write storage class {pointer.storage_class.data.name}")


@irdl_op_definition
class CopyMemoryOp(SpirvOp):
    """Copies what `source` points to into what `target` points to."""

    name = "spirv.CopyMemory"

    target = operand_def()
    source = operand_def()
    memory_access = opt_prop_def(MemoryAccessAttr)
    alignment = opt_prop_def(IntegerAttr)
    source_memory_access = opt_prop_def(MemoryAccessAttr)
    source_alignment = opt_prop_def(IntegerAttr)

    def __init__(self, target: SSAValue | Operation, source: SSAValue | Operation):
        super().__init__(operands=[target, source])

    def verify_(self) -> None:
        target, source = pointer_type(self, self.target), pointer_type(self, self.source)
        check_same(self, "what its source points to", source.pointee, target.pointee)
        check_access(self, self.memory_access, self.alignment)
        check_access(self, self.source_memory_access, self.source_alignment)


@irdl_op_definition
class AccessChainOp(SpirvOp):
    """A pointer into a composite: `%p = AccessChain %base[%i, %j]`; struct indices are constants."""

    name = "spirv.AccessChain"

    base_ptr = operand_def()
    indices = var_operand_def()
    component_ptr = result_def()

    traits = traits_def(Pure())

    def __init__(
        self,
        base_ptr: SSAValue | Operation,
        indices: Sequence[SSAValue | Operation],
        result_type: PointerType | None = None,
    ):
        base = SSAValue.get(base_ptr)
        values = [SSAValue.get(index) for index in indices]
        if result_type is None:
            assert isinstance(base.type, PointerType)
            element = access_chain_type(self, base.type.pointee, values)
            result_type = PointerType(element, base.type.storage_class)
        super().__init__(operands=[base, values], result_types=[result_type])

    def verify_(self) -> None:
        base = pointer_type(self, self.base_ptr)
        element = access_chain_type(self, base.pointee, self.indices)
        check_same(self, "its result", self.component_ptr.type, PointerType(element, base.storage_class))


def access_chain_type(op: Operation, type_: Attribute, indices: Sequence[SSAValue]) -> Attribute:
    """Returns the type that `indices` select in `type_`; VerifyException about `op` where they cannot."""
    for position, value in enumerate(indices):
        if not is_integer(value.type):
            fail(op, f"index {position} is an integer, found {value.type}")
        index = constant_index(value)
        if isinstance(type_, StructType) and index is None:
            fail(op, f"index {position} selects a member of {type_} and has to be a spirv.Constant")
        element = element_type_at(type_, index)
        if element is None:
            fail(
                op,
                f"index {position} ({'not constant' if index is None else index}) selects nothing in {type_}",
            )
        type_ = element
    return type_


OPS: list[type[Operation]] = [VariableOp, LoadOp, StoreOp, CopyMemoryOp, AccessChainOp]
