"""Bit manipulation (SPIR-V 1.6 §3.52.14)."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Commutative, Pure

from .base import BinaryOp, SpirvOp, UnaryOp, check_alike, check_kind, check_same_count, check_scalar


class ShiftOp(BinaryOp):
    """Shifts `lhs` by `rhs` bits; the count may be an integer of another width."""

    def verify_(self) -> None:
        lhs = self.lhs.type
        check_kind(self, "its base", lhs, "integer")
        check_kind(self, "its shift count", self.rhs.type, "integer")
        check_same_count(self, "its shift count", self.rhs.type, lhs)
        check_alike(self, "its result", self.result.type, lhs)


@irdl_op_definition
class BitwiseAndOp(BinaryOp):
    """Bitwise and."""

    name = "spirv.BitwiseAnd"
    KIND: ClassVar[str] = "integer"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class BitwiseOrOp(BinaryOp):
    """Bitwise or."""

    name = "spirv.BitwiseOr"
    KIND: ClassVar[str] = "integer"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class BitwiseXorOp(BinaryOp):
    """Bitwise exclusive or."""

    name = "spirv.BitwiseXor"
    KIND: ClassVar[str] = "integer"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class NotOp(UnaryOp):
    """Bitwise complement."""

    name = "spirv.Not"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class BitReverseOp(UnaryOp):
    """Bits in reverse order; 32-bit integers in Vulkan."""

    name = "spirv.BitReverse"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class BitCountOp(UnaryOp):
    """Number of one bits; 32-bit integers in Vulkan."""

    name = "spirv.BitCount"
    KIND: ClassVar[str] = "integer"


@irdl_op_definition
class ShiftLeftLogicalOp(ShiftOp):
    """Left shift; undefined if the count is the width or more."""

    name = "spirv.ShiftLeftLogical"


@irdl_op_definition
class ShiftRightLogicalOp(ShiftOp):
    """Right shift that fills with zeros."""

    name = "spirv.ShiftRightLogical"


@irdl_op_definition
class ShiftRightArithmeticOp(ShiftOp):
    """Right shift that fills with the sign."""

    name = "spirv.ShiftRightArithmetic"


class BitFieldExtractOp(SpirvOp):
    """`count` bits of `base` from bit `offset`."""

    base = operand_def()
    offset = operand_def()
    count = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, base: SSAValue | Operation, offset: SSAValue | Operation, count: SSAValue | Operation):
        first = SSAValue.get(base)
        super().__init__(operands=[first, offset, count], result_types=[first.type])

    def verify_(self) -> None:
        check_kind(self, "its base", self.base.type, "integer")
        check_scalar(self, "its offset", self.offset.type, "integer")
        check_scalar(self, "its count", self.count.type, "integer")
        check_alike(self, "its result", self.result.type, self.base.type)


@irdl_op_definition
class BitFieldSExtractOp(BitFieldExtractOp):
    """Extracts a bit field and extends its sign."""

    name = "spirv.BitFieldSExtract"


@irdl_op_definition
class BitFieldUExtractOp(BitFieldExtractOp):
    """Extracts a bit field and fills with zeros."""

    name = "spirv.BitFieldUExtract"


@irdl_op_definition
class BitFieldInsertOp(SpirvOp):
    """`base` with `count` bits from bit `offset` replaced by the low bits of `insert`."""

    name = "spirv.BitFieldInsert"

    base = operand_def()
    insert = operand_def()
    offset = operand_def()
    count = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    def __init__(
        self,
        base: SSAValue | Operation,
        insert: SSAValue | Operation,
        offset: SSAValue | Operation,
        count: SSAValue | Operation,
    ):
        first = SSAValue.get(base)
        super().__init__(operands=[first, insert, offset, count], result_types=[first.type])

    def verify_(self) -> None:
        base = self.base.type
        check_kind(self, "its base", base, "integer")
        check_alike(self, "the inserted bits", self.insert.type, base)
        check_scalar(self, "its offset", self.offset.type, "integer")
        check_scalar(self, "its count", self.count.type, "integer")
        check_alike(self, "its result", self.result.type, base)


OPS: list[type[Operation]] = [
    BitwiseAndOp,
    BitwiseOrOp,
    BitwiseXorOp,
    NotOp,
    BitReverseOp,
    BitCountOp,
    ShiftLeftLogicalOp,
    ShiftRightLogicalOp,
    ShiftRightArithmeticOp,
    BitFieldSExtractOp,
    BitFieldUExtractOp,
    BitFieldInsertOp,
]
