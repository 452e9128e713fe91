"""Writes float expressions for expansions: each method adds one instruction."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import Float32Type, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.dialects import spirv
from .function_lowering import FunctionLowering
from .types import scalar_of, with_scalar


class FloatExpression:
    """Instructions on one float type, scalar or vector."""

    def __init__(self, fn: FunctionLowering, type_: Attribute) -> None:
        self.fn = fn
        self.type = type_
        self.bool = fn.module.types.bool_like(type_)
        self.word = fn.module.types(with_scalar(type_, i32))
        self.has_words = isinstance(scalar_of(type_), Float32Type)

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
        """|magnitude| with the sign of `sign`"""
        if self.has_words:
            sign_mask, rest_mask = (
                self.fn.constant(self.word, -(1 << 31)),
                self.fn.constant(self.word, (1 << 31) - 1),
            )
            first = self.fn.emit(spirv.BitwiseAndOp, (self.sign_word(magnitude), rest_mask), self.word)
            second = self.fn.emit(spirv.BitwiseAndOp, (self.sign_word(sign), sign_mask), self.word)
            return self.call(spirv.BitcastOp, self.fn.emit(spirv.BitwiseOrOp, (first, second), self.word))
        return self.signed(magnitude, self.sign_word(sign))

    def sign_word(self, value: SSAValue) -> SSAValue:
        """An integer of 32 bits that is negative where `value` is: devices with f64 or f16 may lack other integers"""
        if not self.has_words:
            value = self.fn.emit(
                spirv.FConvertOp, (value,), self.fn.module.types(with_scalar(self.type, f32))
            )
        return self.fn.emit(spirv.BitcastOp, (value,), self.word)

    def signed(self, magnitude: SSAValue, word: SSAValue) -> SSAValue:
        """|magnitude|, negative where `word` is"""
        is_negative = self.fn.emit(spirv.SLessThanOp, (word, self.fn.constant(self.word, 0)), self.bool)
        known = self.fn.constant_number(magnitude)
        # Mesa 22.3 takes -0.0 for a number that is not negative, and leaves out what takes its sign.
        size = self.absolute(magnitude) if known is None else self.constant(abs(known))
        return self.select(is_negative, self.call(spirv.FNegateOp, size), size)

    def polynomial(self, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
        """c[0] + c[1] x + c[2] x² …, by Horner's rule"""
        result = self.constant(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.add(self.multiply(result, x), self.constant(coefficient))
        return result
