"""The most rounds that loops can run, as far as the code shows it.

    %r = scf.while (%x = %one) : … {                      at most 7 rounds: 1, 2, 4, … 64
      %c = arith.cmpi slt, %x, %hundred : i32
      scf.condition(%c) %x : i32
    } do { … %y = arith.shli %x, %one : i32  scf.yield %y }

Loops of which nothing is known have no bound: None.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import cast

from xdsl.dialects import arith, func, gpu, memref, scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ..ir.attribute_values import integer
from ..ir.call_graph import Function, SymbolTables, has_body
from ..ir.dialects.kernel import SETTLES, GlobalRangeOp
from ..ir.dialects.kernel_atomic import AtomicOp
from ..ir.walk import block_operations, region_blocks
from .optimise.constants import INDEX_WIDTH, constant_integer, integer_width, unsigned
from .optimise.fold_control_flow import trip_count
from .optimise.fold_integers import compares, computes
from .optimise.linearise_indices import has_wide_ids

EXACT_ROUNDS = 256
"""A loop with so many rounds or fewer, if it always has them, is counted as a whole."""


def callee_of(op: Operation, symbols: SymbolTables) -> Function | None:
    """Returns the function that a call runs, None for other operations and for functions of elsewhere."""
    if type(op) is not func.CallOp:  # isinstance of a class with an abstract base is a call in Python
        return None
    callee = symbols.resolve(op, op.callee)
    return callee if isinstance(callee, Function) and has_body(callee) else None


def has_loop_inside(op: Operation) -> bool:
    """Whether an atomic operation is a loop on the device: compare-exchange until it succeeds."""
    return _is_atomic(type(op)) and cast("AtomicOp", op).is_loop


@cache
def _is_atomic(kind: type[Operation]) -> bool:
    return issubclass(kind, AtomicOp)


class Bounds:
    """The most rounds that operations can run, remembered for functions; None: not known."""

    def __init__(self, symbols: SymbolTables, known: Mapping[Operation, int] | None = None) -> None:
        """Starts with the loops whose bounds the caller knows."""
        self._symbols = symbols
        self._known = known or {}
        self._functions: dict[Function, int | None] = {}
        self._loops: dict[Function, int] = {}

    def of_function(self, function: Function) -> int | None:
        """Returns the bound of a function; None where it calls itself."""
        if function not in self._functions:
            self._functions[function] = None
            self._functions[function] = _sum([self.of_block(block) for block in function.body.blocks])
        return self._functions[function]

    def of_block(self, block: Block) -> int | None:
        """Returns the bound of a block."""
        return _sum([self.of_op(op) for op in block_operations(block)])

    def of_op(self, op: Operation) -> int | None:
        """Returns the bound of one operation with what is inside."""
        if op in self._known:
            return self._known[op]
        if type(op) is scf.ForOp:
            trips, inner = _most_trips(op), self.of_block(op.body.block)
            return None if trips is None or inner is None else (trips + 1) * (1 + inner)
        if type(op) is scf.WhileOp:
            settles = integer(op.attributes.get(SETTLES))
            trips = _most_rounds(op) if settles is None else settles - 1
            inner = _sum([self.of_block(region.block) for region in op.regions])
            return None if trips is None or inner is None else (trips + 1) * (1 + inner)
        if type(op) is func.CallOp:
            callee = callee_of(op, self._symbols)
            return None if callee is None else self.of_function(callee)
        if has_loop_inside(op):
            return None
        # The arms of a branch add up: a sub-group may take both.
        return _sum([self.of_block(block) for region in op.regions for block in region_blocks(region)])

    def loops_in(self, op: Operation) -> int:
        """Returns how many loops an operation is or has inside, those of functions that it calls among them."""
        own = type(op) is scf.ForOp or type(op) is scf.WhileOp or has_loop_inside(op)
        callee = callee_of(op, self._symbols)
        called = 0 if callee is None else self._loops_of(callee)
        return (
            own
            + called
            + sum(
                [self.loops_in(i) for r in op.regions for b in region_blocks(r) for i in block_operations(b)]
            )
        )

    def _loops_of(self, function: Function) -> int:
        if function not in self._loops:
            self._loops[function] = 0  # where it calls itself
            inside = (
                self.loops_in(op) for block in region_blocks(function.body) for op in block_operations(block)
            )
            self._loops[function] = sum(inside)
        return self._loops[function]

    def is_exact(self, op: Operation) -> bool:
        """Whether an operation with a bound has as many rounds whenever it runs."""
        if op in self._known:
            return True
        if isinstance(op, scf.ForOp):
            is_known = trip_count(op) is not None
        elif isinstance(op, scf.WhileOp):
            is_known = _has_one_end(op)
        else:
            return self.of_op(op) == 0
        return is_known and all(
            self.is_exact(inner) for region in op.regions for inner in block_operations(region.block)
        )


def _sum(bounds: list[int | None]) -> int | None:
    total = 0
    for bound in bounds:
        if bound is None:
            return None
        total += bound
    return total


def _most_trips(op: scf.ForOp) -> int | None:
    """Returns the most rounds of a loop that counts up to a constant, from a number that is known or not negative."""
    known = trip_count(op)
    high, step = constant_integer(op.operands[1]), _least_step(op.operands[2])
    if known is not None or high is None or step is None or not is_natural(op.operands[0]):
        return known
    return max(-(-high // step), 0)


def _least_step(value: SSAValue) -> int | None:
    """Returns the least that a positive number can be, None for others: a work-group has a work-item at least."""
    number = constant_integer(value)
    if number is not None:
        return number if number > 0 else None
    while isinstance(value.owner, arith.IndexCastOp) and _keeps_sizes(value.owner):
        value = value.owner.operands[0]
    return 1 if isinstance(value.owner, gpu.BlockDimOp) else None


_SIZES = (gpu.GlobalIdOp, gpu.ThreadIdOp, gpu.BlockIdOp, gpu.BlockDimOp, GlobalRangeOp, memref.DimOp)


def is_natural(value: SSAValue) -> bool:
    """Whether a number is an id or a size, or one of them and a constant, which are never negative."""
    owner = value.owner
    if isinstance(owner, arith.IndexCastOp):
        return _keeps_sizes(owner) and is_natural(owner.operands[0])
    if isinstance(owner, arith.SelectOp):
        return all(is_natural(operand) for operand in owner.operands[1:])
    if isinstance(owner, arith.SubiOp):  # natural if it takes away no more than there is
        least, less = owner.operands[0].owner, owner.operands[1]
        return (
            isinstance(least, arith.MaxUIOp)
            and less in least.operands
            and all(map(is_natural, least.operands))
        )
    number = constant_integer(value)
    return isinstance(owner, _SIZES) or (number is not None and number >= 0)


def _keeps_sizes(cast: arith.IndexCastOp) -> bool:
    """Whether a cast leaves no size negative: narrow integers do, and 32 bits where sizes have 64."""
    width = integer_width(cast.results[0].type) or 0
    if width != INDEX_WIDTH:
        return width > INDEX_WIDTH
    return not has_wide_indices(cast)


def has_wide_indices(op: Operation) -> bool:
    """Whether an index may have 64 bits where `op` stands, or nobody knows."""
    module = op.get_toplevel_object()
    return not isinstance(module, Operation) or has_wide_ids(module)


def is_inside(value: SSAValue, loop: Operation) -> bool:
    """Whether a value is made inside of a loop."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    return block is not None and loop.is_ancestor(block)


