"""Numbers taken apart and packed by the extended instruction set GLSL.std.450; MLIR 19 has Ldexp and FrexpStruct."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import VectorType, f32, f64, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from .base import SpirvOp, check_alike, check_kind, check_same, check_same_count, fail
from .types import PointerType, StructType


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
class GLFrexpOp(SplittingOp):
    """Significand in [0.5, 1); the exponent is written."""

    name = "spirv.GL.Frexp"

    def verify_(self) -> None:
        self.check_written("integer")


@irdl_op_definition
class GLModfOp(SplittingOp):
    """Fraction; the whole part is written."""

    name = "spirv.GL.Modf"

    def verify_(self) -> None:
        self.check_written("float")


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
    GLLdexpOp,
    GLFrexpStructOp,
    GLModfStructOp,
    GLFrexpOp,
    GLModfOp,
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
