"""Quotients of 8 and 16 bits, for drivers that fail on some (`vk_runtime.quirks`, divided-ones)."""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from ...ir.dialects import spirv
from .function_lowering import FunctionLowering
from .narrow_negations import is_narrow, number_of
from .types import with_scalar
from .unknown_zeros import zeros_like


def quotient_of_ones(fn: FunctionLowering, op: Operation) -> SSAValue | None:
    """Returns the greatest number of 8 or 16 bits divided by another, in 32 bits where the driver cannot see that fewer
    were enough; None of other quotients."""
    dividend, divisor = op.operands
    type_ = fn.type(op.results[0].type)
    if not fn.module.env.fails_on_divided_ones or not is_narrow(type_) or number_of(dividend) != -1:
        return None
    word = fn.module.types(with_scalar(type_, i32))
    first, second = (fn.emit(spirv.UConvertOp, (fn.value(value),), word) for value in (dividend, divisor))
    hidden = fn.emit(spirv.IAddOp, (second, zeros_like(fn, second)), word)
    return fn.emit(spirv.UConvertOp, (fn.emit(spirv.UDivOp, (first, hidden), word),), type_)
