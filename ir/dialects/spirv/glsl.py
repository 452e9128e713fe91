"""Functions of the extended instruction set GLSL.std.450: `spirv.GL.*`.

Sine and its like take 16- and 32-bit floats only.  MLIR 19 lacks those listed in `NEWER_THAN_MLIR_19`.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from .base import (
    BinaryOp,
    SpirvOp,
    TernaryOp,
    UnaryOp,
    check_alike,
    check_kind,
    check_same_count,
    fail,
)
from .types import StructType, scalar_of


@irdl_op_definition
class GLFAbsOp(UnaryOp):
    """Absolute value."""

    name = "spirv.GL.FAbs"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLSAbsOp(UnaryOp):
    """Signed absolute value."""

    name = "spirv.GL.SAbs"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class GLFSignOp(UnaryOp):
    """-1.0, 0.0 or 1.0."""

    name = "spirv.GL.FSign"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLSSignOp(UnaryOp):
    """-1, 0 or 1."""

    name = "spirv.GL.SSign"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class GLRoundOp(UnaryOp):
    """Nearest whole number, halves in a direction of the implementation's choice."""

    name = "spirv.GL.Round"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLRoundEvenOp(UnaryOp):
    """Nearest whole number, halves to even."""

    name = "spirv.GL.RoundEven"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLTruncOp(UnaryOp):
    """Whole number towards zero."""

    name = "spirv.GL.Trunc"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLFloorOp(UnaryOp):
    """Whole number downwards."""

    name = "spirv.GL.Floor"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLCeilOp(UnaryOp):
    """Whole number upwards."""

    name = "spirv.GL.Ceil"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLFractOp(UnaryOp):
    """x - floor(x)."""

    name = "spirv.GL.Fract"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLSqrtOp(UnaryOp):
    """Square root."""

    name = "spirv.GL.Sqrt"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLInverseSqrtOp(UnaryOp):
    """1 / sqrt(x)."""

    name = "spirv.GL.InverseSqrt"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLFindILsbOp(UnaryOp):
    """Position of the lowest one bit, -1 for 0."""

    name = "spirv.GL.FindILsb"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class GLFindSMsbOp(UnaryOp):
    """Position of the highest bit that differs from the sign, -1 for 0 and -1."""

    name = "spirv.GL.FindSMsb"
    KIND: ClassVar[str] = "int32"


@irdl_op_definition
class GLFindUMsbOp(UnaryOp):
    """Position of the highest one bit, -1 for 0."""

    name = "spirv.GL.FindUMsb"
    KIND: ClassVar[str] = "int32"


@irdl_op_definition
class GLSinOp(UnaryOp):
    """Sine."""

    name = "spirv.GL.Sin"
    KIND: ClassVar[str] = "narrow_float"


@irdl_op_definition
class GLCosOp(UnaryOp):
    """Cosine."""

    name = "spirv.GL.Cos"
    KIND: ClassVar[str] = "narrow_float"


@irdl_op_definition
class GLTanOp(UnaryOp):
    """Tangent."""

    name = "spirv.GL.Tan"
    KIND: ClassVar[str] = "narrow_float"


@irdl_op_definition
class GLAsinOp(UnaryOp):
    """Arc sine."""

    name = "spirv.GL.Asin"
    KIND: ClassVar[str] = "narrow_float"


@irdl_op_definition
class GLAcosOp(UnaryOp):
    """Arc cosine."""

    name = "spirv.GL.Acos"
    KIND: ClassVar[str] = "narrow_float"


@irdl_op_definition
class GLAtanOp(UnaryOp):
    """Arc tangent."""

    name = "spirv.GL.Atan"
    KIND: ClassVar[str] = "narrow_float"


@irdl_op_definition
class GLSinhOp(UnaryOp):
    """Hyperbolic sine."""

    name = "spirv.GL.Sinh"
    KIND: ClassVar[str] = "narrow_float"


@irdl_op_definition
class GLCoshOp(UnaryOp):
    """Hyperbolic cosine."""

    name = "spirv.GL.Cosh"
    KIND: ClassVar[str] = "narrow_float"


