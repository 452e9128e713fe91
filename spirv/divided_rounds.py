"""Keeps the ends of loops from drivers that compute wrongly how many rounds they have: `rounds_hidden`.

    for (int k = 0; k > -2147483648; --k)      →       for (int k = 0; k > -2147483648 + %zero; --k)

Such a driver (`vk_runtime.quirks`, divided-rounds) divides the distance of start and end by the step, where it knows
all three: -2^31 by -1 ends the process.  And it takes a loop that tests behind a round, and whose counter would not
pass the test before, for one of that round alone.  The 0 is computed (`opaque_memory`).

What ends the process is looked for wherever something is compared, as the driver sees the counter through variables,
conversions, calls and truth values that are kept.  For the other fault it is known whether a loop goes on for a truth:
else nearly all loops would be hidden, and no driver unrolled them.

What `passes.convert_to_spirv.loop_ends` does for kernels in Python.  Standard library only.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Iterable, Iterator, Set

from .binary import Instruction, Module
from .component_types import component_type
from .loop_blocks import Loop, successors
from .loop_tests import COMPARISONS, LoopTests, in_bits
from .module_loops import ModuleLoops
from .module_view import FunctionView, ModuleView
from .origins import SPEC_CONSTANTS, Origins
from .rewrite import Rewrite
from .tables import Op
from .wide_orders import hide_order

_MARGIN = 2
"""A driver may test for the number beside the end."""
_CONVERSIONS = (Op.UConvert, Op.SConvert, Op.Bitcast)
_STEPS = {Op.IAdd: -1, Op.ISub: 1, Op.FAdd: None, Op.FSub: None}
"""Opcodes that change a counter, and the constant by which integers count down."""
_FLOAT_COMPARISONS: dict[int, Callable[[float, float], bool]] = {
    Op.FOrdEqual: operator.eq,
    Op.FUnordEqual: operator.eq,
    Op.FOrdNotEqual: operator.ne,
    Op.FUnordNotEqual: operator.ne,
    Op.FOrdLessThan: operator.lt,
    Op.FUnordLessThan: operator.lt,
    Op.FOrdLessThanEqual: operator.le,
    Op.FUnordLessThanEqual: operator.le,
    Op.FOrdGreaterThan: operator.gt,
    Op.FUnordGreaterThan: operator.gt,
    Op.FOrdGreaterThanEqual: operator.ge,
    Op.FUnordGreaterThanEqual: operator.ge,
}
_FLOAT_FORMATS = {16: ("<H", "<e"), 32: ("<I", "<f"), 64: ("<Q", "<d")}
"""By width how `struct` spells the bits and the number."""
_MOST_ORIGINS = 200_000
"""As many are looked at in a module; what is compared behind them is hidden unseen."""
_MOST_PAIRS = 10_000
"""As many starts and ends are not compared any more."""


def rounds_hidden(module: Module) -> Module:
    """Returns a valid module so changed; itself where it has no such loops."""
    rewrite = Rewrite(module)
    loops = ModuleLoops(rewrite.view)
    if not any(map(loops.of_function, rewrite.view.functions)):
        return module
    counters = _Counters(rewrite)
    found: dict[int, tuple[FunctionView, Instruction]] = {}
    if counters.has_far_constants():
        for function, item in rewrite.instructions(*COMPARISONS):
            if counters.may_be_far(item):
                found[item.ordinal] = function, item
    for function in rewrite.view.functions:
        for loop in loops.of_function(function):
            if loop.inside:  # else one of too many
                tests = counters.failing(function, loop)
                found.update((item.ordinal, (function, item)) for item in tests)
    for function, item in found.values():
        if item.opcode in _FLOAT_COMPARISONS:
            _hide_float(rewrite, function, item)
        else:
            hide_order(rewrite, function, item)
    return rewrite.finished()


def _hide_float(rewrite: Rewrite, function: FunctionView, compare: Instruction) -> None:
    """Chooses the second operand of a comparison: a sum might change it, and its bits may need a capability."""
    editor, (left, right) = rewrite.editor, compare.operands
    zero, body = rewrite.index(function), rewrite.before(compare)
    never = editor.emit(body, Op.INotEqual, zero, editor.number(0), type_=editor.bool_)
    chosen = editor.emit(body, Op.Select, never, left, right, type_=editor.type_of(right))
    rewrite.put(compare, compare._replace(operands=(left, chosen)))


class _Counters:
    """What is known of the numbers of a module that loops may count."""

    def __init__(self, rewrite: Rewrite) -> None:
        self._editor = rewrite.editor
        self._view = rewrite.view
        self._origins = Origins(rewrite.view, _CONVERSIONS)
        self._known: dict[int, frozenset[int]] = {}
        self._down: dict[int, bool] = {}
        self._looked_at = 0

    def has_far_constants(self) -> bool:
        """Whether any constants are so far apart: in most modules none are, and nothing need be looked at."""
        constants = {
            item.result_id or 0
            for item in self._view.of_opcode(Op.Constant, *SPEC_CONSTANTS)
            if self._view.definitions[item.result_type or 0].opcode == Op.TypeInt
        }
        numbers = self._numbers(constants)
        return any(_are_far(numbers, numbers, bits) for bits in (8, 16, 32, 64))

    def may_be_far(self, order: Instruction) -> bool:
        """Whether what is compared may be a counter that goes down by 1, and half of all numbers from its start."""
        left, right = map(self._before, order.operands)
        if self._looked_at > _MOST_ORIGINS:
            return True
        return any(map(self._counts_down, left | right)) and _are_far(
            self._numbers(left), self._numbers(right), self._bits(order)
        )

    def failing(self, function: FunctionView, loop: Loop) -> Iterator[Instruction]:
        """Yields the tests by which a loop would end before its first round."""
        tests = LoopTests(self._view, function, loop)
        in_front = _tests_in_front(self._view, function, loop)
        for block in tests.ways_out():
            end = block.body[-1]
            for order, goes_on in self._orders(end.operands[0], bool(tests.goes_on(block))):
                if self._may_fail(order, goes_on, is_behind=block.label not in in_front):
                    yield order

    def _orders(self, truth: int, holds: bool) -> Iterator[tuple[Instruction, bool]]:
        """Yields the comparisons that a truth may be made of, and what each is where the truth is as given."""
        seen: set[tuple[int, bool]] = set()
        pending = [(truth, holds)]
        while pending:
            value, holds = pending.pop()
            for number in self._origins.of((value,)):
                item = self._view.definitions[number]
                if (number, holds) in seen:
                    continue
                seen.add((number, holds))
                if item.opcode in COMPARISONS or item.opcode in _FLOAT_COMPARISONS:
                    if self._view.definitions[item.result_type or 0].opcode == Op.TypeBool:
                        yield item, holds
                elif item.opcode == Op.LogicalNot:
                    pending.append((item.operands[0], not holds))
                elif item.opcode in (Op.LogicalAnd, Op.LogicalOr):
                    pending += ((operand, holds) for operand in item.operands)
                elif item.opcode == Op.Select:
                    pending += ((item.operands[0], either) for either in (True, False))

    def _may_fail(self, order: Instruction, goes_on: bool, *, is_behind: bool) -> bool:
        left, right = map(self._before, order.operands)
        if self._looked_at > _MOST_ORIGINS:
            return True
        if not any(self._view.definitions[number].opcode in _STEPS for number in left | right):
            return False
        starts, ends = self._numbers(left), self._numbers(right)
        if None in starts | ends:  # it may be any; a test in front of the round then ends the loop in truth
            return is_behind and bool(starts and ends)
        if len(starts) * len(ends) > _MOST_PAIRS:
            return True
        holds = _comparison(order.opcode, self._bits(order))
        return any(holds(start or 0, end or 0) != goes_on for start in starts for end in ends)

    def _before(self, value: int) -> frozenset[int]:
        """Returns a number and all that it may have been before, also before rounds added to it."""
        if value not in self._known:
            found, pending = set[int](), {value}
            while pending and self._looked_at <= _MOST_ORIGINS:
                more = self._origins.of(pending) - found
                found |= more
                self._looked_at += len(more) + 1
                pending = {
                    operand
                    for number in more
                    if (item := self._view.definitions[number]).opcode in _STEPS
                    for operand in item.operands
                    if self._view.definitions[operand].opcode != Op.Constant  # the step
                } - found
            self._known[value] = frozenset(found)
        return self._known[value]

    def _numbers(self, values: Iterable[int]) -> set[int | None]:
        """Returns the bits of the constants among some values; None for those that the driver alone knows."""
        found: set[int | None] = set()
        for value in values:
            item = self._view.definitions[value]
            if item.opcode == Op.Constant:
                found.add(sum(word << 32 * place for place, word in enumerate(item.operands)))
            elif item.opcode == Op.ConstantNull:
                found.add(0)
            elif item.opcode in SPEC_CONSTANTS:
                found.add(None)
            elif item.opcode == Op.ConstantComposite:
                found |= self._numbers(item.operands)
        return found

    def _counts_down(self, value: int) -> bool:
        if value not in self._down:
            self._down[value] = self._may_count_down(self._view.definitions[value])
        return self._down[value]

    def _may_count_down(self, item: Instruction) -> bool:
        step_down = _STEPS.get(item.opcode)
        if step_down is None:
            return False
        if self._looked_at > _MOST_ORIGINS:
            return True
        origins = self._origins.of(item.operands[item.opcode == Op.ISub :])
        self._looked_at += len(origins)
        steps = self._numbers(origins)
        all_ones = (1 << self._bits(item)) - 1
        return None in steps or any(((step or 0) - step_down) & all_ones == 0 for step in steps)

    def _bits(self, item: Instruction) -> int:
        """Returns how wide the numbers are that an instruction takes."""
        scalar, _ = component_type(self._editor, self._editor.type_of(item.operands[0]))
        return scalar.operands[0]


def _comparison(opcode: int, bits: int) -> Callable[[int, int], bool]:
    """Returns what a comparison says of the bits of two numbers."""
    of_floats = _FLOAT_COMPARISONS.get(opcode)
    if of_floats is not None:
        as_bits, as_float = _FLOAT_FORMATS[bits]
        mask = (1 << bits) - 1

        def number(word: int) -> float:
            return struct.unpack(as_float, struct.pack(as_bits, word & mask))[0]

        return lambda left, right: of_floats(number(left), number(right))
    is_signed, of_integers = COMPARISONS[opcode]
    return lambda left, right: of_integers(in_bits(left, bits, is_signed), in_bits(right, bits, is_signed))


def _are_far(starts: Set[int | None], ends: Set[int | None], bits: int) -> bool:
    if None in starts | ends:
        return bool(starts and ends)
    mask, half = (1 << bits) - 1, 1 << bits - 1
    known = {(end or 0) & mask for end in ends}
    return any(
        (start or 0) + half + beside & mask in known
        for start in starts
        for beside in range(-_MARGIN, _MARGIN + 1)
    )


def _tests_in_front(view: ModuleView, function: FunctionView, loop: Loop) -> set[int]:
    """Returns the blocks of a loop that nothing of a round comes before: its header, and what is behind that alone."""
    header = next(block for block in function.blocks if block.label == loop.header)
    following = successors(header, view)
    return {loop.header, *(following if len(following) == 1 else ())}
