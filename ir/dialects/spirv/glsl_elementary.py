"""Elementary functions of the extended instruction set GLSL.std.450: angles, powers, exponentials, logarithms.

They take floats of 16 and 32 bits only.  MLIR 19 lacks Asinh, Acosh, Atanh, Exp2, Log2, Atan2, Radians and Degrees.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition

from .base import BinaryOp, UnaryOp


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
class GLAtan2Op(BinaryOp):
    """Angle of (y, x)."""

    name = "spirv.GL.Atan2"
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
class GLRadiansOp(UnaryOp):
    """Degrees to radians."""

    name = "spirv.GL.Radians"
    KIND: ClassVar[str] = "narrow_float"


@irdl_op_definition
class GLDegreesOp(UnaryOp):
    """Radians to degrees."""

    name = "spirv.GL.Degrees"
    KIND: ClassVar[str] = "narrow_float"


OPS: list[type[Operation]] = [
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
    GLAtan2Op,
    GLExpOp,
    GLLogOp,
    GLExp2Op,
    GLLog2Op,
    GLPowOp,
    GLRadiansOp,
    GLDegreesOp,
]
