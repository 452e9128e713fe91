"""Handlers of checks, prints and counts of loop rounds (`kernel_reports`)."""

from __future__ import annotations

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Operation, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.kernel_reports import (
    AgreeOnRoundsOp,
    CheckOp,
    CheckRoundsOp,
    CountRoundsOp,
    PrintOp,
    WithoutNotesOp,
    dtypes_of,
)
from ...ir.dialects.spirv.attributes import GroupOperationAttr, ScopeAttr
from ...ir.dialects.spirv.enums import GroupOperation, Scope
from ...ir.kernel_info import Site
from ..errors import operation_location
from .function_lowering import FunctionLowering, Handler
from .work_item_handlers import entry_of

_REDUCE = {
    "execution_scope": ScopeAttr(Scope.Subgroup),
    "group_operation": GroupOperationAttr(GroupOperation.Reduce),
}


def _check(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, CheckOp)
    failed, *values = (fn.value(value) for value in op.operands)
    site = Site(
        kind=op.kind.data,
        text=op.text.data,
        dtypes=dtypes_of(op),
        location=operation_location(op, fn.name),
    )
    entry_of(fn, op).report.check(failed, site, values)


def _print(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, PrintOp)
    site = Site(
        kind="print",
        text=op.text.data,
        dtypes=dtypes_of(op),
        location=operation_location(op, fn.name),
        stream=op.stream_name,
    )
    entry_of(fn, op).report.print(site, [fn.value(value) for value in op.operands])


_MOST_ROUNDS = 1 << 24
"""More than any driver runs, and few enough that a count of them plus as many fits into 32 bits."""


def counts_rounds(fn: FunctionLowering) -> bool:
    """Whether the operations on rounds mean anything here: a helper may have them for another kernel that calls it."""
    counted = fn.module.counted_rounds
    return fn.entry is not None and counted is not None and counted.are_of(fn.entry.name)


def count_rounds(fn: FunctionLowering, op: Operation, rounds: int, more: SSAValue | None = None) -> None:
    """Adds to the rounds that the loops of this work-item's sub-group have run."""
    if not counts_rounds(fn):
        return
    count = entry_of(fn, op).round_count()
    total = fn.load(count, i32)
    if rounds:
        total = fn.emit(spirv.IAddOp, (total, fn.index(rounds)), i32)
    if more is not None:
        most = fn.index(_MOST_ROUNDS)
        bounded = fn.emit(spirv.GLUMinOp, (more, most), i32)
        total = fn.emit(spirv.GLUMinOp, (fn.emit(spirv.IAddOp, (total, bounded), i32), most), i32)
    fn.store(count, total)


def _count_rounds(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, CountRoundsOp)
    count_rounds(fn, op, op.rounds.value.data, None if op.more is None else fn.value(op.more))


def agree_on_rounds(fn: FunctionLowering, op: Operation) -> None:
    """Gives every work-item the highest count of its sub-group."""
    if not counts_rounds(fn):
        return
    count = entry_of(fn, op).round_count()
    highest = fn.emit(spirv.GroupNonUniformUMaxOp, (fn.load(count, i32),), i32, _REDUCE)
    fn.store(count, highest)


def _check_rounds(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, CheckRoundsOp)
    if not counts_rounds(fn):
        return
    entry, limit = entry_of(fn, op), op.limit.value.data
    failed = fn.emit(spirv.UGreaterThanEqualOp, (fn.load(entry.round_count(), i32), fn.index(limit)), i1)
    site = Site(
        kind="loop",
        text=f"the driver ends the loops of a kernel after {limit:,} rounds of them all, which this loop has reached; "
        "do fewer rounds in a launch, or unroll them with @lp.kernel(opt_level=2)",
        location=operation_location(op, fn.name),
    )
    entry.report.check_at_once(failed, site)


def _without_notes(fn: FunctionLowering, op: Operation) -> None:
    fn.values[op.results[0]] = entry_of(fn, op).without_notes()


HANDLERS: dict[type[Operation], Handler] = {
    CheckOp: _check,
    PrintOp: _print,
    CountRoundsOp: _count_rounds,
    AgreeOnRoundsOp: agree_on_rounds,
    CheckRoundsOp: _check_rounds,
    WithoutNotesOp: _without_notes,
}
"""Handlers of what a kernel tells the host."""
