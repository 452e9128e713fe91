"""Truth values that loops carry, as words for drivers that fail on others (`vk_runtime.quirks`, equal-truths):

^header(%going: i1):          →          ^header(%word: i32):
                                           %going = spirv.INotEqual %word, 0
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue

from ...ir.dialects import spirv
from .function_lowering import FunctionLowering
from .types import is_bool, with_scalar


def carriable(fn: FunctionLowering, values: Sequence[SSAValue]) -> list[SSAValue]:
    """Returns lowered values as a loop carries them."""
    if not fn.module.env.fails_on_carried_truths:
        return list(values)
    return [_word(fn, value) if is_bool(value.type) else value for value in values]


def used(fn: FunctionLowering, carried: Sequence[SSAValue], types: Sequence[Attribute]) -> list[SSAValue]:
    """Returns what a loop carries as values of its body.

    Args:
        types: what they were before they became `carriable`.
    """
    return [
        value
        if value.type is type_
        else fn.emit(spirv.INotEqualOp, (value, fn.constant(value.type, 0)), type_)
        for value, type_ in zip(carried, types, strict=True)
    ]


def _word(fn: FunctionLowering, truth: SSAValue) -> SSAValue:
    type_ = fn.module.types(with_scalar(truth.type, i32))
    return fn.emit(spirv.SelectOp, (truth, fn.constant(type_, 1), fn.constant(type_, 0)), type_)
