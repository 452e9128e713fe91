"""Arithmetic of the extended instruction set GLSL.std.450: signs, rounding, roots, bits, bounds and mixtures.

MLIR 19 lacks Trunc, Fract, FindILsb, FindSMsb, NMin, NMax, NClamp, Step and SmoothStep; IMix is left out, which the
specification withdrew.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition

from .base import BinaryOp, TernaryOp, UnaryOp


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
class GLStepOp(BinaryOp):
    """0.0 where the second operand is less than the first, else 1.0."""

    name = "spirv.GL.Step"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLSmoothStepOp(TernaryOp):
    """Hermite step of z between x and y."""

    name = "spirv.GL.SmoothStep"
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
    GLFMinOp,
    GLUMinOp,
    GLSMinOp,
    GLFMaxOp,
    GLUMaxOp,
    GLSMaxOp,
    GLNMinOp,
    GLNMaxOp,
    GLFClampOp,
    GLUClampOp,
    GLSClampOp,
    GLNClampOp,
    GLStepOp,
    GLSmoothStepOp,
    GLFMixOp,
    GLFmaOp,
]
