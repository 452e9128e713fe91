"""Functions of vectors and matrices of the extended instruction set GLSL.std.450; MLIR 19 has none of them.

Kernels of Python have none either, whose vectors are scalars in the compiler: they are for other compilers' modules.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from .base import BinaryOp, SpirvOp, TernaryOp, UnaryOp, check_alike, check_kind, check_same, fail
from .matrix import number_of, shape
from .matrix_types import MatrixType
from .scalars import scalar_of


@irdl_op_definition
class GLCrossOp(BinaryOp):
    """Cross product of two vectors of three components."""

    name = "spirv.GL.Cross"
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


OPS: list[type[Operation]] = [
    GLCrossOp,
    GLNormalizeOp,
    GLLengthOp,
    GLDistanceOp,
    GLFaceForwardOp,
    GLReflectOp,
    GLRefractOp,
    GLDeterminantOp,
    GLMatrixInverseOp,
]
