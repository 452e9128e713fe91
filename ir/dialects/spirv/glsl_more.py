"""Functions of GLSL.std.450 that no kernel of ours needs, but other compilers use; none is in MLIR 19.

Left out: IMix, which the specification withdrew, and InterpolateAt…, which are for fragments.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import VectorType, f32, f64, i32
from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from .base import (
    BinaryOp,
    SpirvOp,
    TernaryOp,
    UnaryOp,
    check_alike,
    check_kind,
    check_same,
    check_same_count,
    fail,
)
from .matrix import number_of, shape
from .types import MatrixType, PointerType, StructType, scalar_of


class PackingOp(SpirvOp):
    """Numbers as bits of one wider number, or back."""

    FROM: ClassVar[Attribute]
    TO: ClassVar[Attribute]

    operand = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        check_alike(self, "its operand", self.operand.type, self.FROM)
        check_alike(self, "its result", self.result.type, self.TO)


@irdl_op_definition
class GLDistanceOp(SpirvOp):
    """Euclidean distance of two vectors."""

    name = "spirv.GL.Distance"

    p0 = operand_def()
    p1 = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        check_kind(self, "its operands", self.p0.type, "float")
        check_same(self, "the second operand", self.p1.type, self.p0.type)
        check_same(self, "its result", self.result.type, scalar_of(self.p0.type))


@irdl_op_definition
class GLFaceForwardOp(TernaryOp):
    """x where the dot product of z and y is negative, else -x."""

    name = "spirv.GL.FaceForward"


@irdl_op_definition
class GLReflectOp(BinaryOp):
    """The direction that a surface with a normal reflects into."""

    name = "spirv.GL.Reflect"
    KIND: ClassVar[str] = "float"


@irdl_op_definition
class GLRefractOp(SpirvOp):
    """The direction that a surface refracts into, by the ratio `eta` of refraction indices."""

    name = "spirv.GL.Refract"

    incident = operand_def()
    normal = operand_def()
    eta = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        check_kind(self, "its operands", self.incident.type, "float")
        check_same(self, "the normal", self.normal.type, self.incident.type)
        check_kind(self, "eta", self.eta.type, "float")
        check_same(self, "its result", self.result.type, self.incident.type)


@irdl_op_definition
class GLDeterminantOp(SpirvOp):
    """Determinant of a square matrix."""

    name = "spirv.GL.Determinant"

    matrix = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        _check_square(self, self.matrix.type)
        check_same(self, "its result", self.result.type, number_of(self.matrix.type))


@irdl_op_definition
class GLMatrixInverseOp(SpirvOp):
    """Inverse of a square matrix."""

    name = "spirv.GL.MatrixInverse"

    matrix = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        _check_square(self, self.matrix.type)
        check_same(self, "its result", self.result.type, self.matrix.type)


def _check_square(op: Operation, type_: Attribute) -> None:
    rows, columns = shape(type_)
    if not isinstance(type_, MatrixType) or rows != columns:
        fail(op, f"expects a square matrix, found {type_}")


@irdl_op_definition
class GLModfStructOp(SpirvOp):
    """Fraction and whole part, as a struct of two values of the operand's type."""

    name = "spirv.GL.ModfStruct"

    operand = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        operand = self.operand.type
        check_kind(self, "its operand", operand, "float")
        result = self.result.type
        if not isinstance(result, StructType) or result.member_types != (operand, operand):
            fail(self, f"gives a struct of two {operand}, found {result}")


class SplittingOp(SpirvOp):
    """One part is the result, the other is written through a pointer."""

    operand = operand_def()
    pointer = operand_def()
    result = result_def()

    def check_written(self, kind: str) -> None:
        """Checks operand and result, and that the pointer is to as many numbers of `kind`."""
        operand, pointer = self.operand.type, self.pointer.type
        check_kind(self, "its operand", operand, "float")
        check_same(self, "its result", self.result.type, operand)
        if not isinstance(pointer, PointerType):
            fail(self, f"expects a !spirv.ptr, found {pointer}")
        check_kind(self, "what its pointer points to", pointer.pointee, kind)
        check_same_count(self, "what its pointer points to", pointer.pointee, operand)


@irdl_op_definition
class GLModfOp(SplittingOp):
    """Fraction; the whole part is written."""

    name = "spirv.GL.Modf"

    def verify_(self) -> None:
        self.check_written("float")


@irdl_op_definition
class GLFrexpOp(SplittingOp):
    """Significand in [0.5, 1); the exponent is written."""

    name = "spirv.GL.Frexp"

    def verify_(self) -> None:
        self.check_written("integer")


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


