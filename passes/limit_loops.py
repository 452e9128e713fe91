"""Keeps drivers that end loops early from doing so in silence: the pass limit-loops.

input:    scf.for %i = %a to %b step %s {     output:   scf.for %i = %a to %b step %s {
            …                                             "kernel.count_rounds"() <{rounds = 1 : i32}>
          }                                               …
                                                        }
                                                        "kernel.check_rounds"() <{limit = 65535 : i32}>
                                                        "kernel.count_rounds"() <{rounds = 1 : i32}>

Such a driver (`vk_runtime.quirks`) counts the rounds of all loops of a sub-group in one number, the round in which
a loop ends included, and leaves every loop once the number reaches its cap.  The pass makes the kernel count the
same, behind a loop where its rounds can be computed there (`loop_counters`).  Work-items that left a loop, or went
the other way at a branch, learn the number where they meet again (`kernel.agree_on_rounds`), unless nobody learns
anything there (`round_agreements`).

It also runs what nobody takes: the round in which a loop ends, and a branch that all work-items pass by, cost a round
of each loop inside.  Which are passed by is not known, so a round of a loop counts one for itself and for each of them;
what runs inside comes on top.  The number is exact for loops without loops inside.  For others it is never too small,
and too large by one for each time that an inner loop is run, which costs the driver a round at least: it is less than
twice as large, and 3 % too large where inner loops run 30 rounds.  Counting a loop that every round runs only where it
is passed by would be exact while loops end by themselves; tried, it was up to 3 short after the driver had ended them
in the middle of a nest, and nothing trapped: the margin is needed.

Invariant: a kernel either provably stays below the cap, and is not changed, or every outermost loop of it is
checked.  Short loops are unrolled first (`unroll`): the rest then lasts longer.  Level 2 makes nests single loops
(`long_nests`) and unrolls all of them.  Kernels that reach functions of other
modules, and such functions, are only unrolled: their rounds are counted in what they are linked to
(`spirv.count_rounds`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from ..ir.call_graph import CallGraph, Function, SymbolTables, has_body
from ..ir.dialects import aspect
from ..ir.dialects.kernel import LIBRARY, is_kernel
from ..ir.dialects.kernel_reports import AgreeOnRoundsOp, CheckRoundsOp, CountRoundsOp
from ..ir.walk import block_operations, instances, region_blocks
from .loop_bounds import EXACT_ROUNDS, Bounds, callee_of, has_loop_inside
from .loop_counters import add_trips
from .round_agreements import remove_agreements
from .unroll import (
    MAXIMUM_FACTOR,
    MAXIMUM_LIBRARY_FACTOR,
    meets_others,
    unroll_for,
    unroll_short_loops,
    unroll_while,
)


def limit_loops(module: Operation, cap: int, level: int = 1) -> None:
    """Changes the kernels of `module`, and their helpers, for a driver with this cap; `level` of optimisation."""
    graph = CallGraph.of(module)
    external = graph.reaching_external()
    linked = [f for f in graph.functions if has_body(f) and _is_root(f) and f in external]
    symbols = SymbolTables()
    bounds = Bounds(symbols)
    kernels = [
        f
        for f in graph.functions
        if has_body(f) and is_kernel(f) and f not in linked and not _is_below(bounds.of_function(f), cap)
    ]
    known: dict[Operation, int] = {}
    if level > 1:
        from .long_nests import flatten_nests_of, inline_in_loops  # seldom needed

        for function in _reached(graph, [*kernels, *linked]):
            inline_in_loops(function)
        graph = CallGraph.of(module)
        for function in _reached(graph, [*kernels, *linked]):
            unroll_short_loops(function)
            flatten_nests_of(function, bounds)
    for function in _reached(graph, [*kernels, *linked]):
        unroll_short_loops(function)
        is_ours = LIBRARY in function.attributes  # in our group functions all work-items run the same rounds
        most = MAXIMUM_LIBRARY_FACTOR if is_ours else MAXIMUM_FACTOR
        loops = [
            op
            for op in instances(function.body, scf.ForOp, scf.WhileOp)
            if not _is_below(bounds.of_op(op), EXACT_ROUNDS) and (is_ours or not meets_others(op))
        ]
        for op in loops:
            if isinstance(op, scf.WhileOp):
                unroll_while(op, level, most, len(loops))
            elif isinstance(op, scf.ForOp) and (left_over := unroll_for(op, level, most)):
                known[op] = left_over + 1
    bounds = Bounds(symbols, known)
    instrument = _Instrument(bounds, cap, symbols)
    for function in _reached(graph, kernels):
        for block in function.body.blocks:
            instrument.block(block, is_outermost=True)
        if is_kernel(function):
            remove_agreements(function, bounds, symbols)


def _is_root(function: Function) -> bool:
    return is_kernel(function) or aspect.is_external(function)


def _reached(graph: CallGraph, roots: list[Function]) -> list[Function]:
    """Returns functions with what they call, in the order of the module."""
    reached = graph.reachable(roots)
    return [function for function in graph.functions if function in reached and has_body(function)]


def _is_below(bound: int | None, cap: int) -> bool:
    return bound is not None and bound < cap


@dataclass(frozen=True)
class LimitLoopsPass(ModulePass):
    """Keeps drivers that end loops early from doing so in silence: limit-loops{cap=65535 level=1}."""

    name = "limit-loops"

    cap: int = 65535
    """Rounds after which the driver ends every loop."""
    level: int = 1
    """Optimisation level: 2 unrolls more."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        limit_loops(op, self.cap, self.level)


