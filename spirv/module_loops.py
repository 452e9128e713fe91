"""The loops of a module's functions: what is inside of each, and the most rounds that they run.

In structured control flow (SPIR-V 1.6 §2.11) a loop is left through its merge block or by a return alone, so what is
inside is what its header reaches without passing the merge block.  Loops of which nothing is known have no bound: None.
Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from .binary import Instruction
from .module_view import BlockView, FunctionView, ModuleView
from .tables import Op

MOST_ROUNDS = 1 << 16
"""As many are not computed any more."""
MOST_LOOPS = 1000
"""Of a function that is looked at closely: nobody's time is to be spent on modules made to waste it."""
_RETURNS = frozenset((Op.Return, Op.ReturnValue))


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop; blocks are known by their labels."""

    header: int
    merge: int
    continue_target: int
    inside: frozenset[int]
    is_outermost: bool
    """Whether no loop of the function is around it."""
    is_alone: bool
    """Whether it has no loops inside, no calls of functions with loops, and no returns: work-items leave it in step,
    and no others' rounds pass meanwhile."""


class ModuleLoops:
    """The loops of all functions of a valid module."""

    def __init__(self, view: ModuleView) -> None:
        self._view = view
        self._functions = {function.result_id: function for function in view.functions}
        self._callees = {f.result_id: _callees(f.instructions()) for f in view.functions}
        self._have_loops: dict[int, bool] = {}
        self._most: dict[int, int | None] = {}
        self._counts: dict[int, int] = {}
        self._loops: dict[int, list[Loop]] = {}
        for number in self._callees_first():
            function = self._functions[number]
            self._have_loops[number] = (
                not function.blocks
                or any(item.opcode == Op.LoopMerge for item in function.instructions())
                or any(map(self._has_loops, self._callees[number]))
            )

    def _callees_first(self) -> list[int]:
        """Returns the functions, each behind those that it calls."""
        order: dict[int, None] = {}
        for root in self._functions:
            pending = [(root, iter(self._callees[root]))]
            path = {root}
            while pending:
                number, rest = pending[-1]
                callee = next(
                    (c for c in rest if c in self._functions and c not in order and c not in path), None
                )
                if callee is None:
                    pending.pop()
                    path.discard(number)
                    order[number] = None
                else:
                    path.add(callee)
                    pending.append((callee, iter(self._callees[callee])))
        return list(order)

    def _has_loops(self, function: int) -> bool:
        """Whether a function, or one that it calls, has loops; True where that is in another module."""
        return self._have_loops.get(function, True)

    def of_function(self, function: FunctionView) -> list[Loop]:
        """Returns the loops of a function, outer ones first; beyond `MOST_LOOPS` all that is said is where they are."""
        known = self._loops.get(function.result_id)
        if known is None:
            known = self._loops[function.result_id] = self._find(function)
        return known

    def _find(self, function: FunctionView) -> list[Loop]:
        merges = [
            (block.label, *merge.operands[:2])
            for block in function.blocks
            if (merge := block.merge) is not None and merge.opcode == Op.LoopMerge
        ]
        if len(merges) > MOST_LOOPS:
            return [Loop(label, merge, target, frozenset(), False, False) for label, merge, target in merges]
        following = {block.label: successors(block, self._view) for block in function.blocks}
        leaving = {block.label for block in function.blocks if self._leaves(block)}
        inside = {label: _inside(label, merge, following) for label, merge, _ in merges}
        parents: dict[int, int | None] = {}
        for label, *_ in merges:  # those around it come before it, the innermost last
            parents[label] = next((head for head in reversed(parents) if label in inside[head]), None)
        around = set(parents.values())
        return [
            Loop(
                label,
                merge,
                target,
                inside[label],
                is_outermost=parents[label] is None,
                is_alone=label not in around and leaving.isdisjoint(inside[label]),
            )
            for label, merge, target in merges
        ]

    def _leaves(self, block: BlockView) -> bool:
        """Whether a block returns, or calls a function with loops."""
        end = block.terminator
        return end is None or end.opcode in _RETURNS or any(map(self._has_loops, _callees(block.body)))

    def loops_in(self, function: FunctionView, loop: Loop) -> int:
        """Returns how many loops a loop is and has inside, those of functions that it calls there among them."""
        found = 1
        for block in function.blocks:
            if block.label in loop.inside:
                found += block.label != loop.header and _has_loop(block)
                found += sum(map(self.loops_of, _callees(block.body)))
        return min(found, MOST_ROUNDS - 1)

    def loops_of(self, function: int) -> int:
        """Returns how many loops a function and those that it calls have, by its id."""
        if not self._counts:
            for number in self._callees_first():
                items = self._functions[number].instructions()
                own = sum(item.opcode == Op.LoopMerge for item in items)
                called = sum(self._counts.get(callee, 1) for callee in self._callees[number])
                self._counts[number] = min(own + called, MOST_ROUNDS - 1)
        return self._counts.get(function, 1)

    def most_rounds(self, function: int) -> int | None:
        """Returns the most rounds of all loops that a call of a function runs, the last tests included.

        None where that is not known, or `MOST_ROUNDS` and more.
        """
        if not self._most:
            for number in self._callees_first():
                self._most[number] = self._sum(self._functions[number])
        return self._most[function]

    def _sum(self, function: FunctionView) -> int | None:
        if not self._has_loops(function.result_id):
            return 0
        loops = self.of_function(function)
        rounds: dict[int, int] = {}
        for loop in loops:
            found = None if len(loops) > MOST_LOOPS else _Rounds(self._view, function, loop).most()
            if found is None or sum(rounds.values()) > MOST_ROUNDS:
                return None
            rounds[loop.header] = found

        def times(label: int) -> int:
            return math.prod(rounds[loop.header] for loop in loops if label in loop.inside)

        total = sum(times(loop.header) for loop in loops)
        for block in function.blocks:
            for callee in _callees(block.body):
                most = self._most.get(callee)
                if most is None:
                    return None
                total += times(block.label) * most
        return total if total < MOST_ROUNDS else None


