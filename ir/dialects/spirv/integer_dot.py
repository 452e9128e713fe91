"""Integer dot products (SPIR-V 1.6 §3.52.13, SPV_KHR_integer_dot_product)."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def, traits_def
from xdsl.traits import Pure

from ...narrowing import is_vector_type
from .attributes import PackedVectorFormatAttr
from .base import SpirvOp, check_alike, check_kind, check_scalar, fail


class IntegerDotOp(SpirvOp):
    """Sum of the products of two vectors, or of the four bytes of two i32 if `format` says so."""

    vector1 = operand_def()
    vector2 = operand_def()
    format = opt_prop_def(PackedVectorFormatAttr)
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        vector = self.vector1.type
        check_kind(self, "its operands", vector, "integer")
        check_alike(self, "the second operand", self.vector2.type, vector)
        check_kind(self, "its result", self.result.type, "integer")
        if is_vector_type(vector) == (self.format is not None):
            fail(self, f"has a format if and only if its operands are scalars, found {vector}")
        if self.format is not None:
            check_scalar(self, "its packed operands", vector, "int32")
        if is_vector_type(self.result.type):
            fail(self, f"gives a scalar, found {self.result.type}")


class IntegerDotAccumulateOp(IntegerDotOp):
    """The dot product added to `accumulator`."""

    # Said again: operands of a base class come last.
    vector1 = operand_def()
    vector2 = operand_def()
    accumulator = operand_def()

    def verify_(self) -> None:
        super().verify_()
        check_alike(self, "its accumulator", self.accumulator.type, self.result.type)


@irdl_op_definition
class SDotOp(IntegerDotOp):
    """Both signed."""

    name = "spirv.SDot"


@irdl_op_definition
class UDotOp(IntegerDotOp):
    """Both unsigned."""

    name = "spirv.UDot"


@irdl_op_definition
class SUDotOp(IntegerDotOp):
    """The first signed, the second unsigned."""

    name = "spirv.SUDot"


@irdl_op_definition
class SDotAccSatOp(IntegerDotAccumulateOp):
    """Both signed. Saturates."""

    name = "spirv.SDotAccSat"


@irdl_op_definition
class UDotAccSatOp(IntegerDotAccumulateOp):
    """Both unsigned. Saturates."""

    name = "spirv.UDotAccSat"


@irdl_op_definition
class SUDotAccSatOp(IntegerDotAccumulateOp):
    """The first signed, the second unsigned. Saturates."""

    name = "spirv.SUDotAccSat"


OPS: list[type[Operation]] = [
    SDotOp,
    UDotOp,
    SUDotOp,
    SDotAccSatOp,
    UDotAccSatOp,
    SUDotAccSatOp,
]
