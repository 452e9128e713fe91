"""Tests of loops that may go on for ever, for drivers that end loops: `with_end`.

    while True: body   =>   while True and %index < 2^31 + n: body      in the n-th of such loops
    check the rounds        check the rounds

Such a driver (`vk_runtime.quirks`, loop-cap) ends a loop without an end, too.  But where it knows that a test always
holds, as that of `while u >= 0` does for an unsigned number, nothing behind the loop can be reached for it, and it
leaves out the check of its rounds.  So each test asks for a number that the driver does not know as well, but those of
loops that count up to an end.  Each test asks another question: where the driver has branched for one, it knows that.
"""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import i1
from xdsl.ir import BlockArgument, SSAValue

from ...ir.create import create
from ...ir.dialects import spirv
from ..loop_bounds import conjuncts, is_inside, step_of
from .function_lowering import FunctionLowering
from .launch_place import unknown_number
from .work_item_handlers import entry_of

_LEAST_END = 1 << 31
_ENDS = {2: 1, 6: 1, 4: -1, 8: -1}
"""slt, ult, sgt and ugt of `arith.cmpi`, by the sign of the steps that come to an end."""


def with_end(fn: FunctionLowering, op: scf.WhileOp, condition: SSAValue) -> SSAValue:
    """Returns the lowered test of a loop whose rounds are counted, as one that the driver cannot know to hold."""
    test = op.before_region.block.last_op
    assert isinstance(test, scf.ConditionOp)
    if any(_counts_to_end(op, compare) for compare in conjuncts(test.condition)):
        return condition
    entry = entry_of(fn, op)
    if entry.unknown_number is None:
        entry.unknown_number = unknown_number(fn)
    limit = fn.index(_LEAST_END + entry.unknown_ends)
    entry.unknown_ends += 1
    goes_on = fn.first(create(spirv.ULessThanOp, (entry.unknown_number, limit), (i1,)))
    return fn.emit(spirv.LogicalAndOp, (condition, goes_on), i1)


def _counts_to_end(op: scf.WhileOp, compare: arith.CmpiOp) -> bool:
    value, end = compare.operands
    if (
        not isinstance(value, BlockArgument)
        or value.owner is not op.before_region.block
        or is_inside(end, op)
    ):
        return False
    kind, number = step_of(op, value.index) or (None, 0)
    if kind is not arith.AddiOp and kind is not arith.SubiOp:
        return False
    steps = number if kind is arith.AddiOp else -number
    return steps * _ENDS.get(compare.predicate.value.data, 0) > 0
