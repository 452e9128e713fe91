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

from .attributes import MemoryAccessAttr, ScopeAttr, StorageClassAttr
from .base import SpirvOp, check_same, fail
from .enums import MemoryAccess, StorageClass
from .scalars import is_integer
from .structure import FuncOp
from .types import ArrayType, PointerType, RuntimeArrayType, StructType, element_type_at


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


_AVAILABLE, _VISIBLE = MemoryAccess.MakePointerAvailable, MemoryAccess.MakePointerVisible


def check_scope(
    op: Operation, access: MemoryAccessAttr | None, scope: ScopeAttr | None, flag: MemoryAccess
) -> None:
    """Checks that a scope is given exactly where the access makes memory available or visible, as it can."""
    _check_flags(op, access, flag)
    if (access is not None and flag in access.data) != (scope is not None):
        fail(op, f"has a memory_scope if and only if its memory access is {flag.name}")


def _check_flags(op: Operation, access: MemoryAccessAttr | None, allowed: MemoryAccess) -> None:
    found = (access.data if access is not None else MemoryAccess.None_) & (_AVAILABLE | _VISIBLE)
    if found & ~allowed:
        fail(op, f"can have {allowed.name}, found {found.name}")
    if access is not None and found and MemoryAccess.NonPrivatePointer not in access.data:
        fail(op, f"with {found.name} is NonPrivatePointer, too")


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
            function = self.parent_op()
            # Elsewhere the value is stored where the variable stands.
            if isinstance(function, FuncOp) and self.parent is function.body.blocks.first:
                _check_constant(self, self.initializer)


_CONSTANTS = (
    "spirv.Constant",
    "spirv.Undef",
    "spirv.mlir.referenceof",
    "spirv.mlir.addressof",
    "spirv.SpecConstantOperation",
)


def _check_constant(op: Operation, value: SSAValue) -> None:
    if not isinstance(value.owner, Operation) or value.owner.name not in _CONSTANTS:
        fail(op, "in the first block of a function starts as a constant; store other values with spirv.Store")


@irdl_op_definition
class LoadOp(SpirvOp):
    """The value that a pointer points to."""

    name = "spirv.Load"

    ptr = operand_def()
    memory_access = opt_prop_def(MemoryAccessAttr)
    alignment = opt_prop_def(IntegerAttr)
    memory_scope = opt_prop_def(ScopeAttr)
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
        check_scope(self, self.memory_access, self.memory_scope, _VISIBLE)


@irdl_op_definition
class StoreOp(SpirvOp):
    """Writes a value through a pointer."""

    name = "spirv.Store"

    ptr = operand_def()
    value = operand_def()
    memory_access = opt_prop_def(MemoryAccessAttr)
    alignment = opt_prop_def(IntegerAttr)
    memory_scope = opt_prop_def(ScopeAttr)

    def __init__(
        self, ptr: SSAValue | Operation, value: SSAValue | Operation, *, alignment: int | None = None
    ):
        super().__init__(operands=[ptr, value], properties=_access_properties(alignment))

    def verify_(self) -> None:
        pointer = pointer_type(self, self.ptr)
        check_same(self, "the stored value", self.value.type, pointer.pointee)
        check_access(self, self.memory_access, self.alignment)
        check_scope(self, self.memory_access, self.memory_scope, _AVAILABLE)
        if pointer.storage_class.data in (
            StorageClass.Input,
            StorageClass.PushConstant,
            StorageClass.UniformConstant,
        ):
            fail(self, f"cannot write storage class {pointer.storage_class.data.name}")


