"""Ends of loops that count from below zero, for drivers that leave out the last round of `while k < 1`.

NVIDIA's driver does so in some kernels that also make 64-bit integers of floats, where it knows both what k begins
with and the 1 (`vk_runtime.quirks`, last-rounds).  So a zero that it does not know is added to the end.

It is, too, where llvmpipe ends the process: start and end are known, and half of all numbers apart (divided-rounds).
"""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, SSAValue

from ...ir.dialects import spirv
from ...ir.narrowing import is_integer_attribute, is_integer_type
from .function_lowering import FunctionLowering
from .types import scalar_of
from .unknown_zeros import zeros_like

_ENDS = (0, 1)
"""k < 1 is k <= 0."""


def end_of(fn: FunctionLowering, op: scf.ForOp) -> SSAValue:
    """Returns the lowered end of a loop."""
    end = fn.value(op.ub)
    is_misjudged = fn.module.env.loses_last_rounds and _may_be_end(fn, op.ub) and _may_be_negative(fn, op.lb)
    return _hidden(fn, end) if is_misjudged else end


def with_end(fn: FunctionLowering, counter: SSAValue, end: SSAValue, lowered: SSAValue) -> SSAValue:
    """Returns a lowered integer, `end`, as it may be ordered with another, which a loop may count."""
    start = _start_of(counter) if fn.module.env.loses_last_rounds else None
    if start is not None and _may_be_end(fn, end) and _may_be_negative(fn, start):
        return _hidden(fn, lowered)
    return with_far_end(fn, counter, end, lowered)


def with_far_end(fn: FunctionLowering, counter: SSAValue, end: SSAValue, lowered: SSAValue) -> SSAValue:
    """Returns a lowered integer, `end`, as it may be compared with another, which a loop may count."""
    start = _start_of(counter) if fn.module.env.divides_rounds else None
    return _hidden(fn, lowered) if start is not None and _is_far(start, end) else lowered


def _is_far(start: SSAValue, end: SSAValue) -> bool:
    """Whether the distance is the least number of its type, or beside it."""
    first, last, type_ = _number(start), _number(end), end.type
    if first is None or last is None:
        return False
    bits = type_.width.data if is_integer_type(type_) else 32
    return (
        abs((last - first) % (1 << bits) - (1 << (bits - 1))) <= 2
    )  # the driver may test for the number beside it


def _start_of(value: SSAValue) -> SSAValue | None:
    """Returns what a loop that carries or counts a number begins with; None where none does."""
    block = value.owner
    if not isinstance(block, Block) or scalar_of(value.type) == i1:  # a truth value counts no rounds
        return None
    loop, number = block.parent_op(), block.args.index(value)
    if isinstance(loop, scf.WhileOp):
        return loop.arguments[number] if block is loop.before_region.block else None
    return (loop.lb, *loop.iter_args)[number] if isinstance(loop, scf.ForOp) else None


def _may_be_end(fn: FunctionLowering, value: SSAValue) -> bool:
    number = _number(value)
    return fn.module.known_numbers.is_known(value) if number is None else number in _ENDS


def _may_be_negative(fn: FunctionLowering, value: SSAValue) -> bool:
    number = _number(value)
    return fn.module.known_numbers.is_known(value) if number is None else number < 0


def _number(value: SSAValue) -> int | None:
    """Returns the number that a literal is, as a signed one; None for others."""
    owner, type_ = value.owner, value.type
    attribute = owner.properties["value"] if isinstance(owner, arith.ConstantOp) else None
    if not is_integer_attribute(attribute):
        return None
    number = attribute.value.data
    bits = type_.width.data if is_integer_type(type_) else 64
    return number - (1 << bits) if number >> (bits - 1) == 1 else number


def _hidden(fn: FunctionLowering, value: SSAValue) -> SSAValue:
    return fn.emit(spirv.IAddOp, (value, zeros_like(fn, value)), value.type)
