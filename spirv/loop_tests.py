"""The tests by which a loop counts up or down to an end: `LoopTests`.  Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from .binary import Instruction
from .loop_blocks import Loop, successors
from .memory_places import base_of
from .module_view import BlockView, FunctionView, ModuleView
from .tables import Op, StorageClass

MOST_ROUNDS = 1 << 16
"""As many are not computed any more."""

COMPARISONS: dict[int, tuple[bool, Callable[[int, int], bool]]] = {
    Op.SLessThan: (True, lambda a, b: a < b),
    Op.SLessThanEqual: (True, lambda a, b: a <= b),
    Op.SGreaterThan: (True, lambda a, b: a > b),
    Op.SGreaterThanEqual: (True, lambda a, b: a >= b),
    Op.ULessThan: (False, lambda a, b: a < b),
    Op.ULessThanEqual: (False, lambda a, b: a <= b),
    Op.UGreaterThan: (False, lambda a, b: a > b),
    Op.UGreaterThanEqual: (False, lambda a, b: a >= b),
    Op.IEqual: (False, lambda a, b: a == b),
    Op.INotEqual: (False, lambda a, b: a != b),
}
"""Comparisons of integers: whether they are signed, and what they compute."""
_NEARING: dict[tuple[int, bool | None], int] = {
    (Op.SLessThan, True): 1,
    (Op.ULessThan, True): 1,
    (Op.SGreaterThanEqual, False): 1,
    (Op.UGreaterThanEqual, False): 1,
    (Op.SGreaterThan, True): -1,
    (Op.UGreaterThan, True): -1,
    (Op.SLessThanEqual, False): -1,
    (Op.ULessThanEqual, False): -1,
}
"""Comparisons, and what they are where the loop goes on, by the sign of the steps that bring it to an end."""


@dataclass(frozen=True, slots=True)
class _Counter:
    """A number that each round of a loop changes alike."""

    firsts: tuple[int | None, ...]
    """What it may be in the first round, None where that is not known."""
    step: int

    @property
    def seconds(self) -> tuple[int | None, ...]:
        """What it may be in the second."""
        return tuple(None if first is None else first + self.step for first in self.firsts)


class LoopTests:
    """Finds the most rounds of a loop that goes on while a counter compares so with a constant.

    The counter is a phi of the header, or a variable that is loaded and stored and nothing else, as glslang writes it.
    """

    def __init__(self, view: ModuleView, function: FunctionView, loop: Loop) -> None:
        self._view = view
        self._function = function
        self._loop = loop
        self._blocks = {block.label: block for block in function.blocks}

    def most(self) -> int | None:
        """Returns how often the header runs at most, None where that is not known or beyond `MOST_ROUNDS`."""
        found = [self._of_test(block) for block in self._each_round()]
        return min((rounds for rounds in found if rounds is not None), default=None)

    def exits(self) -> list[BlockView]:
        """Returns the blocks that run in every round and end in a test that may lead out of the loop."""
        return [block for block in self._each_round() if self.goes_on(block) is not None]

    def ways_out(self) -> list[BlockView]:
        """Returns all blocks of the loop that end in a test which may lead out of it, in every round or not."""
        return [
            block
            for block in self._function.blocks
            if block.label in self._loop.inside and self.goes_on(block) is not None
        ]

    def goes_on(self, block: BlockView) -> bool | None:
        """Returns what the test of a block is where the loop goes on; None for a block that is no such exit."""
        end = block.terminator
        if end is None or end.opcode != Op.BranchConditional:
            return None
        leaves = [self._leads_out(label) for label in end.operands[1:3]]
        return leaves[1] if leaves[0] != leaves[1] else None

    def _leads_out(self, label: int) -> bool:
        """Whether a block and what comes behind it leave the loop without another test."""
        seen: set[int] = set()
        while label != self._loop.merge:
            if label in seen or label not in self._loop.inside:
                return False
            seen.add(label)
            end = self._blocks[label].terminator
            if end is None or end.opcode != Op.Branch:
                return end is not None and end.opcode in (Op.Return, Op.ReturnValue)
            label = end.operands[0]
        return True

    def counts_to_end(self, block: BlockView) -> bool:
        """Whether the test of a block compares a counter with an end that the loop does not move, and that it nears."""
        found = self._comparison(block)
        if found is None:
            return False
        test, goes_on = found
        sign = _NEARING.get((test.opcode, goes_on), 0)
        return any(
            self._step_of(counter) * direction > 0 and self._is_given(limit)
            for counter, limit, direction in ((*test.operands, sign), (*reversed(test.operands), -sign))
        )

    def _comparison(self, block: BlockView) -> tuple[Instruction, bool] | None:
        """Returns what a way out compares, and what that is where the loop goes on."""
        end, goes_on = block.terminator, self.goes_on(block)
        if end is None or goes_on is None:
            return None
        test = self._view.definitions.get(end.operands[0])
        while test is not None and test.opcode == Op.LogicalNot:
            goes_on, test = not goes_on, self._view.definitions.get(test.operands[0])
        return None if test is None or test.opcode not in COMPARISONS else (test, goes_on)

    def _step_of(self, value: int) -> int:
        """Returns what each round adds to a value, 0 where that is not known."""
        counter = self._counter(value)
        return 0 if counter is None else in_bits(counter.step, 32, is_signed=True)

    def _is_given(self, value: int) -> bool:
        """Whether a value is no result of the loop's own, but for loads from what other work-items see, too."""
        made = next((item for item in self._items() if item.result_id == value), None)
        if made is None:
            return True
        if made.opcode != Op.Load:
            return False
        base = base_of(self._view, made.operands[0])
        kind = self._view.type_of(base)
        is_own = kind is None or kind.operands[0] in (StorageClass.Function, StorageClass.Private)
        return not is_own or not any(i.opcode != Op.Load and base in i.operands for i in self._items())

    def _items(self) -> Iterator[Instruction]:
        for label in self._loop.inside:
            yield from self._blocks[label].body

    def back_edge(self) -> BlockView | None:
        """Returns the block that leads to the next round, None where there is none."""
        return next(iter(self._back_edges()), None)

    def _each_round(self) -> list[BlockView]:
        """Returns blocks that run in every round: the header, what it goes on to, and where the round ends."""
        header = self._blocks[self._loop.header]
        found = [header]
        following = successors(header, self._view)
        if len(following) == 1 and following[0] in self._loop.inside:
            found.append(self._blocks[following[0]])
        found += [block for block in self._back_edges() if block not in found]
        return found

    def _back_edges(self) -> list[BlockView]:
        header = self._loop.header
        return [
            self._blocks[label]
            for label in self._loop.inside
            if header in successors(self._blocks[label], self._view)
        ]

    def _of_test(self, block: BlockView) -> int | None:
        test = self._comparison(block)
        if test is None:
            return None
        compare, goes_on = test
        limit, counter = self._constant(compare.operands[1]), self._counter(compare.operands[0])
        if limit is None or counter is None or None in counter.firsts:
            return None
        rounds = [
            self._of_counter(first or 0, counter.step, limit, compare, goes_on) for first in counter.firsts
        ]
        return None if None in rounds else max(number or 0 for number in rounds)

    def _of_counter(
        self, first: int, step: int, limit: int, compare: Instruction, goes_on: bool
    ) -> int | None:
        is_signed, holds = COMPARISONS[compare.opcode]
        limit, value = in_bits(limit, 32, is_signed), first
        for rounds in range(1, MOST_ROUNDS):
            if holds(in_bits(value, 32, is_signed), limit) != goes_on:
                return rounds
            value += step
        return None

    def _counter(self, value: int) -> _Counter | None:
        """Returns what a value is in the rounds; None where that is not known."""
        item = self._view.definitions.get(value)
        if item is None:
            return None
        if item.opcode == Op.Phi:
            return self._of_phi(item)
        if item.opcode == Op.Load:
            is_read_each_round = any(item in self._blocks[label].body for label in self._loop.inside)
            return self._of_variable(item.operands[0]) if is_read_each_round else None
        if item.opcode == Op.IAdd:  # the counter of the next round
            phi = self._view.definitions.get(item.operands[0])
            found = self._of_phi(phi) if phi is not None and phi.opcode == Op.Phi else None
            step = self._constant(item.operands[1])
            return None if found is None or step != found.step else replace(found, firsts=found.seconds)
        return None

    def _of_phi(self, phi: Instruction) -> _Counter | None:
        if phi not in self._blocks[self._loop.header].body:
            return None
        pairs = list(zip(phi.operands[::2], phi.operands[1::2], strict=True))
        starts = {self._constant(value) for value, label in pairs if label not in self._loop.inside}
        steps = {
            self._step(value, lambda base: base == phi.result_id)
            for value, label in pairs
            if label in self._loop.inside
        }
        return _counter(starts, steps)

    def _of_variable(self, variable: int) -> _Counter | None:
        definition = self._view.definitions.get(variable)
        if definition is None or definition.opcode != Op.Variable or definition not in self._blocks_first():
            return None
        stores: list[tuple[int, Instruction]] = []
        for block in self._function.blocks:
            for item in block.body:
                if item.opcode == Op.Store and item.operands[0] == variable:
                    if item.operands[1] == variable:
                        return None
                    stores.append((block.label, item))
                elif variable in item.operands and item.opcode != Op.Load:
                    return None
        mine = [(label, item) for label, item in stores if label in self._loop.inside]
        if len(mine) != 1 or mine[0][0] not in self._every_round():
            return None
        step = self._step(mine[0][1].operands[1], lambda base: self._loads(base, variable))
        found = _counter({self._stored_before(variable)}, {step})
        # It may be read before or behind where the round changes it.
        return None if found is None else replace(found, firsts=(*found.firsts, *found.seconds))

    def _blocks_first(self) -> list[Instruction]:
        return self._function.blocks[0].body

    def _every_round(self) -> set[int]:
        """Returns blocks that run once before the next round begins."""
        back = self._back_edges()
        target = self._loop.continue_target
        return {
            *(() if self._is_repeated(target) else (target,)),
            *((back[0].label,) if len(back) == 1 else ()),
        }

    def _is_repeated(self, label: int) -> bool:
        """Whether a loop inside of this one has a block of the loop."""
        outside = {*self._blocks} - self._loop.inside
        seen, pending = {self._loop.header, *outside}, [label]
        while pending:
            for following in successors(self._blocks[pending.pop()], self._view):
                if following == label != self._loop.header:
                    return True
                if following not in seen:
                    seen.add(following)
                    pending.append(following)
        return False

    def _stored_before(self, variable: int) -> int | None:
        """Returns the constant that is stored right before the loop."""
        header = self._loop.header
        before = [
            block
            for block in self._function.blocks
            if block.label not in self._loop.inside and header in successors(block, self._view)
        ]
        if len(before) != 1:
            return None
        stores = [i for i in before[0].body if i.opcode == Op.Store and i.operands[0] == variable]
        return self._constant(stores[-1].operands[1]) if stores else None

    def _step(self, value: int, is_counter: Callable[[int], bool]) -> int | None:
        item = self._view.definitions.get(value)
        if item is None or item.opcode not in (Op.IAdd, Op.ISub) or not is_counter(item.operands[0]):
            return None
        step = self._constant(item.operands[1])
        return -step if step is not None and item.opcode == Op.ISub else step

    def _loads(self, value: int, variable: int) -> bool:
        item = self._view.definitions.get(value)
        return item is not None and item.opcode == Op.Load and item.operands[0] == variable

    def _constant(self, value: int) -> int | None:
        item = self._view.definitions.get(value)
        kind = self._view.type_of(value)
        if item is None or kind is None or kind.opcode != Op.TypeInt or kind.operands[0] != 32:
            return None
        return item.operands[0] if item.opcode == Op.Constant else None


def _counter(starts: set[int | None], steps: set[int | None]) -> _Counter | None:
    if len(steps) != 1 or None in steps:
        return None
    (step,) = steps
    return _Counter(tuple(starts) if len(starts) == 1 else (None,), step or 0)


def in_bits(number: int, bits: int, is_signed: bool) -> int:
    """Returns a number as one of an integer type."""
    number %= 1 << bits
    return number - (1 << bits) if is_signed and number >> bits - 1 else number
