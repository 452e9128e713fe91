"""Writes float expressions for expansions: each method adds one instruction."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.dialects import spirv
from .function_lowering import FunctionLowering


class FloatExpression:
    """Instructions on one float type, scalar or vector."""

    def __init__(self, fn: FunctionLowering, type_: Attribute) -> None:
        self.fn = fn
        self.type = type_
        self.bool = fn.module.types.bool_like(type_)
        self.bits = fn.module.types.bits_like(type_)

    def constant(self, number: float) -> SSAValue:
        """Returns the constant `number`."""
        return self.fn.constant(self.type, number)

    def call(self, kind: type[Operation], *operands: SSAValue) -> SSAValue:
        """Adds an operation of the float type."""
        return self.fn.emit(kind, operands, self.type)

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a + b"""
        return self.call(spirv.FAddOp, a, b)

    def subtract(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a - b"""
        return self.call(spirv.FSubOp, a, b)

    def multiply(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a * b"""
        return self.call(spirv.FMulOp, a, b)

    def divide(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a / b"""
        return self.call(spirv.FDivOp, a, b)

    def absolute(self, a: SSAValue) -> SSAValue:
        """|a|"""
        return self.call(spirv.GLFAbsOp, a)

    def test(self, kind: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        """Adds a comparison."""
        return self.fn.emit(kind, (a, b), self.bool)

    def less(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a < b, false for NaN"""
        return self.test(spirv.FOrdLessThanOp, a, b)

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """a where the condition holds, else b"""
        return self.call(spirv.SelectOp, condition, a, b)

    def copy_sign(self, magnitude: SSAValue, sign: SSAValue) -> SSAValue:
        """|magnitude| with the sign bit of `sign`"""
        emit, bits, width = self.fn.emit, self.bits, self._width()
        sign_mask = self.fn.constant(bits, -(1 << (width - 1)))
        rest_mask = self.fn.constant(bits, (1 << (width - 1)) - 1)
        first = emit(spirv.BitwiseAndOp, (emit(spirv.BitcastOp, (magnitude,), bits), rest_mask), bits)
        second = emit(spirv.BitwiseAndOp, (emit(spirv.BitcastOp, (sign,), bits), sign_mask), bits)
        return emit(spirv.BitcastOp, (emit(spirv.BitwiseOrOp, (first, second), bits),), self.type)

    def polynomial(self, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
        """c[0] + c[1] x + c[2] x² …, by Horner's rule"""
        result = self.constant(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.add(self.multiply(result, x), self.constant(coefficient))
        return result

    def _width(self) -> int:
        from .cast_handlers import scalar_width

        return scalar_width(self.bits)