def _most_rounds(op: scf.WhileOp) -> int | None:
    """Returns the most rounds of a loop that goes on while one of its values compares so with a constant, else None."""
    before, after = op.before_region.block, op.after_region.block
    test, again = before.last_op, after.last_op
    if not isinstance(test, scf.ConditionOp) or again is None:
        return None
    for compare in conjuncts(test.operands[0]):
        value, limit = compare.operands[0], constant_integer(compare.operands[1])
        if limit is None or not isinstance(value, BlockArgument) or value.owner is not before:
            continue
        changed = change_of(op, value.index) or _change_while_it_goes_on(op, value.index)
        if changed is None:
            continue
        (kind, amount), start = changed, op.operands[value.index]
        number = constant_integer(amount)
        rounds = None if number is None else _rounds(compare, constant_integer(start), (kind, number), limit)
        if rounds is None and kind is arith.AddiOp:
            rounds = _most_steps(compare, start, amount, limit)
        if rounds is not None:
            return rounds
    return None


_FAR_FROM_THE_END = 1 << 30
"""Numbers of 32 bits below it, and steps as large as that or a local size, do not come around."""


def _most_steps(compare: arith.CmpiOp, start: SSAValue, amount: SSAValue, limit: int) -> int | None:
    """Returns how many positive steps a number takes at most that is not negative, until it is no longer below a
    limit."""
    width = integer_width(compare.operands[0].type) or INDEX_WIDTH
    step, first = _least_step(amount), constant_integer(start)
    if first is None and is_natural(start):
        first = 0
    is_below = compare.predicate.value.data in _BELOW and 0 <= limit < _FAR_FROM_THE_END
    if not is_below or width < INDEX_WIDTH or step is None or first is None or first < 0:
        return None
    return max(-((first - limit) // step), 0) if step <= _FAR_FROM_THE_END else None


def _change_while_it_goes_on(op: scf.WhileOp, index: int) -> tuple[type[Operation], SSAValue] | None:
    """The same as `change_of`, of a value that is as it was, or anything, in the round that ends the loop."""
    after = op.after_region.block.last_op
    test = op.before_region.block.last_op
    assert after is not None and test is not None
    value = after.operands[index]
    owner = value.owner
    if isinstance(owner, Block):
        return None
    for flag in _ends(op, test.operands[0]):
        ended = after.operands[flag]
        if isinstance(owner, arith.SelectOp) and owner.operands[0] is ended:
            return _change(op, index, owner.operands[2])
        if isinstance(owner, scf.IfOp) and ended.owner is owner:
            arms = [end for region in owner.regions for end in [region.block.last_op] if end is not None]
            number, flagged = owner.results.index(value), owner.results.index(ended)
            going_on = [arm.operands[number] for arm in arms if constant_integer(arm.operands[flagged]) != -1]
            return _change(op, index, going_on[0]) if len(going_on) == 1 else None
        if isinstance(owner, scf.IfOp) and owner.cond is ended:
            end = owner.false_region.block.last_op
            return None if end is None else _change(op, index, end.operands[owner.results.index(value)])
    return None


def _ends(op: scf.WhileOp, condition: SSAValue) -> list[int]:
    """Returns which carried values are flags that end the loop where they are true."""
    owner = condition.owner
    if isinstance(owner, arith.AndIOp):
        return [flag for operand in owner.operands for flag in _ends(op, operand)]
    if not isinstance(owner, arith.XOrIOp) or constant_integer(owner.rhs) != -1:
        return []
    flag = owner.lhs
    if isinstance(flag, BlockArgument) and flag.owner is op.before_region.block:
        return [flag.index]
    return []


def exact_rounds(op: scf.WhileOp) -> int | None:
    """Returns how many rounds a loop has whenever it runs; None where that is not known."""
    return _most_rounds(op) if _has_one_end(op) else None


def _has_one_end(op: scf.WhileOp) -> bool:
    """Whether a loop with a bound ends by that alone: by one comparison of a value that starts at a constant."""
    test = op.before_region.block.last_op
    compare = None if test is None else test.operands[0].owner
    value = compare.operands[0] if isinstance(compare, arith.CmpiOp) else None
    if not isinstance(value, BlockArgument) or value.owner is not op.before_region.block:
        return False
    return constant_integer(op.operands[value.index]) is not None and step_of(op, value.index) is not None


def step_of(op: scf.WhileOp, index: int) -> tuple[type[Operation], int] | None:
    """Returns how each round changes a carried value, as an operation on it and a constant; None where it is not so."""
    changed = change_of(op, index)
    number = None if changed is None else constant_integer(changed[1])
    return None if changed is None or number is None else (changed[0], number)


def change_of(op: scf.WhileOp, index: int) -> tuple[type[Operation], SSAValue] | None:
    """Returns how each round changes a carried value, as an operation on it and a value; None where it is not so."""
    again = op.after_region.block.last_op
    assert again is not None
    return _change(op, index, again.operands[index])


def _change(op: scf.WhileOp, index: int, following: SSAValue) -> tuple[type[Operation], SSAValue] | None:
    """Returns how a value that follows a carried one is made of it."""
    before, after = op.before_region.block, op.after_region.block
    test = before.last_op
    assert test is not None
    owner, value = following.owner, before.args[index]
    if isinstance(owner, Block) or len(owner.operands) != 2:
        return None
    base, other = owner.operands
    if isinstance(base, BlockArgument) and base.owner is after:
        base = test.operands[1 + base.index]  # the value that arrives there from the test
    return (type(owner), other) if base is value else None


def conjuncts(condition: SSAValue) -> list[arith.CmpiOp]:
    """Returns the comparisons of integers that all hold where `condition` does."""
    owner = condition.owner
    if isinstance(owner, arith.AndIOp):
        return [c for operand in owner.operands for c in conjuncts(operand)]
    return [owner] if isinstance(owner, arith.CmpiOp) else []


_BELOW = (2, 6)
"""Predicates slt and ult of `arith.cmpi`."""
_POSITIVE = (4, 8)
"""Predicates sgt and ugt."""


def _rounds(
    compare: arith.CmpiOp, first: int | None, step: tuple[type[Operation], int], limit: int
) -> int | None:
    """Returns how often a value that starts at `first` and is changed by `step` compares so with `limit`, or None."""
    predicate, (kind, number) = compare.predicate.value.data, step
    width = integer_width(compare.operands[0].type) or 32
    if kind is arith.AddiOp and number > 0 and predicate in _BELOW and first is not None and first >= 0:
        is_signed = predicate == _BELOW[0]
        end = limit if is_signed else unsigned(limit, width)
        if end + number <= 1 << (width - is_signed):  # else it may come around
            return max(-((first - end) // number), 0)
    if first is None:
        halves = kind is arith.ShRUIOp or (kind is arith.ShRSIOp and predicate == _POSITIVE[0])
        return width if halves and 0 < number < width and limit == 0 and predicate in _POSITIVE else None
    value: int | None = first
    for rounds in range(EXACT_ROUNDS):
        if value is None:
            return None
        if not compares(predicate, value, limit, width):
            return rounds
        value = computes(kind, value, number, width)
    return None
