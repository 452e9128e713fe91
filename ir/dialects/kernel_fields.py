"""Loads and stores of a part of an array element: `kernel.load_field`, `kernel.store_field`.

Upstream's memref reaches whole elements only.  A path says where in the element: member of a struct, element of
an array, component of a vector; steps that are known at run time only are operands after the indices.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, MemRefType, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from ..attribute_values import integers, memref_element_type, memref_rank
from .spirv.types import ArrayType, StructType, element_type_at

RUN_TIME_STEP = -(1 << 31)
"""Stands in a path for a step that an operand gives."""


def _path_attribute(path: Sequence[int | None]) -> Attribute:
    return DenseArrayBase.from_list(i32, [RUN_TIME_STEP if step is None else step for step in path])


def field_operands(op: Operation, first: int) -> tuple[list[SSAValue], list[SSAValue | int]]:
    """Returns the indices of an access and its path with the operands put in.

    Args:
        op: one of the two operations.
        first: position of its first index among the operands.
    """
    rank = memref_rank(op.operands[first - 1].type) or 0
    operands = list(op.operands[first:])
    steps = iter(operands[rank:])
    path: list[SSAValue | int] = []
    for step in integers(op.properties["path"]) or ():
        path.append(next(steps) if step == RUN_TIME_STEP else step)
    return operands[:rank], path


def field_type(memref: Attribute, path: Sequence[int]) -> Attribute | None:
    """Returns the type at a path of an array's element, None where there is none."""
    found = memref_element_type(memref)
    for step in path:
        if found is None:
            return None
        known = None if step == RUN_TIME_STEP else step
        if known is None and isinstance(found, StructType):
            return None
        found = element_type_at(found, known)
    return found


def _verify(op: Operation, memref: SSAValue, indices: Sequence[SSAValue], value: Attribute) -> None:
    """Checks that the operands are as many as array and path need, and that the value has the part's type."""
    rank = memref_rank(memref.type)
    path = integers(op.properties["path"], i32)
    if rank is None or path is None:
        raise VerifyException(f"'{op.name}' takes a memref and a path array<i32: …>")
    expected = rank + sum(step == RUN_TIME_STEP for step in path)
    if len(indices) != expected:
        raise VerifyException(f"'{op.name}' takes {expected} indices and steps here, found {len(indices)}")
    found = field_type(memref.type, path)
    if found != value or isinstance(found, StructType | ArrayType):
        raise VerifyException(
            f"'{op.name}': path {list(path)} of {memref.type} leads to {found}; expected the scalar {value}"
        )


@irdl_op_definition
class LoadFieldOp(IRDLOperation):
    """Loads a scalar inside of an array element.

    %x = "kernel.load_field"(%a, %i) <{path = array<i32: 0, 2>}> : (memref<?x!spirv.struct<…>>, index) -> f32
    """

    name = "kernel.load_field"

    memref = operand_def(MemRefType)
    indices = var_operand_def()
    """The array's indices, then the steps of the path that are known at run time only (i32)."""
    path = prop_def(DenseArrayBase)
    result = result_def()

    @staticmethod
    def path_attribute(path: Sequence[int | None]) -> Attribute:
        """Returns a path as an attribute; None is a step that an operand gives."""
        return _path_attribute(path)

    def verify_(self) -> None:
        _verify(self, self.memref, self.indices, self.result.type)


@irdl_op_definition
class StoreFieldOp(IRDLOperation):
    """Stores a scalar into an array element, the rest of which stays as it is.

    "kernel.store_field"(%x, %a, %i) <{path = array<i32: 0, 2>}> : (f32, memref<?x!spirv.struct<…>>, index) -> ()
    """

    name = "kernel.store_field"

    value = operand_def()
    memref = operand_def(MemRefType)
    indices = var_operand_def()
    path = prop_def(DenseArrayBase)

    def verify_(self) -> None:
        _verify(self, self.memref, self.indices, self.value.type)