@irdl_op_definition
class CopyMemoryOp(SpirvOp):
    """Copies what `source` points to into what `target` points to.

    `memory_access` is of both unless there is a `source_memory_access`.  `memory_scope` is whom the written memory
    becomes available to, `source_memory_scope` whom the memory that is read becomes visible to; upstream lacks both.
    """

    name = "spirv.CopyMemory"

    target = operand_def()
    source = operand_def()
    memory_access = opt_prop_def(MemoryAccessAttr)
    alignment = opt_prop_def(IntegerAttr)
    memory_scope = opt_prop_def(ScopeAttr)
    source_memory_access = opt_prop_def(MemoryAccessAttr)
    source_alignment = opt_prop_def(IntegerAttr)
    source_memory_scope = opt_prop_def(ScopeAttr)

    def __init__(self, target: SSAValue | Operation, source: SSAValue | Operation):
        super().__init__(operands=[target, source])

    def verify_(self) -> None:
        target, source = pointer_type(self, self.target), pointer_type(self, self.source)
        check_same(self, "what its source points to", source.pointee, target.pointee)
        check_access(self, self.memory_access, self.alignment)
        check_access(self, self.source_memory_access, self.source_alignment)
        of_source = self.source_memory_access
        if of_source is None:
            _check_flags(self, self.memory_access, _AVAILABLE | _VISIBLE)
            of_source = self.memory_access
        else:
            _check_flags(self, self.memory_access, _AVAILABLE)
            _check_flags(self, of_source, _VISIBLE)
        for name, scope, access, flag in (
            ("memory_scope", self.memory_scope, self.memory_access, _AVAILABLE),
            ("source_memory_scope", self.source_memory_scope, of_source, _VISIBLE),
        ):
            if (scope is not None) != (access is not None and flag in access.data):
                fail(self, f"has a {name} if and only if the memory access is {flag.name}")


class ChainOp(SpirvOp):
    """A pointer into a composite; struct indices are constants."""

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


@irdl_op_definition
class AccessChainOp(ChainOp):
    """A pointer into a composite: `%p = AccessChain %base[%i, %j]`."""

    name = "spirv.AccessChain"


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


@irdl_op_definition
class InBoundsAccessChainOp(ChainOp):
    """An access chain whose indices are known to be in range; not in upstream MLIR."""

    name = "spirv.InBoundsAccessChain"


@irdl_op_definition
class ArrayLengthOp(SpirvOp):
    """How many elements the run-time array that is member `array_member` of a buffer has; not in upstream MLIR."""

    name = "spirv.ArrayLength"

    structure = operand_def()
    array_member = prop_def(IntegerAttr)
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        struct, member = pointer_type(self, self.structure).pointee, self.array_member.value.data
        if not isinstance(element_type_at(struct, member), RuntimeArrayType) or not isinstance(
            struct, StructType
        ):
            fail(self, f"member {member} is no run-time array of {struct}")
        if not is_integer(self.result.type):
            fail(self, f"gives an integer, found {self.result.type}")


@irdl_op_definition
class CopyObjectOp(SpirvOp):
    """Its operand; not in upstream MLIR, whose reader leaves it out."""

    name = "spirv.CopyObject"

    operand = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        check_same(self, "its result", self.result.type, self.operand.type)


@irdl_op_definition
class CopyLogicalOp(SpirvOp):
    """The same composite with another layout of its members; not in upstream MLIR."""

    name = "spirv.CopyLogical"

    operand = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        source, target = self.operand.type, self.result.type
        if source == target:
            fail(self, f"expects two different types, found {source} twice")
        if not _match_logically(source, target):
            fail(self, f"expects types that differ in their layout only, found {source} and {target}")


def _match_logically(a: Attribute, b: Attribute) -> bool:
    if isinstance(a, StructType) and isinstance(b, StructType):
        if len(a.members) != len(b.members):
            return False
        pairs = ((element_type_at(a, place), element_type_at(b, place)) for place in range(len(a.members)))
        return all(x is not None and y is not None and _match_logically(x, y) for x, y in pairs)
    if isinstance(a, ArrayType) and isinstance(b, ArrayType):
        return a.count == b.count and _match_logically(a.element_type, b.element_type)
    return a == b


OPS: list[type[Operation]] = [
    VariableOp,
    LoadOp,
    StoreOp,
    CopyMemoryOp,
    AccessChainOp,
    InBoundsAccessChainOp,
    ArrayLengthOp,
    CopyObjectOp,
    CopyLogicalOp,
]
