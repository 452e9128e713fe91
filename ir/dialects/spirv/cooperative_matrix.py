"""Cooperative matrices (SPV_KHR_cooperative_matrix): a group of work-items holds one matrix together."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, SymbolRefAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from .attributes import (
    CooperativeMatrixLayoutAttr,
    CooperativeMatrixOperandsAttr,
    MemoryAccessAttr,
    ScopeAttr,
)
from .base import SpirvOp, check_kind, check_same, fail
from .enums import CooperativeMatrixUse, MemoryAccess, StorageClass
from .matrix_types import CooperativeMatrixType
from .memory import check_access, check_scope, pointer_type
from .scalars import is_float, is_integer, scalar_of

_MEMORY = (StorageClass.StorageBuffer, StorageClass.PhysicalStorageBuffer, StorageClass.Workgroup)


def _matrix(op: Operation, what: str, value: SSAValue) -> CooperativeMatrixType:
    if not isinstance(value.type, CooperativeMatrixType):
        fail(op, f"expects {what} to be a !spirv.coopmatrix, found {value.type}")
    return value.type


def _check_memory(op: Operation, pointer: SSAValue) -> None:
    type_ = pointer_type(op, pointer)
    if type_.storage_class.data not in _MEMORY:
        fail(op, f"expects a pointer to a buffer or to Workgroup, found {type_}")
    scalar = scalar_of(type_.pointee)
    if not (is_integer(scalar) or is_float(scalar)):
        fail(op, f"expects a pointer to a number or to a vector of numbers, found {type_}")


@irdl_op_definition
class KHRCooperativeMatrixLoadOp(SpirvOp):
    """Reads a matrix from memory; `stride` is the elements from one row (or column) to the next."""

    name = "spirv.KHR.CooperativeMatrixLoad"

    pointer = operand_def()
    stride = operand_def()
    matrix_layout = prop_def(CooperativeMatrixLayoutAttr)
    memory_operand = opt_prop_def(MemoryAccessAttr)
    alignment = opt_prop_def(IntegerAttr)
    memory_scope = opt_prop_def(ScopeAttr)
    result = result_def()

    def verify_(self) -> None:
        _check_memory(self, self.pointer)
        check_kind(self, "its stride", self.stride.type, "integer")
        _matrix(self, "its result", self.result)
        check_access(self, self.memory_operand, self.alignment)
        check_scope(self, self.memory_operand, self.memory_scope, MemoryAccess.MakePointerVisible)


@irdl_op_definition
class KHRCooperativeMatrixStoreOp(SpirvOp):
    """Writes a matrix to memory."""

    name = "spirv.KHR.CooperativeMatrixStore"

    pointer = operand_def()
    object = operand_def()
    stride = operand_def()
    matrix_layout = prop_def(CooperativeMatrixLayoutAttr)
    memory_operand = opt_prop_def(MemoryAccessAttr)
    alignment = opt_prop_def(IntegerAttr)
    memory_scope = opt_prop_def(ScopeAttr)

    def verify_(self) -> None:
        _check_memory(self, self.pointer)
        check_kind(self, "its stride", self.stride.type, "integer")
        _matrix(self, "its object", self.object)
        check_access(self, self.memory_operand, self.alignment)
        check_scope(self, self.memory_operand, self.memory_scope, MemoryAccess.MakePointerAvailable)


@irdl_op_definition
class KHRCooperativeMatrixMulAddOp(SpirvOp):
    """a · b + c."""

    name = "spirv.KHR.CooperativeMatrixMulAdd"

    a = operand_def()
    b = operand_def()
    c = operand_def()
    matrix_operands = opt_prop_def(CooperativeMatrixOperandsAttr)
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        a, b = _matrix(self, "a", self.a), _matrix(self, "b", self.b)
        c, result = _matrix(self, "c", self.c), _matrix(self, "its result", self.result)
        expected = (
            CooperativeMatrixUse.MatrixA,
            CooperativeMatrixUse.MatrixB,
            CooperativeMatrixUse.MatrixAcc,
        )
        # What specialization constants say is known when a pipeline is made.
        for use, wanted in zip((a.use, b.use, c.use), expected, strict=True):
            if not isinstance(use, SymbolRefAttr) and use.data is not wanted:
                fail(
                    self,
                    f"takes a MatrixA, a MatrixB and a MatrixAcc, found {use.data.name} for {wanted.name}",
                )
        check_same(self, "its result", result, c)
        if _differ(a.columns, b.rows) or _differ(a.rows, c.rows) or _differ(b.columns, c.columns):
            fail(self, f"has shapes that do not fit: {a}, {b} and {c}")
        if _differ(a.scope, b.scope) or _differ(b.scope, c.scope):
            fail(self, "has matrices of one scope")


def _differ(a: Attribute, b: Attribute) -> bool:
    """Whether two numbers are known to differ: neither is a specialization constant."""
    return a != b and not isinstance(a, SymbolRefAttr) and not isinstance(b, SymbolRefAttr)


@irdl_op_definition
class KHRCooperativeMatrixLengthOp(SpirvOp):
    """How many elements of a matrix type this work-item holds.  Upstream names the type by an attribute, too."""

    name = "spirv.KHR.CooperativeMatrixLength"

    cooperative_matrix_type = prop_def(CooperativeMatrixType)
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        check_same(self, "its result", self.result.type, i32)


OPS: list[type[Operation]] = [
    KHRCooperativeMatrixLoadOp,
    KHRCooperativeMatrixStoreOp,
    KHRCooperativeMatrixMulAddOp,
    KHRCooperativeMatrixLengthOp,
]
