"""Float ``//`` and ``%`` as Python has them: the remainder is exact, with the sign of the divisor.

``x - floor(x / y) * y`` is wrong where the product rounds: 10.1 % 0.1, say.  Here each product is exact, with or
without contraction: the divisor is split into halves, and the quotient taken in two parts of few bits,

    y = high + low,    k = rint(x / y / 2**b) * 2**b,    x₁ = x - k * high - k * low,    q = rint(x₁ / y), …

so that x - k * y - q * y is exact up to quotients of 2**21 in f32 and 2**50 in f64.  Beyond, and where a product or a
half would leave the range of the type, `math_library` divides as fmod does.  The remainder lies around zero; where its
sign is not the divisor's, the divisor is added.
"""

from __future__ import annotations

import ast
import math as host_math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ..ir.dialects import math
from .conversions import CMPF, convert
from .function_builder import FunctionBuilder
from .ir_types import BOOL, F32, ir_type
from .types import ScalarType, f16, i32, i64
from .values import Scalar, Tuple

Number = SSAValue | None


@dataclass(frozen=True, slots=True)
class _Format:
    """How a type is split."""

    bits: ScalarType
    """Integers of its width."""
    low_bits: int
    """Bits of the significand that are left out of the high half."""
    part_bits: int
    """Bits of one part of the quotient: with those of a half they fit into a significand."""
    host: Callable[[float], np.floating]

    def high(self, value: float) -> float:
        """Returns the high half of a number."""
        number = np.asarray(self.host(value))
        bits = number.view(f"u{number.itemsize}")
        return float((bits >> self.low_bits << self.low_bits).astype(bits.dtype).view(number.dtype))


_FORMATS = {32: _Format(i32, 12, 11, np.float32), 64: _Format(i64, 27, 25, np.float64)}


def floor_divide(fb: FunctionBuilder, left: Scalar, right: Scalar, node: ast.AST) -> Scalar:
    """Emits ``left // right``; both of the same float type; by zero as ``left / right``."""
    if left.type is f16:
        return convert(fb, floor_divide(fb, convert(fb, left, F32), convert(fb, right, F32), node), f16)
    return Scalar(left.type, _Division(fb, left, right, node).quotient())


def modulo(fb: FunctionBuilder, left: Scalar, right: Scalar, node: ast.AST) -> Scalar:
    """Emits ``left % right``; both of the same float type; NaN by zero."""
    if left.type is f16:
        return convert(fb, modulo(fb, convert(fb, left, F32), convert(fb, right, F32), node), f16)
    return Scalar(left.type, _Division(fb, left, right, node).remainder())