def _ends_kernel(op: Operation) -> bool:
    parent = op.parent_op()
    return isinstance(op.next_op, func.ReturnOp) and parent is not None and is_kernel(parent)


class _Instrument:
    """Puts the operations on rounds into blocks."""

    def __init__(self, bounds: Bounds, cap: int, symbols: SymbolTables) -> None:
        self._bounds = bounds
        self._cap = cap
        self._symbols = symbols

    def block(self, block: Block, *, is_outermost: bool) -> bool:
        """Changes a block; returns whether anything is counted in it.

        Args:
            is_outermost: whether no loop of this function is around it: then loops are checked, else an outer
                one is.
        """
        counts = [self._op(op, is_outermost) for op in block_operations(block)]
        return any(counts)

    def _op(self, op: Operation, is_outermost: bool) -> bool:
        # isinstance is a call in Python for each other one.
        if type(op) is scf.ForOp or type(op) is scf.WhileOp:
            self._loop(op, is_outermost)
            return True
        if has_loop_inside(op):
            self._after(op, self._meeting(is_outermost))
            return True
        callee = callee_of(op, self._symbols)
        if callee is not None:
            return self._bounds.of_function(callee) != 0
        inner = [self.block(b, is_outermost=is_outermost) for r in op.regions for b in region_blocks(r)]
        counts = any(inner)
        if counts and not _ends_kernel(op):
            for region in op.regions:
                for block in region_blocks(region):
                    self._leave_agreement(block)
            passed_by = [CountRoundsOp(self._bounds.loops_in(op))] if is_outermost else []
            self._after(op, [*passed_by, AgreeOnRoundsOp()])
        return counts

    def _leave_agreement(self, block: Block) -> None:
        """Removes the last agreement of a branch's arm, where one behind the branch follows and nothing is counted
        in between but what all of the arm's work-items count: the highest count stays the highest."""
        for op in reversed(block_operations(block)):
            if isinstance(op, AgreeOnRoundsOp):
                op.detach()
                op.erase()
                return
            if op.regions or isinstance(op, func.CallOp | CheckRoundsOp) or has_loop_inside(op):
                return

    def _loop(self, op: Operation, is_outermost: bool) -> None:
        bound = self._bounds.of_op(op)
        if bound is not None and bound <= EXACT_ROUNDS and self._bounds.is_exact(op):
            self._after(op, [CountRoundsOp(bound), *([CheckRoundsOp(self._cap)] if is_outermost else [])])
            return
        each = self._bounds.loops_in(op)
        counts = [self.block(region.block, is_outermost=False) for region in op.regions]
        meeting = self._meeting(is_outermost)
        # A while without loops inside counts its tests.  One with loops counts in its body: where the driver ends it,
        # what has been counted since its last test arrives behind it only if the test counts nothing itself.
        # One whose test has loops is checked in its body as well.
        counts_tests = isinstance(op, scf.WhileOp) and not any(counts)
        if isinstance(op, scf.WhileOp) and counts[0]:
            self._insert_last(op.after_region.block, CheckRoundsOp(self._cap), op)
        end = [] if counts_tests else [CountRoundsOp(each)]
        found = None if any(counts) else add_trips(op, divides=is_outermost)
        if found is not None:  # no loop inside counts, so all rounds are added behind the loop
            op, last, trips = found
            counted = CountRoundsOp(0 if end else 1, trips)
            self._after(last, [counted, *meeting, *end])
            return
        self._insert_first(op.regions[0 if counts_tests else -1].block, op, each)
        self._after(op, [*meeting, *end])

    def _insert_first(self, block: Block, loop: Operation, rounds: int) -> None:
        count, first = CountRoundsOp(rounds), block.first_op
        count.location = loop.location
        assert first is not None
        block.insert_op_before(count, first)

    def _insert_last(self, block: Block, new: Operation, loop: Operation) -> None:
        end = block.last_op
        new.location = loop.location
        assert end is not None
        block.insert_op_before(new, end)

    def _after(self, op: Operation, following: list[Operation]) -> None:
        assert op.parent is not None
        for new in following:
            new.location = op.location
        op.parent.insert_ops_after(following, op)

    def _meeting(self, is_outermost: bool) -> list[Operation]:
        """Returns what stands behind a loop, where its work-items meet again.  Who has left it last has the highest
        count, so the check comes first."""
        return [*([CheckRoundsOp(self._cap)] if is_outermost else []), AgreeOnRoundsOp()]