def _has_loop(block: BlockView) -> bool:
    return block.merge is not None and block.merge.opcode == Op.LoopMerge


def _callees(items: Iterable[Instruction]) -> list[int]:
    return [item.operands[0] for item in items if item.opcode == Op.FunctionCall]


def _inside(header: int, merge: int, following: Mapping[int, tuple[int, ...]]) -> frozenset[int]:
    """Returns the blocks that a block reaches without passing another one."""
    seen, pending = {header}, [header]
    while pending:
        for label in following[pending.pop()]:
            if label != merge and label not in seen and label in following:
                seen.add(label)
                pending.append(label)
    return frozenset(seen)


def successors(block: BlockView, view: ModuleView) -> tuple[int, ...]:
    """Returns the labels that a block may go on to."""
    end = block.terminator
    words = view.switch_literal_words(end.operands[0]) if end is not None and end.opcode == Op.Switch else 1
    return block.successors(words)


_COMPARISONS: dict[int, tuple[bool, Callable[[int, int], bool]]] = {
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


class _Rounds:
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
        found = [self._of_test(block) for block in self._tests()]
        return min((rounds for rounds in found if rounds is not None), default=None)

    def _tests(self) -> list[BlockView]:
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
        end = block.terminator
        if end is None or end.opcode != Op.BranchConditional or self._loop.merge not in end.operands[1:3]:
            return None
        goes_on = end.operands[1] != self._loop.merge
        test = self._view.definitions.get(end.operands[0])
        if test is None or test.opcode not in _COMPARISONS or len(test.operands) != 2:
            return None
        counter, limit = test.operands[0], self._constant(test.operands[1])
        start = self._counter(counter)
        if limit is None or start is None:
            return None
        first, step = start
        is_signed, holds = _COMPARISONS[test.opcode]
        limit, value = _in_32_bits(limit, is_signed), first
        for rounds in range(1, MOST_ROUNDS):
            if holds(_in_32_bits(value, is_signed), limit) != goes_on:
                return rounds + 1  # a variable may be read before or behind where the round changes it
            value += step
        return None

    def _counter(self, value: int) -> tuple[int, int] | None:
        """Returns what a value is in the first round, and what each round adds; None where that is not known."""
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
            return None if found is None or step != found[1] else (found[0] + found[1], found[1])
        return None

    def _of_phi(self, phi: Instruction) -> tuple[int, int] | None:
        if phi not in self._blocks[self._loop.header].body:
            return None
        pairs = list(zip(phi.operands[::2], phi.operands[1::2], strict=True))
        starts = {self._constant(value) for value, label in pairs if label not in self._loop.inside}
        steps = {
            self._step(value, lambda base: base == phi.result_id)
            for value, label in pairs
            if label in self._loop.inside
        }
        return _only(starts, steps)

    def _of_variable(self, variable: int) -> tuple[int, int] | None:
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
        return _only({self._stored_before(variable)}, {step})

    def _blocks_first(self) -> list[Instruction]:
        return self._function.blocks[0].body

    def _every_round(self) -> set[int]:
        """Returns blocks that run once before the next round begins."""
        back = self._back_edges()
        return {self._loop.continue_target, *((back[0].label,) if len(back) == 1 else ())}

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


def _only(starts: set[int | None], steps: set[int | None]) -> tuple[int, int] | None:
    if len(starts) != 1 or len(steps) != 1:
        return None
    (start,), (step,) = starts, steps
    return None if start is None or step is None else (start, step)


def _in_32_bits(number: int, is_signed: bool) -> int:
    number %= 1 << 32
    return number - (1 << 32) if is_signed and number >> 31 else number
