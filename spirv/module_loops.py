"""The loops of a module's functions: what is inside of each, and the most rounds that they run.

Loops of which nothing is known have no bound: None.  Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from .binary import Instruction
from .loop_blocks import Loop, inside_of, successors
from .loop_tests import MOST_ROUNDS, LoopTests
from .module_view import BlockView, FunctionView, ModuleView
from .tables import Op

MOST_LOOPS = 1000
"""Of a function that is looked at closely: nobody's time is to be spent on modules made to waste it."""
_RETURNS = frozenset((Op.Return, Op.ReturnValue))


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
        inside = {label: inside_of(label, merge, following) for label, merge, _ in merges}
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
            found = None if len(loops) > MOST_LOOPS else LoopTests(self._view, function, loop).most()
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
