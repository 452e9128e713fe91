"""Handlers of functions of integers (`math.absi ctpop ctlz cttz`), in every width.

Vulkan counts bits of 32-bit integers only (VUID-StandaloneSpirv-Base-04781, GLSL.std.450 FindUMsb): narrower
ones are extended with zeros, 64-bit ones are taken as two halves.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import math
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.dialects import spirv
from .cast_handlers import scalar_width
from .function_lowering import FunctionLowering, Handler
from .types import is_bool, with_scalar

CountOf32 = Callable[[FunctionLowering, SSAValue], SSAValue]
"""Counts something in 32-bit integers."""


def _population(fn: FunctionLowering, bits: SSAValue) -> SSAValue:
    return fn.emit(spirv.BitCountOp, (bits,), bits.type)


def _leading_zeros(fn: FunctionLowering, bits: SSAValue) -> SSAValue:
    # FindUMsb of 0 is -1.
    highest = fn.emit(spirv.GLFindUMsbOp, (bits,), bits.type)
    return fn.emit(spirv.ISubOp, (fn.constant(bits.type, 31), highest), bits.type)


def _trailing_zeros(fn: FunctionLowering, bits: SSAValue) -> SSAValue:
    # The ones of ~x & (x - 1) are the zeros below the lowest one.
    below = fn.emit(spirv.ISubOp, (bits, fn.constant(bits.type, 1)), bits.type)
    inverted = fn.emit(spirv.NotOp, (bits,), bits.type)
    return _population(fn, fn.emit(spirv.BitwiseAndOp, (inverted, below), bits.type))


def _halves(fn: FunctionLowering, value: SSAValue, half: Attribute) -> tuple[SSAValue, SSAValue]:
    shifted = fn.emit(spirv.ShiftRightLogicalOp, (value, fn.constant(value.type, 32)), value.type)
    return fn.emit(spirv.UConvertOp, (value,), half), fn.emit(spirv.UConvertOp, (shifted,), half)


def _count(count: CountOf32, *, from_top: bool | None) -> Handler:
    """Lowers a count; `from_top` says which half of 64 bits is looked at first, None: both are added up."""

    def lower(fn: FunctionLowering, op: Operation) -> None:
        value = fn.value(op.operands[0])
        type_ = value.type
        if is_bool(type_):
            raise TypeError(f"'{op.name}' counts in integers of 8 bits or more, found {type_}")
        width = scalar_width(type_)
        word = fn.module.types(with_scalar(type_, i32))
        if width == 64:
            result = _count_64(fn, value, word, count, from_top=from_top)
        elif width == 32:
            result = count(fn, value)
        else:
            result = _count_narrow(
                fn, fn.emit(spirv.UConvertOp, (value,), word), width, count, from_top=from_top
            )
        if result.type is not type_:
            result = fn.emit(spirv.UConvertOp, (result,), type_)
        fn.values[op.results[0]] = result

    return lower


def _count_64(
    fn: FunctionLowering, value: SSAValue, word: Attribute, count: CountOf32, *, from_top: bool | None
) -> SSAValue:
    low, high = _halves(fn, value, word)
    if from_top is None:
        return fn.emit(spirv.IAddOp, (count(fn, low), count(fn, high)), word)
    first, second = (high, low) if from_top else (low, high)
    beyond = fn.emit(spirv.IAddOp, (count(fn, second), fn.constant(word, 32)), word)
    is_empty = fn.emit(spirv.IEqualOp, (first, fn.constant(word, 0)), fn.module.types.bool_like(word))
    return fn.emit(spirv.SelectOp, (is_empty, beyond, count(fn, first)), word)


def _count_narrow(
    fn: FunctionLowering, wide: SSAValue, width: int, count: CountOf32, *, from_top: bool | None
) -> SSAValue:
    if from_top is None:
        return count(fn, wide)
    if from_top:
        return fn.emit(spirv.ISubOp, (count(fn, wide), fn.constant(wide.type, 32 - width)), wide.type)
    # A one just above the value ends the count.
    guarded = fn.emit(spirv.BitwiseOrOp, (wide, fn.constant(wide.type, 1 << width)), wide.type)
    return count(fn, guarded)


def _absi(fn: FunctionLowering, op: Operation) -> None:
    value = fn.value(op.operands[0])
    if is_bool(value.type):
        raise TypeError(f"'{op.name}' takes integers of 8 bits or more, found {value.type}")
    fn.values[op.results[0]] = fn.emit(spirv.GLSAbsOp, (value,), value.type)


HANDLERS: dict[type[Operation], Handler] = {
    math.AbsIOp: _absi,
    math.CtPopOp: _count(_population, from_top=None),
    math.CountLeadingZerosOp: _count(_leading_zeros, from_top=True),
    math.CountTrailingZerosOp: _count(_trailing_zeros, from_top=False),
}
"""Handlers of functions of integers."""
