"""Keeps drivers that end loops early from doing so in silence: the pass limit-loops.

input:    scf.for %i = %a to %b step %s {     output:   scf.for %i = %a to %b step %s {
            …                                             "kernel.count_rounds"() <{rounds = 1 : i32}>
          }                                               …
                                                        }
                                                        "kernel.check_rounds"() <{limit = 65535 : i32}>
                                                        "kernel.count_rounds"() <{rounds = 1 : i32}>

Such a driver (`vk_runtime.quirks`) counts the rounds of all loops of a sub-group in one number, the round in which
a loop ends included, and leaves every loop once the number reaches its cap.  The pass makes the kernel count the
same.  Work-items that left a loop, or went the other way at a branch, learn the number where they meet again
(`kernel.agree_on_rounds`), so it is exact for all that run.

Invariant: a kernel either provably stays below the cap, and is not changed, or every outermost loop of it is
checked.  Short loops are unrolled first (`unroll`): the rest then lasts longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from ..ir.call_graph import Function, function_name, functions, has_body, resolve
from ..ir.dialects import aspect
from ..ir.dialects.kernel import is_kernel
from ..ir.dialects.kernel_atomic import AtomicOp
from ..ir.dialects.kernel_reports import AgreeOnRoundsOp, CheckRoundsOp, CountRoundsOp
from .errors import UncountedLoopError
from .optimise.constants import constant_integer
from .optimise.fold_control_flow import trip_count
from .unroll import unroll_for, unroll_short_loops, unroll_while

EXACT_ROUNDS = 256
"""A loop with at most so many rounds, known now, is counted as a whole."""
_BELOW = (2, 6)
"""Predicates slt and ult of `arith.cmpi`."""


def limit_loops(module: Operation, cap: int, level: int = 1) -> None:
    """Changes the kernels of `module`, and their helpers, for a driver with this cap; `level` of optimisation."""
    found = [function for function in functions(module) if has_body(function)]
    for function in found:
        _check_exported(function, cap)
    bounds = _Bounds()
    kernels = [f for f in found if is_kernel(f) and not _is_below(bounds.of_function(f), cap)]
    known: dict[Operation, int] = {}
    pending, reached = list(kernels), dict.fromkeys(kernels)
    while pending:
        for callee in _callees(pending.pop()):
            if callee not in reached:
                reached[callee] = None
                pending.append(callee)
    for function in reached:
        unroll_short_loops(function)
        for op in tuple(function.body.walk()):
            if isinstance(op, scf.ForOp | scf.WhileOp) and not _is_below(bounds.of_op(op), EXACT_ROUNDS):
                left_over = unroll_for(op, level) if isinstance(op, scf.ForOp) else unroll_while(op, level)
                if left_over:
                    known[op] = left_over + 1
    instrument = _Instrument(_Bounds(known), cap)
    for function in reached:
        for block in function.body.blocks:
            instrument.block(block, is_outermost=True)


def _check_exported(function: Function, cap: int) -> None:
    """Unrolls the loops of an exported function; raises where one is left, as nobody counts its rounds."""
    if is_kernel(function) or not aspect.is_external(function):
        return
    name = function_name(function)
    pending, seen = [function], {function}
    while pending:
        reached = pending.pop()
        unroll_short_loops(reached)
        for op in reached.body.walk():
            if isinstance(op, scf.ForOp | scf.WhileOp):
                raise UncountedLoopError(
                    f"the exported function '{name}' has a loop here; the device's driver ends all loops of a kernel "
                    f"after {cap:,} rounds without saying so, and rounds are not counted across modules: give the "
                    "loop few rounds that are known now, write it in the kernel, or make the function a plain helper",
                    op,
                    function=name,
                )
        for callee in _callees(reached):
            if callee not in seen:
                seen.add(callee)
                pending.append(callee)


def _is_below(bound: int | None, cap: int) -> bool:
    return bound is not None and bound < cap


def _callees(function: Function) -> list[Function]:
    return [callee for op in function.body.walk() if (callee := _callee(op)) is not None]


def _callee(op: Operation) -> Function | None:
    reference = op.properties.get("callee")
    if not isinstance(op, func.CallOp) or not isinstance(reference, SymbolRefAttr):
        return None
    callee = resolve(op, reference)
    return callee if isinstance(callee, Function) and has_body(callee) else None


def _has_loop_inside(op: Operation) -> bool:
    """Whether an atomic operation is a loop on the device: compare-exchange until it succeeds."""
    return isinstance(op, AtomicOp) and op.is_loop


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


class _Bounds:
    """The most rounds that operations can run, remembered for functions; None: not known."""

    def __init__(self, known: Mapping[Operation, int] | None = None) -> None:
        """Starts with the loops whose bounds the caller knows."""
        self._known = known or {}
        self._functions: dict[Function, int | None] = {}

    def of_function(self, function: Function) -> int | None:
        """Returns the bound of a function; None where it calls itself."""
        if function not in self._functions:
            self._functions[function] = None
            self._functions[function] = _sum([self.of_block(block) for block in function.body.blocks])
        return self._functions[function]

    def of_block(self, block: Block) -> int | None:
        """Returns the bound of a block."""
        return _sum([self.of_op(op) for op in block.ops])

    def of_op(self, op: Operation) -> int | None:
        """Returns the bound of one operation with what is inside."""
        if op in self._known:
            return self._known[op]
        if isinstance(op, scf.ForOp):
            trips, inner = trip_count(op), self.of_block(op.body.block)
            return None if trips is None or inner is None else trips * (1 + inner) + 1
        if isinstance(op, scf.WhileOp):
            trips = _while_rounds(op)
            inner = _sum([self.of_block(region.block) for region in op.regions])
            return None if trips is None or inner is None else (trips + 1) * (1 + inner)
        callee = _callee(op)
        if callee is not None:
            return self.of_function(callee)
        if _has_loop_inside(op) or isinstance(op, func.CallOp):
            return None
        # The arms of a branch add up: a sub-group may take both.
        return _sum([self.of_block(block) for region in op.regions for block in region.blocks])


def _sum(bounds: list[int | None]) -> int | None:
    total = 0
    for bound in bounds:
        if bound is None:
            return None
        total += bound
    return total


def _while_rounds(op: scf.WhileOp) -> int | None:
    """Returns the most rounds of a loop that counts one of its values up by 1 to a constant, else None."""
    before, after = op.before_region.block, op.after_region.block
    test, again = before.last_op, after.last_op
    if not isinstance(test, scf.ConditionOp) or again is None:
        return None
    for compare in _conjuncts(test.operands[0]):
        if compare.predicate.value.data not in _BELOW:
            continue
        counter, high = compare.operands[0], constant_integer(compare.operands[1])
        if high is None or not isinstance(counter, BlockArgument) or counter.owner is not before:
            continue
        low = constant_integer(op.operands[counter.index])
        following = again.operands[counter.index]
        if low is None or low < 0 or not _is_successor(following, test, counter, after):
            continue
        return max(high - low, 0)
    return None


def _conjuncts(condition: SSAValue) -> list[arith.CmpiOp]:
    """Returns the comparisons of integers that all hold where `condition` does."""
    owner = condition.owner
    if isinstance(owner, arith.AndIOp):
        return [c for operand in owner.operands for c in _conjuncts(operand)]
    return [owner] if isinstance(owner, arith.CmpiOp) else []


def _is_successor(value: SSAValue, test: scf.ConditionOp, counter: SSAValue, after: Block) -> bool:
    """Whether `value` is `counter` plus 1, either by its own name or by that which it has in the body."""
    owner = value.owner
    if not isinstance(owner, arith.AddiOp) or constant_integer(owner.operands[1]) != 1:
        return False
    base = owner.operands[0]
    if isinstance(base, BlockArgument) and base.owner is after:
        return test.operands[1 + base.index] is counter
    return base is counter


def _ends_kernel(op: Operation) -> bool:
    parent = op.parent_op()
    return isinstance(op.next_op, func.ReturnOp) and parent is not None and is_kernel(parent)


class _Instrument:
    """Puts the operations on rounds into blocks."""

    def __init__(self, bounds: _Bounds, cap: int) -> None:
        self._bounds = bounds
        self._cap = cap

    def block(self, block: Block, *, is_outermost: bool) -> bool:
        """Changes a block; returns whether anything is counted in it.

        Args:
            is_outermost: whether no loop of this function is around it: then loops are checked, else an outer
                one is.
        """
        counts = [self._op(op, is_outermost) for op in tuple(block.ops)]
        return any(counts)

    def _op(self, op: Operation, is_outermost: bool) -> bool:
        if isinstance(op, scf.ForOp | scf.WhileOp):
            self._loop(op, is_outermost)
            return True
        if _has_loop_inside(op):
            self._after(op, [self._meeting(is_outermost)])
            return True
        callee = _callee(op)
        if callee is not None:
            return self._bounds.of_function(callee) != 0
        inner = [self.block(b, is_outermost=is_outermost) for r in op.regions for b in r.blocks]
        counts = any(inner)
        if counts and not _ends_kernel(op):
            self._after(op, [AgreeOnRoundsOp()])
        return counts

    def _loop(self, op: Operation, is_outermost: bool) -> None:
        bound = self._bounds.of_op(op)
        if bound is not None and bound <= EXACT_ROUNDS:
            self._after(op, [CountRoundsOp(bound), *([CheckRoundsOp(self._cap)] if is_outermost else [])])
            return
        for region in op.regions:
            self.block(region.block, is_outermost=False)
        first = op.regions[0].block
        self._insert_first(first, op)
        following: list[Operation] = [self._meeting(is_outermost)]
        if isinstance(op, scf.ForOp):  # the round in which it finds its end; a while counts its tests
            following.append(CountRoundsOp(1))
        self._after(op, following)

    def _insert_first(self, block: Block, loop: Operation) -> None:
        count, first = CountRoundsOp(1), block.first_op
        count.location = loop.location
        assert first is not None
        block.insert_op_before(count, first)

    def _after(self, op: Operation, following: list[Operation]) -> None:
        assert op.parent is not None
        for new in following:
            new.location = op.location
        op.parent.insert_ops_after(following, op)

    def _meeting(self, is_outermost: bool) -> Operation:
        """Returns what stands behind a loop, where its work-items meet again."""
        return CheckRoundsOp(self._cap) if is_outermost else AgreeOnRoundsOp()
