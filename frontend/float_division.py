"""Float ``//`` and ``%`` as Python has them: the remainder is exact, with the sign of the divisor.

``x - floor(x / y) * y`` is wrong where the product rounds: 10.1 % 0.1, say.  So there is one operation for what C's
fmod gives, which has the sign of the dividend,

    rest = arith.remf %x, %y         (`passes/expand_remainders`)

and where that is not the divisor's, the divisor is added.  The quotient is (x - rest) / y, an integer but for two
roundings; so it is exact up to 2**21 in f32 and 2**50 in f64.  A literal divisor that is a power of two needs none of
this, as the product with it does not round.
"""

from __future__ import annotations

import math as host_math

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ..ir.dialects import math
from .conversions import CMPF, convert
from .function_builder import FunctionBuilder
from .ir_types import BOOL, F32, ir_type
from .types import f16
from .values import Scalar

Number = SSAValue | None
_LARGE = 1.0
_SCALE = 2.0**-8
"""Devices may flush the reciprocal of a divisor beyond 2**126 (NVIDIA's do): larger ones than `_LARGE` are scaled."""


def floor_divide(fb: FunctionBuilder, left: Scalar, right: Scalar) -> Scalar:
    """Emits ``left // right``; both of the same float type; by zero as ``left / right``."""
    division = _Division(fb, left, right)
    return convert(fb, Scalar(division.type, division.quotient()), left.type)


def modulo(fb: FunctionBuilder, left: Scalar, right: Scalar) -> Scalar:
    """Emits ``left % right``; both of the same float type; NaN by zero."""
    division = _Division(fb, left, right)
    return convert(fb, Scalar(division.type, division.remainder()), left.type)


def truncated_remainder(fb: FunctionBuilder, left: Scalar, right: Scalar) -> Scalar:
    """Emits ``fmod(left, right)``; both of the same float type; NaN by zero."""
    from ..ir.upstream.arith import RemFOp  # costs a millisecond

    return Scalar(left.type, fb.emit(RemFOp, [fb.ssa(left), fb.ssa(right)], ir_type(left.type)))


class _Division:
    """The pieces that quotient and remainder share; in f32 for f16, whose remainders alone are f16's."""

    def __init__(self, fb: FunctionBuilder, left: Scalar, right: Scalar) -> None:
        self.fb, self.operands = fb, (left, right)
        self.is_half = left.type is f16
        if self.is_half:
            left, right = convert(fb, left, F32), convert(fb, right, F32)
        self.type, self.ir = left.type, ir_type(left.type)
        self.x, self.y = fb.ssa(left), fb.ssa(right)
        self.divisor = right.const

    def quotient(self) -> Number:
        """Returns ``x // y``."""
        if self._is_power_of_two():
            direct = self._direct()
            if self._may_underflow():
                whole = self.fb.emit(math.TruncOp, [direct], self.ir)
                floor = self._one_less(whole, self._rest_of_multiple(whole))
            else:
                floor = self.fb.emit(math.FloorOp, [direct], self.ir)
            return self._select(self._is_finite(self.x), floor, self._constant(host_math.nan))
        return self._floor(self._rest())

    def remainder(self) -> Number:
        """Returns ``x % y``."""
        if not self._is_power_of_two():
            return self._with_sign_of_divisor(self._rest())
        direct = self._direct()
        if self._may_underflow():
            whole = self.fb.emit(math.TruncOp, [direct], self.ir)
            return self._with_sign_of_divisor(self._rest_of_multiple(whole))
        rest = self._rest_of_multiple(self.fb.emit(math.FloorOp, [direct], self.ir))
        if abs(self.divisor or 0.0) < 1.0:  # where the quotient overflows, x is a multiple of the divisor
            overflows = self._compare("oeq", self._magnitude(direct), self._constant(host_math.inf))
            is_multiple = self.fb.emit(arith.AndIOp, [overflows, self._is_finite(self.x)], ir_type(BOOL))
            rest = self._select(is_multiple, self._constant(0.0), rest)
        return self._signed_zero(rest)

    def _may_underflow(self) -> bool:
        """Whether x / y may become 0 that is not, for a divisor that is a power of two."""
        return abs(self.divisor or 0.0) > 1.0

    def _rest_of_multiple(self, number: Number) -> Number:
        """Returns x - number y, for a divisor whose products are exact."""
        return self.fb.emit(
            arith.SubfOp, [self.x, self.fb.emit(arith.MulfOp, [number, self.y], self.ir)], self.ir
        )

    def _with_sign_of_divisor(self, rest: Number) -> Number:
        moved = self.fb.emit(arith.AddfOp, [rest, self.y], self.ir)
        return self._signed_zero(self._select(self._is_on_other_side(rest), moved, rest))

    def _rest(self) -> Number:
        return self.fb.ssa(convert(self.fb, truncated_remainder(self.fb, *self.operands), self.type))

    def _floor(self, rest: Number) -> Number:
        """Returns the quotient, from what fmod gives."""
        number, direct = self._truncated(rest), self._direct()
        # 0.0 has the sign of the quotient that it is of.
        zero = self.fb.emit(math.CopySignOp, [self._constant(0.0), direct], self.ir)
        number = self._select(self._compare("oeq", number, self._constant(0.0)), zero, number)
        floor = self._one_less(number, rest)
        if self.divisor is not None:
            return floor if self.divisor else direct
        return self._select(self._compare("oeq", self.y, self._constant(0.0)), direct, floor)

    def _one_less(self, number: Number, rest: Number) -> Number:
        """Returns a truncated quotient rounded down instead."""
        less = self.fb.emit(arith.SubfOp, [number, self._constant(1.0)], self.ir)
        return self._select(self._is_on_other_side(rest), less, number)

    def _truncated(self, rest: Number) -> Number:
        multiple, y = self.fb.emit(arith.SubfOp, [self.x, rest], self.ir), self.y
        if self.type.bits == 32 and not self.is_half:
            is_large = self._compare("ogt", self._magnitude(y), self._constant(_LARGE))
            scale = self._select(is_large, self._constant(_SCALE), self._constant(1.0))
            multiple, y = (self.fb.emit(arith.MulfOp, [value, scale], self.ir) for value in (multiple, y))
        return self.fb.emit(math.RoundEvenOp, [self.fb.emit(arith.DivfOp, [multiple, y], self.ir)], self.ir)

    def _direct(self) -> Number:
        return self.fb.emit(arith.DivfOp, [self.x, self.y], self.ir)

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
