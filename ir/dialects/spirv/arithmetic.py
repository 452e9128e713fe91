"""Arithmetic (SPIR-V 1.6 §3.52.13): operands and result of one scalar or vector type."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Commutative, Pure

from ...narrowing import is_vector_type
from .base import BinaryOp, SpirvOp, UnaryOp, check_alike, check_kind, fail
from .scalars import scalar_of
from .types import StructType


@irdl_op_definition
class IAddOp(BinaryOp):
    """Sum modulo 2^width."""

    name = "spirv.IAdd"
    KIND: ClassVar[str] = "integer"
    TAKES_MATRICES: ClassVar[bool] = True
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class ISubOp(BinaryOp):
    """Difference modulo 2^width."""

    name = "spirv.ISub"
    KIND: ClassVar[str] = "integer"
    TAKES_MATRICES: ClassVar[bool] = True


@irdl_op_definition
class IMulOp(BinaryOp):
    """Product modulo 2^width."""

    name = "spirv.IMul"
    KIND: ClassVar[str] = "integer"
    TAKES_MATRICES: ClassVar[bool] = True
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class SDivOp(BinaryOp):
    """Signed quotient, rounded towards zero; undefined for a zero divisor."""

    name = "spirv.SDiv"
    KIND: ClassVar[str] = "integer"
    TAKES_MATRICES: ClassVar[bool] = True


@irdl_op_definition
class UDivOp(BinaryOp):
    """Unsigned quotient; undefined for a zero divisor."""

    name = "spirv.UDiv"
    KIND: ClassVar[str] = "integer"
    TAKES_MATRICES: ClassVar[bool] = True


@irdl_op_definition
class SRemOp(BinaryOp):
    """Signed remainder with the sign of the dividend."""

    name = "spirv.SRem"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class SModOp(BinaryOp):
    """Signed remainder with the sign of the divisor."""

    name = "spirv.SMod"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class UModOp(BinaryOp):
    """Unsigned remainder."""

    name = "spirv.UMod"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class FAddOp(BinaryOp):
    """Floating-point sum."""

    name = "spirv.FAdd"
    KIND: ClassVar[str] = "float"
    TAKES_MATRICES: ClassVar[bool] = True
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class FSubOp(BinaryOp):
    """Floating-point difference."""

    name = "spirv.FSub"
    KIND: ClassVar[str] = "float"
    TAKES_MATRICES: ClassVar[bool] = True


@irdl_op_definition
class FMulOp(BinaryOp):
    """Floating-point product."""

    name = "spirv.FMul"
    KIND: ClassVar[str] = "float"
    TAKES_MATRICES: ClassVar[bool] = True
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class FDivOp(BinaryOp):
    """Floating-point quotient."""

    name = "spirv.FDiv"
    KIND: ClassVar[str] = "float"
    TAKES_MATRICES: ClassVar[bool] = True


@irdl_op_definition
class FRemOp(BinaryOp):
    """Floating-point remainder with the sign of the dividend."""

    name = "spirv.FRem"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class FModOp(BinaryOp):
    """Floating-point remainder with the sign of the divisor."""

    name = "spirv.FMod"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class SNegateOp(UnaryOp):
    """Two's complement negation."""

    name = "spirv.SNegate"
    KIND: ClassVar[str] = "integer"
    TAKES_MATRICES: ClassVar[bool] = True


@irdl_op_definition
class FNegateOp(UnaryOp):
    """Inverts the sign bit."""

    name = "spirv.FNegate"
    KIND: ClassVar[str] = "float"
    TAKES_MATRICES: ClassVar[bool] = True


class ExtendedArithmeticOp(SpirvOp):
    """Operands of one integer type; the result is a struct of two such values."""

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        left = SSAValue.get(lhs)
        super().__init__(operands=[left, rhs], result_types=[StructType.get([left.type, left.type])])

    def verify_(self) -> None:
        lhs = self.lhs.type
        check_kind(self, "its operands", lhs, "integer")
        check_alike(self, "the second operand", self.rhs.type, lhs)
        check_alike(self, "its result", self.result.type, StructType.get([lhs, lhs]))


@irdl_op_definition
class IAddCarryOp(ExtendedArithmeticOp):
    """Unsigned sum (low bits, carry)."""

    name = "spirv.IAddCarry"


@irdl_op_definition
class ISubBorrowOp(ExtendedArithmeticOp):
    """Unsigned difference (low bits, borrow)."""

    name = "spirv.ISubBorrow"


@irdl_op_definition
class UMulExtendedOp(ExtendedArithmeticOp):
    """Unsigned product of twice the width (low half, high half)."""

    name = "spirv.UMulExtended"


@irdl_op_definition
class SMulExtendedOp(ExtendedArithmeticOp):
    """Signed product of twice the width (low half, high half)."""

    name = "spirv.SMulExtended"


@irdl_op_definition
class VectorTimesScalarOp(SpirvOp):
    """Multiplies every component of a vector by a scalar."""

    name = "spirv.VectorTimesScalar"

    vector = operand_def()
    scalar = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, vector: SSAValue | Operation, scalar: SSAValue | Operation):
        first = SSAValue.get(vector)
        super().__init__(operands=[first, scalar], result_types=[first.type])

    def verify_(self) -> None:
        vector = self.vector.type
        if not is_vector_type(vector):
            fail(self, f"expects its first operand to be a vector, found {vector}")
        check_kind(self, "its vector", vector, "float")
        check_alike(self, "the scalar", self.scalar.type, scalar_of(vector))
        check_alike(self, "its result", self.result.type, vector)


@irdl_op_definition
class DotOp(SpirvOp):
    """Dot product of two vectors of floats."""

    name = "spirv.Dot"

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    traits = traits_def(Pure(), Commutative())

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        left = SSAValue.get(lhs)
        super().__init__(operands=[left, rhs], result_types=[scalar_of(left.type)])

    def verify_(self) -> None:
        lhs = self.lhs.type
        if not is_vector_type(lhs):
            fail(self, f"expects its operands to be vectors, found {lhs}")
        check_kind(self, "its operands", lhs, "any_float")
        check_alike(self, "the second operand", self.rhs.type, lhs)
        check_alike(self, "its result", self.result.type, scalar_of(lhs))


OPS: list[type[Operation]] = [
    IAddOp,
    ISubOp,
    IMulOp,
    SDivOp,
    UDivOp,
    SRemOp,
    SModOp,
    UModOp,
    FAddOp,
    FSubOp,
    FMulOp,
    FDivOp,
    FRemOp,
    FModOp,
    SNegateOp,
    FNegateOp,
    IAddCarryOp,
    ISubBorrowOp,
    UMulExtendedOp,
    SMulExtendedOp,
    VectorTimesScalarOp,
    DotOp,
]