@irdl_op_definition
class GLTanhOp(UnaryOp):
    """Hyperbolic tangent."""

    name = "spirv.GL.Tanh"
    KIND: ClassVar[str] = "narrow_float"


@irdl_op_definition
class GLAsinhOp(UnaryOp):
    """Inverse hyperbolic sine."""

    name = "spirv.GL.Asinh"
    KIND: ClassVar[str] = "narrow_float"


@irdl_op_definition
class GLAcoshOp(UnaryOp):
    """Inverse hyperbolic cosine."""

    name = "spirv.GL.Acosh"
    KIND: ClassVar[str] = "narrow_float"


@irdl_op_definition
class GLAtanhOp(UnaryOp):
    """Inverse hyperbolic tangent."""

    name = "spirv.GL.Atanh"
    KIND: ClassVar[str] = "narrow_float"


@irdl_op_definition
class GLExpOp(UnaryOp):
    """e to the power of x."""

    name = "spirv.GL.Exp"
    KIND: ClassVar[str] = "narrow_float"


@irdl_op_definition
class GLLogOp(UnaryOp):
    """Natural logarithm."""

    name = "spirv.GL.Log"
    KIND: ClassVar[str] = "narrow_float"


@irdl_op_definition
class GLExp2Op(UnaryOp):
    """2 to the power of x."""

    name = "spirv.GL.Exp2"
    KIND: ClassVar[str] = "narrow_float"


@irdl_op_definition
class GLLog2Op(UnaryOp):
    """Binary logarithm."""

    name = "spirv.GL.Log2"
    KIND: ClassVar[str] = "narrow_float"


@irdl_op_definition
class GLPowOp(BinaryOp):
    """x to the power of y."""

    name = "spirv.GL.Pow"
    KIND: ClassVar[str] = "narrow_float"


@irdl_op_definition
class GLAtan2Op(BinaryOp):
    """Angle of (y, x)."""

    name = "spirv.GL.Atan2"
    KIND: ClassVar[str] = "narrow_float"


@irdl_op_definition
class GLFMinOp(BinaryOp):
    """Minimum; either operand if one is NaN."""

    name = "spirv.GL.FMin"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLUMinOp(BinaryOp):
    """Unsigned minimum."""

    name = "spirv.GL.UMin"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class GLSMinOp(BinaryOp):
    """Signed minimum."""

    name = "spirv.GL.SMin"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class GLFMaxOp(BinaryOp):
    """Maximum; either operand if one is NaN."""

    name = "spirv.GL.FMax"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLUMaxOp(BinaryOp):
    """Unsigned maximum."""

    name = "spirv.GL.UMax"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class GLSMaxOp(BinaryOp):
    """Signed maximum."""

    name = "spirv.GL.SMax"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class GLNMinOp(BinaryOp):
    """Minimum; the other operand if one is NaN."""

    name = "spirv.GL.NMin"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLNMaxOp(BinaryOp):
    """Maximum; the other operand if one is NaN."""

    name = "spirv.GL.NMax"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLStepOp(BinaryOp):
    """0.0 where the second operand is less than the first, else 1.0."""

    name = "spirv.GL.Step"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLCrossOp(BinaryOp):
    """Cross product of two vectors of three components."""

    name = "spirv.GL.Cross"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLFClampOp(TernaryOp):
    """min(max(x, y), z)."""

    name = "spirv.GL.FClamp"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLUClampOp(TernaryOp):
    """Unsigned min(max(x, y), z)."""

    name = "spirv.GL.UClamp"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class GLSClampOp(TernaryOp):
    """Signed min(max(x, y), z)."""

    name = "spirv.GL.SClamp"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class GLNClampOp(TernaryOp):
    """min(max(x, y), z), where NaN yields to the other operand."""

    name = "spirv.GL.NClamp"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLFMixOp(TernaryOp):
    """x * (1 - z) + y * z."""

    name = "spirv.GL.FMix"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLFmaOp(TernaryOp):
    """x * y + z, rounded once or twice."""

    name = "spirv.GL.Fma"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLSmoothStepOp(TernaryOp):
    """Hermite step of z between x and y."""

    name = "spirv.GL.SmoothStep"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLNormalizeOp(UnaryOp):
    """The vector of length 1 with the operand's direction."""

    name = "spirv.GL.Normalize"