@irdl_op_definition
class GLPackSnorm4x8Op(PackingOp):
    """From vector<4xf32> to i32."""

    name = "spirv.GL.PackSnorm4x8"
    FROM: ClassVar[Attribute] = VectorType(f32, [4])
    TO: ClassVar[Attribute] = i32


@irdl_op_definition
class GLUnpackSnorm4x8Op(PackingOp):
    """From i32 to vector<4xf32>."""

    name = "spirv.GL.UnpackSnorm4x8"
    FROM: ClassVar[Attribute] = i32
    TO: ClassVar[Attribute] = VectorType(f32, [4])


@irdl_op_definition
class GLPackUnorm4x8Op(PackingOp):
    """From vector<4xf32> to i32."""

    name = "spirv.GL.PackUnorm4x8"
    FROM: ClassVar[Attribute] = VectorType(f32, [4])
    TO: ClassVar[Attribute] = i32


@irdl_op_definition
class GLUnpackUnorm4x8Op(PackingOp):
    """From i32 to vector<4xf32>."""

    name = "spirv.GL.UnpackUnorm4x8"
    FROM: ClassVar[Attribute] = i32
    TO: ClassVar[Attribute] = VectorType(f32, [4])


@irdl_op_definition
class GLPackSnorm2x16Op(PackingOp):
    """From vector<2xf32> to i32."""

    name = "spirv.GL.PackSnorm2x16"
    FROM: ClassVar[Attribute] = VectorType(f32, [2])
    TO: ClassVar[Attribute] = i32


@irdl_op_definition
class GLUnpackSnorm2x16Op(PackingOp):
    """From i32 to vector<2xf32>."""

    name = "spirv.GL.UnpackSnorm2x16"
    FROM: ClassVar[Attribute] = i32
    TO: ClassVar[Attribute] = VectorType(f32, [2])


@irdl_op_definition
class GLPackUnorm2x16Op(PackingOp):
    """From vector<2xf32> to i32."""

    name = "spirv.GL.PackUnorm2x16"
    FROM: ClassVar[Attribute] = VectorType(f32, [2])
    TO: ClassVar[Attribute] = i32


@irdl_op_definition
class GLUnpackUnorm2x16Op(PackingOp):
    """From i32 to vector<2xf32>."""

    name = "spirv.GL.UnpackUnorm2x16"
    FROM: ClassVar[Attribute] = i32
    TO: ClassVar[Attribute] = VectorType(f32, [2])


@irdl_op_definition
class GLPackHalf2x16Op(PackingOp):
    """From vector<2xf32> to i32."""

    name = "spirv.GL.PackHalf2x16"
    FROM: ClassVar[Attribute] = VectorType(f32, [2])
    TO: ClassVar[Attribute] = i32


@irdl_op_definition
class GLUnpackHalf2x16Op(PackingOp):
    """From i32 to vector<2xf32>."""

    name = "spirv.GL.UnpackHalf2x16"
    FROM: ClassVar[Attribute] = i32
    TO: ClassVar[Attribute] = VectorType(f32, [2])


@irdl_op_definition
class GLPackDouble2x32Op(PackingOp):
    """From vector<2xi32> to f64."""

    name = "spirv.GL.PackDouble2x32"
    FROM: ClassVar[Attribute] = VectorType(i32, [2])
    TO: ClassVar[Attribute] = f64


@irdl_op_definition
class GLUnpackDouble2x32Op(PackingOp):
    """From f64 to vector<2xi32>."""

    name = "spirv.GL.UnpackDouble2x32"
    FROM: ClassVar[Attribute] = f64
    TO: ClassVar[Attribute] = VectorType(i32, [2])


OPS: list[type[Operation]] = [
    GLDistanceOp,
    GLFaceForwardOp,
    GLReflectOp,
    GLRefractOp,
    GLDeterminantOp,
    GLMatrixInverseOp,
    GLModfStructOp,
    GLModfOp,
    GLFrexpOp,
    GLRadiansOp,
    GLDegreesOp,
    GLPackSnorm4x8Op,
    GLUnpackSnorm4x8Op,
    GLPackUnorm4x8Op,
    GLUnpackUnorm4x8Op,
    GLPackSnorm2x16Op,
    GLUnpackSnorm2x16Op,
    GLPackUnorm2x16Op,
    GLUnpackUnorm2x16Op,
    GLPackHalf2x16Op,
    GLUnpackHalf2x16Op,
    GLPackDouble2x32Op,
    GLUnpackDouble2x32Op,
]