class _Division:
    """The pieces that quotient and remainder share."""

    def __init__(self, fb: FunctionBuilder, left: Scalar, right: Scalar, node: ast.AST) -> None:
        self.fb, self.node, self.type, self.ir = fb, node, left.type, ir_type(left.type)
        self.x, self.y = fb.ssa(left), fb.ssa(right)
        self.divisor = right.const
        self.format = _FORMATS[left.type.bits]
        self.direct = fb.emit(arith.DivfOp, [self.x, self.y], self.ir)

    def quotient(self) -> Number:
        """Returns ``x // y``."""
        if self._is_power_of_two():
            floor = self.fb.emit(math.FloorOp, [self.direct], self.ir)
            return self._select(self._is_finite(self.x), floor, self._constant(host_math.nan))
        number, rest = self._everywhere(*self._nearest())
        less = self.fb.emit(arith.SubfOp, [number, self._constant(1.0)], self.ir)
        floor = self._select(self._is_on_other_side(rest), less, number)
        if self.divisor is not None:
            return floor if self.divisor else self.direct
        return self._select(self._compare("oeq", self.y, self._constant(0.0)), self.direct, floor)

    def remainder(self) -> Number:
        """Returns ``x % y``."""
        if self._is_power_of_two():  # a product with it is exact
            rest = self._less(self.x, self.fb.emit(math.FloorOp, [self.direct], self.ir), self.y)
            if abs(self.divisor or 0.0) < 1.0:  # a quotient that overflows is of a multiple of the divisor
                overflows = self._compare("oeq", self._magnitude(self.direct), self._constant(host_math.inf))
                is_multiple = self.fb.emit(arith.AndIOp, [overflows, self._is_finite(self.x)], ir_type(BOOL))
                rest = self._select(is_multiple, self._constant(0.0), rest)
            return self._signed_zero(rest)
        _, rest = self._everywhere(*self._nearest())
        moved = self.fb.emit(arith.AddfOp, [rest, self.y], self.ir)
        return self._signed_zero(self._select(self._is_on_other_side(rest), moved, rest))

    def _nearest(self) -> tuple[Number, Number]:
        """Returns the integer nearest to x / y, and x less that many y."""
        high, low = self._halves()
        unit = float(1 << self.format.part_bits)
        scaled = self.fb.emit(arith.MulfOp, [self.direct, self._constant(1.0 / unit)], self.ir)
        first = self.fb.emit(arith.MulfOp, [self._rounded(scaled), self._constant(unit)], self.ir)
        rest = self._less(self._less(self.x, first, high), first, low)
        second = self._rounded(self.fb.emit(arith.DivfOp, [rest, self.y], self.ir))
        rest = self._less(self._less(rest, second, high), second, low)
        if self.divisor is None or host_math.isinf(self.divisor):
            # No number is further from zero than infinity: nothing is taken away, and x stays.
            is_finite = self._is_finite(self.x)
            is_infinite = self._compare("oeq", self._magnitude(self.y), self._constant(host_math.inf))
            stays = self.fb.emit(arith.AndIOp, [is_finite, is_infinite], ir_type(BOOL))
            rest = self._select(stays, self.x, rest)
            second = self._select(stays, self._constant(0.0), second)
        both = self.fb.emit(arith.AddfOp, [first, second], self.ir)
        # -0.0 + 0.0 would lose the sign of -0.0 // 1.0.
        return self._select(self._compare("oeq", second, self._constant(0.0)), first, both), rest

    def _everywhere(self, number: Number, rest: Number) -> tuple[Number, Number]:
        """Returns what `_nearest` gave where that is exact, else what the library computes."""
        from .math_library_calls import call_library  # which calls as expressions do

        values = [Scalar(self.type, ssa) for ssa in (self.x, self.y, self.direct, number, rest)]
        result = call_library(self.fb, "exact_division", values, self.node)
        assert isinstance(result, Tuple)
        number, rest = (self.fb.ssa(part) for part in result.items if isinstance(part, Scalar))
        return number, rest

    def _halves(self) -> tuple[Number, Number]:
        fb, form = self.fb, self.format
        if self.divisor is not None:
            value = float(form.host(self.divisor))
            high = form.high(value)
            return self._constant(high), self._constant(value - high if host_math.isfinite(value) else 0.0)
        bits_type = ir_type(form.bits)
        bits = fb.emit(arith.BitcastOp, [self.y], bits_type)
        kept = fb.emit(arith.AndIOp, [bits, fb.constant(-1 << form.low_bits, form.bits)], bits_type)
        high = fb.emit(arith.BitcastOp, [kept], self.ir)
        return high, fb.emit(arith.SubfOp, [self.y, high], self.ir)

    def _is_power_of_two(self) -> bool:
        if not self.divisor or not host_math.isfinite(self.divisor):
            return False
        return abs(host_math.frexp(self.divisor)[0]) == 0.5

    def _is_on_other_side(self, rest: Number) -> Number:
        """Returns whether a remainder is not zero and has not the divisor's sign."""
        zero = self._constant(0.0)
        above, below = self._compare("ogt", rest, zero), self._compare("olt", rest, zero)
        if self.divisor is not None:
            return below if self.divisor > 0 else above
        return self._select(self._compare("olt", self.y, zero), above, below)

    def _signed_zero(self, rest: Number) -> Number:
        """Gives a remainder of zero the divisor's sign."""
        zero, negative = self._constant(0.0), self._constant(-0.0)
        is_zero = self._compare("oeq", rest, zero)
        if self.divisor is not None:
            return self._select(is_zero, zero if self.divisor > 0 else negative, rest)
        signed = self._select(self._compare("olt", self.y, zero), negative, zero)
        return self._select(is_zero, signed, rest)

    def _less(self, value: Number, factor: Number, part: Number) -> Number:
        product = self.fb.emit(arith.MulfOp, [factor, part], self.ir)
        return self.fb.emit(arith.SubfOp, [value, product], self.ir)

    def _rounded(self, value: Number) -> Number:
        return self.fb.emit(math.RoundEvenOp, [value], self.ir)

    def _is_finite(self, value: Number) -> Number:
        return self._compare("olt", self._magnitude(value), self._constant(host_math.inf))

    def _magnitude(self, value: Number) -> Number:
        return self.fb.emit(math.AbsFOp, [value], self.ir)

    def _constant(self, value: float) -> Number:
        return self.fb.constant(value, self.type)

    def _compare(self, predicate: str, left: Number, right: Number) -> Number:
        return self.fb.emit(arith.CmpfOp, [left, right], ir_type(BOOL), CMPF[predicate])

    def _select(self, test: Number, yes: Number, no: Number) -> Number:
        assert yes is not None
        return self.fb.emit(arith.SelectOp, [test, yes, no], yes.type)
