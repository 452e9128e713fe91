"""Conversions that are rounded once and keep their bits, for drivers that round them twice or not at all, or narrow
what they give (`vk_runtime.quirks`)."""

from __future__ import annotations

from xdsl.dialects.builtin import Float16Type, Float32Type, Float64Type, f32, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.dialects import spirv
from .function_lowering import FunctionLowering
from .types import scalar_of, with_scalar
from .unknown_zeros import zeros_like


def is_rounded_twice(fn: FunctionLowering, source: Attribute, target: Attribute) -> bool:
    """Whether this module's device may convert a float or an unsigned integer of one type to another wrongly."""
    if not fn.module.env.rounds_conversions_twice:
        return False
    narrow, wide = scalar_of(target), scalar_of(source)
    return (wide == i32 and isinstance(narrow, Float32Type)) or (
        isinstance(wide, Float64Type) and isinstance(narrow, Float16Type)
    )


def unsigned_to_float(fn: FunctionLowering, value: SSAValue, type_: Attribute) -> SSAValue:
    """u32 to f32 as the sum of two halves, which are exact: only the sum is rounded."""
    upper = fn.emit(spirv.ShiftRightLogicalOp, (value, fn.constant(value.type, 16)), value.type)
    lower = fn.emit(spirv.BitwiseAndOp, (value, fn.constant(value.type, 0xFFFF)), value.type)
    high = fn.emit(spirv.ConvertUToFOp, (upper,), type_)
    scaled = fn.emit(spirv.FMulOp, (high, fn.constant(type_, 65536.0)), type_)
    return fn.emit(spirv.FAddOp, (scaled, fn.emit(spirv.ConvertUToFOp, (lower,), type_)), type_)


def double_to_half(fn: FunctionLowering, value: SSAValue, type_: Attribute) -> SSAValue:
    """f64 to f16 by way of the f32 whose last bit is set where it is not exact, which rounds as the f64 does."""
    single, word = with_scalar(type_, f32), with_scalar(type_, i32)
    truth = fn.module.types.bool_like(word)
    near = fn.emit(spirv.FConvertOp, (value,), single)
    back = fn.emit(spirv.FConvertOp, (near,), value.type)
    bits = fn.emit(spirv.BitcastOp, (near,), word)
    one, zero = fn.constant(word, 1), fn.constant(word, 0)
    last = fn.emit(spirv.BitwiseAndOp, (bits, one), word)
    is_even = fn.emit(spirv.IEqualOp, (last, zero), truth)
    is_inexact = fn.emit(spirv.FOrdNotEqualOp, (back, value), truth)
    size, rounded = (fn.emit(spirv.GLFAbsOp, (number,), value.type) for number in (value, back))
    is_larger = fn.emit(spirv.FOrdLessThanOp, (rounded, size), truth)
    step = fn.emit(spirv.SelectOp, (is_larger, one, fn.constant(word, -1)), word)
    moves = fn.emit(spirv.LogicalAndOp, (is_even, is_inexact), truth)
    odd = fn.emit(spirv.IAddOp, (bits, fn.emit(spirv.SelectOp, (moves, step, zero), word)), word)
    return to_half(fn, fn.emit(spirv.BitcastOp, (odd,), single), type_)


def to_half(fn: FunctionLowering, value: SSAValue, type_: Attribute) -> SSAValue:
    """A float to f16; where the driver may go on with what it was, by way of `x * 1 + -0`, which is x for every x."""
    half = fn.emit(spirv.FConvertOp, (value,), type_)
    if not fn.module.env.skips_half_rounding:
        return half
    return fn.emit(spirv.GLFmaOp, (half, fn.constant(type_, 1.0), fn.constant(type_, -0.0)), type_)


def is_beyond_half(source: Attribute, target: Attribute) -> bool:
    """Whether an integer type, of 32 bits or more, has numbers that become infinite in f16."""
    integer = scalar_of(source)
    return isinstance(scalar_of(target), Float16Type) and integer in (i32, i64)


def integer_to_half(
    fn: FunctionLowering, kind: type[Operation], value: SSAValue, type_: Attribute
) -> SSAValue:
    """An integer to f16, with a zero that the driver does not know: if it knew that few bits are set, all that it would
    do is to make an f32 of the integer where the f16 becomes one."""
    whole = fn.emit(spirv.BitwiseOrOp, (value, zeros_like(fn, value)), value.type)
    return fn.emit(kind, (whole,), type_)


def may_be_narrowed(fn: FunctionLowering, source: Attribute, target: Attribute) -> bool:
    """Whether this module's device may convert a float to fewer bits than an unsigned integer has."""
    is_single = isinstance(scalar_of(source), Float32Type)
    return fn.module.env.narrows_conversions and is_single and scalar_of(target) == i64


def to_unsigned_64(fn: FunctionLowering, value: SSAValue, type_: Attribute) -> SSAValue:
    """f32 to u64 as two words, each converted by itself: what is left for the lower one is exact."""
    word = fn.module.types(with_scalar(type_, i32))
    scaled = fn.emit(spirv.FMulOp, (value, fn.constant(value.type, 2.0**-32)), value.type)
    high = fn.emit(spirv.ConvertFToUOp, (scaled,), word)
    whole = fn.emit(spirv.ConvertUToFOp, (high,), value.type)
    above = fn.emit(spirv.FMulOp, (whole, fn.constant(value.type, 2.0**32)), value.type)
    rest = fn.emit(spirv.FSubOp, (value, above), value.type)
    low = fn.emit(spirv.UConvertOp, (fn.emit(spirv.ConvertFToUOp, (rest,), word),), type_)
    wide = fn.emit(spirv.UConvertOp, (high,), type_)
    upper = fn.emit(spirv.ShiftLeftLogicalOp, (wide, fn.constant(type_, 32)), type_)
    return fn.emit(spirv.BitwiseOrOp, (upper, low), type_)
