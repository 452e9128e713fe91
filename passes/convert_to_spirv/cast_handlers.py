"""Handlers of conversions and of negation (`arith`)."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, IndexType, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.dialects import spirv
from ...ir.narrowing import is_integer_type, is_vector_type
from .exact_conversions import (
    double_to_half,
    integer_to_half,
    is_beyond_half,
    is_rounded_twice,
    may_be_narrowed,
    to_half,
    to_unsigned_64,
    unsigned_to_float,
)
from .function_lowering import FunctionLowering, Handler
from .low_bits import lowest_bit
from .narrow_negations import negation
from .negated_truths import negatable
from .types import float_type, is_bool, scalar_bytes, scalar_of


def _from_bool(fn: FunctionLowering, value: SSAValue, type_: Attribute, true: float) -> SSAValue:
    return fn.emit(spirv.SelectOp, (value, fn.constant(type_, true), fn.constant(type_, 0)), type_)


def _extend(kind: type[Operation], true: int) -> Handler:
    """Widens an integer; i1, which SPIR-V cannot convert, by selection."""

    def lower(fn: FunctionLowering, op: Operation) -> None:
        value, type_ = fn.value(op.operands[0]), fn.type(op.results[0].type)
        if is_bool(value.type):
            result = _from_bool(fn, value, type_, true)
        else:
            result = fn.emit(kind, (value,), type_)
        fn.values[op.results[0]] = result

    return lower


def _truncate(fn: FunctionLowering, op: Operation) -> None:
    value, type_ = fn.value(op.operands[0]), fn.type(op.results[0].type)
    fn.values[op.results[0]] = negation(fn, op) or _narrow(fn, op, value, type_)


def _narrow(fn: FunctionLowering, op: Operation, value: SSAValue, type_: Attribute) -> SSAValue:
    if not is_bool(type_):
        return fn.emit(spirv.UConvertOp, (value,), type_)
    lowest = lowest_bit(fn, op)
    if lowest is None:
        lowest = fn.emit(spirv.BitwiseAndOp, (value, fn.constant(value.type, 1)), value.type)
    return fn.emit(spirv.INotEqualOp, (lowest, fn.constant(value.type, 0)), type_)


def _index_cast(fn: FunctionLowering, op: Operation) -> None:
    """Between index (32 bits; 64 where ids have 64) and an integer: nothing, a sign extension or a truncation."""
    value, type_ = fn.value(op.operands[0]), fn.type(op.results[0].type)
    if value.type is type_ or (
        isinstance(op.results[0].type, IndexType)
        and fn.entry is not None
        and value.type is fn.entry.index_type
    ):
        fn.values[op.results[0]] = value
    elif is_bool(value.type):
        fn.values[op.results[0]] = _from_bool(fn, value, type_, -1)
    elif is_bool(type_):
        fn.values[op.results[0]] = _narrow(fn, op, value, type_)
    else:
        fn.values[op.results[0]] = fn.emit(spirv.SConvertOp, (value,), type_)


def _integer_to_float(kind: type[Operation], true: float) -> Handler:
    def lower(fn: FunctionLowering, op: Operation) -> None:
        value, type_ = fn.value(op.operands[0]), fn.type(float_type(op.results[0].type))
        if is_bool(value.type):
            fn.values[op.results[0]] = _from_bool(fn, value, type_, true)
        elif kind is spirv.ConvertUToFOp and is_rounded_twice(fn, value.type, type_):
            fn.values[op.results[0]] = unsigned_to_float(fn, value, type_)
        elif fn.module.env.skips_exact_halves and is_beyond_half(value.type, type_):
            fn.values[op.results[0]] = integer_to_half(fn, kind, value, type_)
        else:
            fn.values[op.results[0]] = fn.emit(kind, (value,), type_)

    return lower


def _float_to_integer(kind: type[Operation]) -> Handler:
    def lower(fn: FunctionLowering, op: Operation) -> None:
        float_type(op.operands[0].type)
        value, type_ = fn.value(op.operands[0]), fn.type(op.results[0].type)
        if is_bool(type_):  # truncated, |x| < 1 is 0 (false); anything else is true
            size = fn.emit(spirv.GLFAbsOp, (value,), value.type)
            result = fn.emit(spirv.FOrdGreaterThanEqualOp, (size, fn.constant(value.type, 1.0)), type_)
        elif kind is spirv.ConvertFToUOp and may_be_narrowed(fn, value.type, type_):
            result = to_unsigned_64(fn, value, type_)
        else:
            result = fn.emit(kind, (value,), type_)
        fn.values[op.results[0]] = result

    return lower


def _float_to_float(fn: FunctionLowering, op: Operation) -> None:
    """`extf` and `truncf`; bf16, kept as its bits, is the upper half of an f32."""
    source, target = scalar_of(op.operands[0].type), scalar_of(op.results[0].type)
    value, type_ = fn.value(op.operands[0]), fn.type(op.results[0].type)
    if isinstance(source, BFloat16Type):
        fn.values[op.results[0]] = from_bf16(fn, value, type_)
    elif isinstance(target, BFloat16Type):
        fn.values[op.results[0]] = to_bf16(fn, value, type_)
    elif is_rounded_twice(fn, source, target):
        fn.values[op.results[0]] = double_to_half(fn, value, type_)
    elif isinstance(target, Float16Type):
        fn.values[op.results[0]] = to_half(fn, value, type_)
    else:
        fn.values[op.results[0]] = fn.emit(spirv.FConvertOp, (value,), type_)


def from_bf16(fn: FunctionLowering, bits: SSAValue, type_: Attribute) -> SSAValue:
    if is_vector_type(bits.type):
        raise TypeError("vectors of bf16 are not lowered; convert component by component")
    wide = fn.emit(spirv.UConvertOp, (bits,), i32)
    shifted = fn.emit(spirv.ShiftLeftLogicalOp, (wide, fn.index(16)), i32)
    value = fn.emit(spirv.BitcastOp, (shifted,), f32)
    if isinstance(type_, Float32Type):
        return value
    return (
        to_half(fn, value, type_)
        if isinstance(type_, Float16Type)
        else fn.emit(spirv.FConvertOp, (value,), type_)
    )


def to_bf16(fn: FunctionLowering, value: SSAValue, type_: Attribute) -> SSAValue:
    """Rounds to nearest even; a NaN stays one."""
    if is_vector_type(value.type):
        raise TypeError("vectors of bf16 are not lowered; convert component by component")
    if not isinstance(value.type, Float32Type):
        raise TypeError(
            f"bf16 is made from f32 only (a second rounding would change the result), found {value.type}"
        )
    bits = fn.emit(spirv.BitcastOp, (value,), i32)
    shifted = fn.emit(spirv.ShiftRightLogicalOp, (bits, fn.index(16)), i32)
    odd = fn.emit(spirv.BitwiseAndOp, (shifted, fn.index(1)), i32)
    bias = fn.emit(spirv.IAddOp, (odd, fn.index(0x7FFF)), i32)
    rounded = fn.emit(spirv.IAddOp, (bits, bias), i32)
    upper = fn.emit(spirv.ShiftRightLogicalOp, (rounded, fn.index(16)), i32)
    quiet = fn.emit(spirv.BitwiseOrOp, (shifted, fn.index(0x40)), i32)
    is_nan = fn.emit(spirv.IsNanOp, (value,), fn.module.types.bool_like(i32))
    chosen = fn.emit(spirv.SelectOp, (is_nan, quiet, upper), i32)
    return fn.emit(spirv.UConvertOp, (chosen,), type_)


def _bitcast(fn: FunctionLowering, op: Operation) -> None:
    value, type_ = fn.value(op.operands[0]), fn.type(op.results[0].type)
    if value.type == type_:
        fn.values[op.results[0]] = value
        return
    if scalar_width(value.type) != scalar_width(type_):
        raise TypeError(f"a bitcast keeps the width, found {value.type} and {type_} (index has 32 bits)")
    fn.values[op.results[0]] = fn.emit(spirv.BitcastOp, (value,), type_)


def scalar_width(type_: Attribute) -> int:
    """Returns the bits of a scalar, or of one component of a vector."""
    scalar = scalar_of(type_)
    return scalar.width.data if is_integer_type(scalar) else scalar_bytes(scalar) * 8


def _negf(fn: FunctionLowering, op: Operation) -> None:
    float_type(op.operands[0].type)
    value = negatable(fn, op.operands[0])
    fn.values[op.results[0]] = fn.emit(spirv.FNegateOp, (value,), value.type)


HANDLERS: dict[type[Operation], Handler] = {
    arith.ExtSIOp: _extend(spirv.SConvertOp, -1),
    arith.ExtUIOp: _extend(spirv.UConvertOp, 1),
    arith.TruncIOp: _truncate,
    arith.IndexCastOp: _index_cast,
    arith.SIToFPOp: _integer_to_float(spirv.ConvertSToFOp, -1.0),
    arith.UIToFPOp: _integer_to_float(spirv.ConvertUToFOp, 1.0),
    arith.FPToSIOp: _float_to_integer(spirv.ConvertFToSOp),
    arith.FPToUIOp: _float_to_integer(spirv.ConvertFToUOp),
    arith.ExtFOp: _float_to_float,
    arith.TruncFOp: _float_to_float,
    arith.BitcastOp: _bitcast,
    arith.NegfOp: _negf,
}
"""Handlers of conversions."""
