"""Pointers that are moved and compared, as kernels of other compilers do; upstream MLIR has PtrAccessChain alone."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure

from .base import SpirvOp, check_same, fail
from .memory import access_chain_type, pointer_type
from .scalars import is_bool, is_integer
from .types import PointerType


@irdl_op_definition
class PtrAccessChainOp(SpirvOp):
    """As AccessChain, after moving the pointer by `element` elements of the array that it points into.

    `stride` is how many bytes these lie apart; without it they are as close as their alignment allows.
    """

    name = "spirv.PtrAccessChain"

    base_ptr = operand_def()
    element = operand_def()
    indices = var_operand_def()
    stride = opt_prop_def(IntegerAttr)
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        base = pointer_type(self, self.base_ptr)
        if not is_integer(self.element.type):
            fail(self, f"expects its element to be an integer, found {self.element.type}")
        element = access_chain_type(self, base.pointee, self.indices)
        check_same(self, "its result", self.result.type, PointerType(element, base.storage_class))


class PointerComparisonOp(SpirvOp):
    """Compares two pointers of one type."""

    operand1 = operand_def()
    operand2 = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        check_same(self, "the second pointer", self.operand2.type, pointer_type(self, self.operand1))
        if not self.is_result(self.result.type):
            fail(self, f"cannot give {self.result.type}")

    @staticmethod
    def is_result(type_: Attribute) -> bool:
        """Whether the result may be of this type."""
        return is_bool(type_)


@irdl_op_definition
class PtrEqualOp(PointerComparisonOp):
    """Whether two pointers are equal; not in upstream MLIR."""

    name = "spirv.PtrEqual"


@irdl_op_definition
class PtrNotEqualOp(PointerComparisonOp):
    """Whether two pointers differ; not in upstream MLIR."""

    name = "spirv.PtrNotEqual"


@irdl_op_definition
class PtrDiffOp(PointerComparisonOp):
    """Elements between two pointers into one array; not in upstream MLIR."""

    name = "spirv.PtrDiff"

    @staticmethod
    def is_result(type_: Attribute) -> bool:
        return is_integer(type_)


OPS: list[type[Operation]] = [PtrAccessChainOp, PtrEqualOp, PtrNotEqualOp, PtrDiffOp]
