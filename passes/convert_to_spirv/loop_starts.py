"""The values that a loop begins with, kept from the driver where it would carry too much for knowing them.

Measured on lavapipe 22.3: mandelbrot takes 33 ms where its floats begin with numbers that the driver cannot know, and
45 where it can; a hidden integer costs instead.  The likely cause, by reading and not by taking Mesa apart: NIR's
opt_split_alu_of_phi carries the result of each instruction of the test from round to round where variables begin with
constants, and llvmpipe pays a selection under its mask for each.  So floats begin with `bitcast(bits | id >> 31)`: ids
have 31 bits, which the driver does not know.
"""

from __future__ import annotations

import struct

from xdsl.dialects import scf
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from ...ir.dialects import spirv
from .function_lowering import FunctionLowering


def starts_of(fn: FunctionLowering, loop: scf.WhileOp) -> list[SSAValue]:
    """Returns the lowered values that a loop begins with."""
    starts = [fn.value(value) for value in loop.operands]
    if fn.entry is None or not fn.module.env.hides_loop_starts or fn.entry.index_type is not i32:
        return starts
    tested = loop.before_region.block.args
    return [
        _hidden(fn, start) if _is_computed_with(value) else start
        for start, value in zip(starts, tested, strict=True)
    ]


def _is_computed_with(value: SSAValue) -> bool:
    """Whether the test of a loop does more with a variable than pass it on."""
    return any(not isinstance(use.operation, scf.ConditionOp) for use in value.uses)


def _hidden(fn: FunctionLowering, value: SSAValue) -> SSAValue:
    """Returns an f32 constant as a value that nobody knows; any other value as it is."""
    number = fn.constant_number(value)
    if number is None or value.type is not f32 or fn.entry is None:
        return value
    (bits,) = struct.unpack("<i", struct.pack("<f", number))
    nothing = fn.emit(
        spirv.ShiftRightLogicalOp, (fn.entry.place.launch_value("global_id", 0), fn.index(31)), i32
    )
    hidden = fn.emit(spirv.BitwiseOrOp, (nothing, fn.constant(i32, bits)), i32) if bits else nothing
    return fn.emit(spirv.BitcastOp, (hidden,), f32)