@irdl_op_definition
class GLLengthOp(SpirvOp):
    """Euclidean length of a vector."""

    name = "spirv.GL.Length"

    operand = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, operand: SSAValue | Operation):
        value = SSAValue.get(operand)
        super().__init__(operands=[value], result_types=[scalar_of(value.type)])

    def verify_(self) -> None:
        check_kind(self, "its operand", self.operand.type, "float")
        check_alike(self, "its result", self.result.type, scalar_of(self.operand.type))


@irdl_op_definition
class GLLdexpOp(SpirvOp):
    """x times 2 to the power of an integer."""

    name = "spirv.GL.Ldexp"

    x = operand_def()
    exp = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, x: SSAValue | Operation, exp: SSAValue | Operation):
        first = SSAValue.get(x)
        super().__init__(operands=[first, exp], result_types=[first.type])

    def verify_(self) -> None:
        check_kind(self, "its operand", self.x.type, "float")
        check_kind(self, "its exponent", self.exp.type, "integer")
        check_same_count(self, "its exponent", self.exp.type, self.x.type)
        check_alike(self, "its result", self.result.type, self.x.type)


@irdl_op_definition
class GLFrexpStructOp(SpirvOp):
    """Significand in [0.5, 1) and exponent, as a struct of the operand's type and i32."""

    name = "spirv.GL.FrexpStruct"

    operand = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, operand: SSAValue | Operation, result_type: StructType):
        super().__init__(operands=[operand], result_types=[result_type])

    def verify_(self) -> None:
        check_kind(self, "its operand", self.operand.type, "float")
        result = self.result.type
        if not isinstance(result, StructType) or len(result.members) != 2:
            fail(self, f"expects its result to be a struct of two members, found {result}")
        significand, exponent = result.member_types
        check_alike(self, "the significand", significand, self.operand.type)
        check_kind(self, "the exponent", exponent, "integer")
        check_same_count(self, "the exponent", exponent, significand)


OPS: list[type[Operation]] = [
    GLFAbsOp,
    GLSAbsOp,
    GLFSignOp,
    GLSSignOp,
    GLRoundOp,
    GLRoundEvenOp,
    GLTruncOp,
    GLFloorOp,
    GLCeilOp,
    GLFractOp,
    GLSqrtOp,
    GLInverseSqrtOp,
    GLFindILsbOp,
    GLFindSMsbOp,
    GLFindUMsbOp,
    GLSinOp,
    GLCosOp,
    GLTanOp,
    GLAsinOp,
    GLAcosOp,
    GLAtanOp,
    GLSinhOp,
    GLCoshOp,
    GLTanhOp,
    GLAsinhOp,
    GLAcoshOp,
    GLAtanhOp,
    GLExpOp,
    GLLogOp,
    GLExp2Op,
    GLLog2Op,
    GLPowOp,
    GLAtan2Op,
    GLFMinOp,
    GLUMinOp,
    GLSMinOp,
    GLFMaxOp,
    GLUMaxOp,
    GLSMaxOp,
    GLNMinOp,
    GLNMaxOp,
    GLStepOp,
    GLCrossOp,
    GLFClampOp,
    GLUClampOp,
    GLSClampOp,
    GLNClampOp,
    GLFMixOp,
    GLFmaOp,
    GLSmoothStepOp,
    GLNormalizeOp,
    GLLengthOp,
    GLLdexpOp,
    GLFrexpStructOp,
]

NEWER_THAN_MLIR_19: frozenset[str] = frozenset(
    f"spirv.GL.{name}"
    for name in (
        "Trunc",
        "Fract",
        "FindILsb",
        "FindSMsb",
        "Asinh",
        "Acosh",
        "Atanh",
        "Exp2",
        "Log2",
        "Atan2",
        "NMin",
        "NMax",
        "Step",
        "Cross",
        "NClamp",
        "SmoothStep",
        "Normalize",
        "Length",
    )
)
"""Operations that MLIR 19 does not define: it reads them as unknown ones and cannot serialise them."""
