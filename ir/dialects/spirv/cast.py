"""Conversions (SPIR-V 1.6 §3.52.11)."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from .base import ConversionOp, SpirvOp, UnaryOp, check_scalar, fail
from .enums import StorageClass
from .scalars import bit_width, is_float, is_integer, scalar_of
from .types import PointerType


@irdl_op_definition
class ConvertFToSOp(ConversionOp):
    """Float to signed integer, towards zero; undefined out of range."""

    name = "spirv.ConvertFToS"
    FROM_KIND: ClassVar[str] = "any_float"


@irdl_op_definition
class ConvertFToUOp(ConversionOp):
    """Float to unsigned integer, towards zero; undefined out of range."""

    name = "spirv.ConvertFToU"
    FROM_KIND: ClassVar[str] = "any_float"


@irdl_op_definition
class ConvertSToFOp(ConversionOp):
    """Signed integer to float."""

    name = "spirv.ConvertSToF"
    TO_KIND: ClassVar[str] = "any_float"


@irdl_op_definition
class ConvertUToFOp(ConversionOp):
    """Unsigned integer to float."""

    name = "spirv.ConvertUToF"
    TO_KIND: ClassVar[str] = "any_float"


@irdl_op_definition
class SConvertOp(ConversionOp):
    """Signed integer to another width: truncates or extends the sign."""

    name = "spirv.SConvert"
    CHANGES_WIDTH: ClassVar[bool] = True


@irdl_op_definition
class UConvertOp(ConversionOp):
    """Unsigned integer to another width: truncates or fills with zeros."""

    name = "spirv.UConvert"
    CHANGES_WIDTH: ClassVar[bool] = True


@irdl_op_definition
class FConvertOp(ConversionOp):
    """Float to another floating-point type."""

    name = "spirv.FConvert"
    FROM_KIND: ClassVar[str] = "any_float"
    TO_KIND: ClassVar[str] = "any_float"
    CHANGES_WIDTH: ClassVar[bool] = True


@irdl_op_definition
class BitcastOp(SpirvOp):
    """The same bits as another type of equally many bits."""

    name = "spirv.Bitcast"

    operand = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, operand: SSAValue | Operation, result_type: Attribute):
        super().__init__(operands=[operand], result_types=[result_type])

    def verify_(self) -> None:
        source, target = self.operand.type, self.result.type
        if isinstance(source, PointerType) and isinstance(target, PointerType):
            return
        for what, type_ in (("operand", source), ("result", target)):
            if not (_is_address(type_) or is_integer(scalar_of(type_)) or is_float(scalar_of(type_))):
                fail(
                    self,
                    f"expects its {what} to be a number, a vector of numbers or a pointer to physical storage, "
                    f"found {type_}",
                )
        if source == target:
            fail(self, f"expects two different types, found {source} twice")
        if _bits(source) != _bits(target):
            fail(
                self,
                f"expects equally many bits, found {_bits(source)} in {source} and {_bits(target)} in {target}",
            )


def _is_address(type_: Attribute) -> bool:
    return isinstance(type_, PointerType) and type_.storage_class.data is StorageClass.PhysicalStorageBuffer


def _bits(type_: Attribute) -> int:
    return 64 if _is_address(type_) else bit_width(type_)


@irdl_op_definition
class ConvertUToPtrOp(SpirvOp):
    """A 64-bit address as a pointer into physical storage."""

    name = "spirv.ConvertUToPtr"

    operand = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, operand: SSAValue | Operation, result_type: PointerType):
        super().__init__(operands=[operand], result_types=[result_type])

    def verify_(self) -> None:
        check_scalar(self, "its operand", self.operand.type, "integer")
        _check_physical(self, "its result", self.result.type)


@irdl_op_definition
class ConvertPtrToUOp(SpirvOp):
    """A pointer into physical storage as a 64-bit address."""

    name = "spirv.ConvertPtrToU"

    operand = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, operand: SSAValue | Operation, result_type: Attribute):
        super().__init__(operands=[operand], result_types=[result_type])

    def verify_(self) -> None:
        _check_physical(self, "its operand", self.operand.type)
        check_scalar(self, "its result", self.result.type, "integer")


def _check_physical(op: Operation, what: str, type_: Attribute) -> None:
    if not isinstance(type_, PointerType) or type_.storage_class.data != StorageClass.PhysicalStorageBuffer:
        fail(op, f"expects {what} to be a pointer to PhysicalStorageBuffer, found {type_}")


@irdl_op_definition
class QuantizeToF16Op(UnaryOp):
    """The nearest value that 16 bits can hold, as f32; not in upstream MLIR."""

    name = "spirv.QuantizeToF16"

    def verify_(self) -> None:
        super().verify_()
        if not isinstance(scalar_of(self.operand.type), Float32Type):
            fail(self, f"expects f32 or a vector of it, found {self.operand.type}")


OPS: list[type[Operation]] = [
    QuantizeToF16Op,
    ConvertFToSOp,
    ConvertFToUOp,
    ConvertSToFOp,
    ConvertUToFOp,
    SConvertOp,
    UConvertOp,
    FConvertOp,
    BitcastOp,
    ConvertUToPtrOp,
    ConvertPtrToUOp,
]
