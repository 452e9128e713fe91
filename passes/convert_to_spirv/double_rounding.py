"""Whole numbers of f64 by way of floor and ceil, where drivers give others (`vk_runtime.quirks`: rounded-doubles)."""

from __future__ import annotations

from xdsl.dialects.builtin import Float64Type
from xdsl.ir import SSAValue

from ...ir.dialects import spirv
from .float_expression import FloatExpression
from .types import scalar_of


def truncated(e: FloatExpression, x: SSAValue) -> SSAValue:
    """C's trunc(); exact."""
    if not _is_misrounded(e):
        return e.call(spirv.GLTruncOp, x)
    is_negative = e.less(x, e.constant(0))
    return e.select(is_negative, e.call(spirv.GLCeilOp, x), e.call(spirv.GLFloorOp, x))


def rounded_to_even(e: FloatExpression, x: SSAValue) -> SSAValue:
    """C's rint(): halves to the even neighbour; exact."""
    if not _is_misrounded(e):
        return e.call(spirv.GLRoundEvenOp, x)
    below = e.call(spirv.GLFloorOp, x)
    above, half = e.subtract(x, below), e.multiply(below, e.constant(0.5))
    is_odd = e.test(spirv.FOrdNotEqualOp, e.call(spirv.GLFloorOp, half), half)
    is_middle = e.test(spirv.FOrdEqualOp, above, e.constant(0.5))
    is_nearer = e.test(spirv.FOrdGreaterThanOp, above, e.constant(0.5))
    goes_up = e.fn.emit(spirv.LogicalAndOp, (is_middle, is_odd), e.bool)
    goes_up = e.fn.emit(spirv.LogicalOrOp, (goes_up, is_nearer), e.bool)
    return e.copy_sign(e.select(goes_up, e.add(below, e.constant(1)), below), x)


def _is_misrounded(e: FloatExpression) -> bool:
    return e.fn.module.env.misrounds_doubles and isinstance(scalar_of(e.type), Float64Type)
