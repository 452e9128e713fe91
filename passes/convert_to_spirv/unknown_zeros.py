"""Zeros that the driver does not know, of any integer type and in any function: `zeros_like`."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from ...ir.dialects import spirv
from ...ir.narrowing import is_vector_type
from .function_lowering import FunctionLowering
from .launch_place import component, unknown_zero
from .types import scalar_of

_ONE = 0x3F800000
"""The bits of 1.0."""


def zeros_like(fn: FunctionLowering, value: SSAValue) -> SSAValue:
    """Returns zeros of the type of a lowered integer or vector of integers."""
    scalar = scalar_of(value.type)
    zero = unknown_zero(fn) if fn.has_inputs else _zero_of(fn, value)
    if scalar != i32:
        zero = fn.emit(spirv.UConvertOp, (zero,), scalar)
    if is_vector_type(value.type):
        zero = fn.emit(spirv.CompositeConstructOp, (zero,) * value.type.element_count(), value.type)
    return zero


def _zero_of(fn: FunctionLowering, value: SSAValue) -> SSAValue:
    """Returns an i32 of 0 in a function that may read no inputs: the larger of 1 and a float that is 1 or next to it
    is that float, of which drivers do not know more than that it is a float."""
    if is_vector_type(value.type):
        indices = {"indices": component(0)}
        value = fn.emit(spirv.CompositeExtractOp, (value,), scalar_of(value.type), indices)
    word = value if value.type is i32 else fn.emit(spirv.UConvertOp, (value,), i32)
    bits = fn.emit(spirv.BitwiseAndOp, (word, fn.index(1)), i32)
    bits = fn.emit(spirv.BitwiseOrOp, (bits, fn.index(_ONE)), i32)
    number = fn.emit(spirv.BitcastOp, (bits,), f32)
    larger = fn.emit(spirv.GLFMaxOp, (number, fn.constant(f32, 1.0)), f32)
    return fn.emit(spirv.ISubOp, (fn.emit(spirv.BitcastOp, (larger,), i32), bits), i32)
