"""Integer ``//`` and ``%`` that floor, give 0 by zero, wrap, and never trap.

SPIR-V leaves OpSDiv by zero and of the smallest integer by -1 undefined, and Vulkan defines OpSRem and OpSMod for
operands that are not negative only (before VK_KHR_maintenance8).  So the divisor is replaced by 1 where it would
hurt, and the remainder is computed from the quotient.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from .checks import check_divisor
from .conversions import CMPI
from .function_builder import FunctionBuilder
from .ir_types import BOOL, ir_type
from .types import ScalarType
from .values import Scalar


def floor_divide(fb: FunctionBuilder, left: Scalar, right: Scalar) -> SSAValue | None:
    """Emits ``left // right``; both of the same integer type."""
    check_divisor(fb, left, right)
    return _Division(fb, left, right).quotient()


def modulo(fb: FunctionBuilder, left: Scalar, right: Scalar) -> SSAValue | None:
    """Emits ``left % right``, which has the sign of `right`; both of the same integer type."""
    from .neighbour_remainders import neighbour_remainder  # few kernels have remainders

    check_divisor(fb, left, right)
    return neighbour_remainder(fb, left, right, lambda dividend: _Division(fb, dividend, right).remainder())


class _Division:
    """The pieces that quotient and remainder share."""

    def __init__(self, fb: FunctionBuilder, left: Scalar, right: Scalar) -> None:
        self.fb, self.left, self.right = fb, left, right
        self.type: ScalarType = left.type
        self.ir = ir_type(left.type)
        self.is_unsigned = not self.type.is_signed or (left.is_nonnegative and right.is_nonnegative)

    def quotient(self) -> SSAValue | None:
        fb, divisor = self.fb, self.right.const
        if divisor == 0:
            return fb.constant(0, self.type)
        if divisor is not None and divisor > 0 and int(divisor).bit_count() == 1:
            shift = fb.constant(int(divisor).bit_length() - 1, self.type)
            op = arith.ShRUIOp if self.is_unsigned else arith.ShRSIOp
            return fb.emit(op, [fb.ssa(self.left), shift], self.ir)
        safe = self._safe_divisor()
        quotient = self._truncated_quotient(safe)
        if not self.is_unsigned:
            needs_floor = self._needs_floor(self._truncated_remainder(quotient, safe), safe)
            less = fb.emit(arith.SubiOp, [quotient, fb.constant(1, self.type)], self.ir)
            quotient = fb.emit(arith.SelectOp, [needs_floor, less, quotient], self.ir)
        if divisor is not None or self._is_positive(self.right):
            return quotient
        return fb.emit(arith.SelectOp, [self._is_zero(), fb.constant(0, self.type), quotient], self.ir)

    def remainder(self) -> SSAValue | None:
        fb, divisor = self.fb, self.right.const
        if divisor in (0, 1):
            return fb.constant(0, self.type)
        if divisor is not None and divisor > 0 and int(divisor).bit_count() == 1:
            mask = fb.constant(int(divisor) - 1, self.type)
            return fb.emit(arith.AndIOp, [fb.ssa(self.left), mask], self.ir)
        safe = self._safe_divisor()  # 1 where the divisor is 0: the remainder is 0
        if self.is_unsigned:
            return fb.emit(arith.RemUIOp, [fb.ssa(self.left), safe], self.ir)
        remainder = self._truncated_remainder(self._truncated_quotient(safe), safe)
        moved = fb.emit(arith.AddiOp, [remainder, safe], self.ir)
        return fb.emit(arith.SelectOp, [self._needs_floor(remainder, safe), moved, remainder], self.ir)

    def _truncated_quotient(self, safe: SSAValue | None) -> SSAValue | None:
        op = arith.DivUIOp if self.is_unsigned else arith.DivSIOp
        return self.fb.emit(op, [self.fb.ssa(self.left), safe], self.ir)

    def _truncated_remainder(self, quotient: SSAValue | None, safe: SSAValue | None) -> SSAValue | None:
        fb = self.fb
        product = fb.emit(arith.MuliOp, [quotient, safe], self.ir)
        return fb.emit(arith.SubiOp, [fb.ssa(self.left), product], self.ir)

    def _needs_floor(self, remainder: SSAValue | None, safe: SSAValue | None) -> SSAValue | None:
        """Whether the truncated remainder is not 0 and has another sign than the divisor."""
        fb, boolean = self.fb, ir_type(BOOL)
        zero = fb.constant(0, self.type)
        if self.right.const is not None or self.right.is_nonnegative:
            below = self.right.is_nonnegative or (self.right.const or 0) > 0
            return fb.emit(arith.CmpiOp, [remainder, zero], boolean, CMPI["slt" if below else "sgt"])
        signs = fb.emit(arith.XOrIOp, [remainder, safe], self.ir)
        differ = fb.emit(arith.CmpiOp, [signs, zero], boolean, CMPI["slt"])
        is_inexact = fb.emit(arith.CmpiOp, [remainder, zero], boolean, CMPI["ne"])
        return fb.emit(arith.AndIOp, [differ, is_inexact], boolean)

    def _is_positive(self, value: Scalar) -> bool:
        return value.bounds is not None and value.bounds[0] > 0

    def _is_zero(self) -> SSAValue | None:
        fb = self.fb
        return fb.emit(
            arith.CmpiOp, [fb.ssa(self.right), fb.constant(0, self.type)], ir_type(BOOL), CMPI["eq"]
        )

    def _safe_divisor(self) -> SSAValue | None:
        """Returns the divisor, or 1 where dividing by it is undefined: x // 1 is x, which is also what -x wraps to."""
        fb, right = self.fb, self.right
        one = fb.constant(1, self.type)
        if right.const is not None and right.const not in (0, -1):
            return fb.ssa(right)
        if right.const is None and self._is_positive(right):
            return fb.ssa(right)
        hurts = None if right.const is not None else self._is_zero()
        if not self.is_unsigned and not right.is_nonnegative and not self.left.is_nonnegative:
            overflows = self._overflows()
            hurts = overflows if hurts is None else fb.emit(arith.OrIOp, [hurts, overflows], ir_type(BOOL))
        if hurts is None:
            return fb.ssa(right)
        return fb.emit(arith.SelectOp, [hurts, one, fb.ssa(right)], self.ir)

    def _overflows(self) -> SSAValue | None:
        fb, boolean = self.fb, ir_type(BOOL)
        smallest = fb.constant(self.type.minimum, self.type)
        is_smallest = fb.emit(arith.CmpiOp, [fb.ssa(self.left), smallest], boolean, CMPI["eq"])
        minus_one = fb.emit(
            arith.CmpiOp, [fb.ssa(self.right), fb.constant(-1, self.type)], boolean, CMPI["eq"]
        )
        return fb.emit(arith.AndIOp, [is_smallest, minus_one], boolean)
