"""Loads and stores of several neighbouring array elements: `kernel.load_wide`, `kernel.store_wide`.

Upstream's vector.load promises nothing about alignment, and a storage buffer cannot be read as vectors without it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from ..attribute_values import memref_element_type, memref_rank, vector_elements


def _verify(op: Operation, memref: SSAValue, indices: Sequence[SSAValue], value: Attribute) -> None:
    rank = memref_rank(memref.type)
    if rank is None or len(indices) != rank:
        raise VerifyException(f"'{op.name}' takes an index for each dimension of {memref.type}")
    element, vector = memref_element_type(memref.type), vector_elements(value)
    if vector is None or vector[0] != element:
        raise VerifyException(f"'{op.name}' moves a vector of {element}, found {value}")


@irdl_op_definition
class LoadWideOp(IRDLOperation):
    """Loads a vector of neighbouring elements along the last dimension.

    The position of the first element in the whole array, in C order, is a multiple of the vector's size.

    %v = "kernel.load_wide"(%a, %i) : (memref<?xf32>, index) -> vector<4xf32>
    """

    name = "kernel.load_wide"

    memref = operand_def(MemRefType)
    indices = var_operand_def()
    """Of the first element."""
    result = result_def(VectorType)

    def verify_(self) -> None:
        _verify(self, self.memref, self.indices, self.result.type)


@irdl_op_definition
class StoreWideOp(IRDLOperation):
    """Stores a vector to neighbouring elements along the last dimension; alignment as for `kernel.load_wide`.

    "kernel.store_wide"(%v, %a, %i) : (vector<4xf32>, memref<?xf32>, index) -> ()
    """

    name = "kernel.store_wide"

    value = operand_def(VectorType)
    memref = operand_def(MemRefType)
    indices = var_operand_def()

    def verify_(self) -> None:
        _verify(self, self.memref, self.indices, self.value.type)
