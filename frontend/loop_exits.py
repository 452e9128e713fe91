"""Which variables a loop has certainly set where it ends, and where a break leaves it.

for k in range(n):
    if x[k] > 0:
        found = k
        break                  found is set here
else:
    found = -1                 and on the only other way out of the loop
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from .definite import names_set

_Names = frozenset[str] | None
"""What is set at a place; None where control never gets there."""

_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LoopExits:
    """The variables that a loop has certainly set on each of its ways out, None for a way that nothing takes."""

    at_break: _Names
    at_end: _Names
    """Where its condition is false or its range ended; of a ``for`` if it ran a round."""

    @property
    def always(self) -> frozenset[str]:
        """Those that are set whichever way was taken."""
        return _common([self.at_break, self.at_end]) or _NOTHING

    @property
    def ever(self) -> frozenset[str]:
        """Those that are set on some way."""
        return (self.at_break or _NOTHING) | (self.at_end or _NOTHING)


def loop_exits(node: ast.For | ast.While, *, runs_a_round: bool = True) -> LoopExits:
    """Returns what a loop sets.

    Args:
        node: the loop.
        runs_a_round: whether the range of a ``for`` is known not to be empty.
    """
    flow = _Flow()
    if isinstance(node, ast.While):
        at_end, first = names_set(node.test)
        flow.statements(node.body, first)
        return LoopExits(_common(flow.breaks), None if is_endless(node) else at_end)
    last = flow.statements(node.body, names_set(node.iter).always | stored_names(node.target))
    at_end = _common([last, *flow.continues]) if runs_a_round else names_set(node.iter).always
    return LoopExits(_common(flow.breaks), at_end)


def is_endless(node: ast.For | ast.While) -> bool:
    """Whether a loop is ``while True``."""
    return isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)


@dataclass(slots=True)
class _Flow:
    """Follows control through the statements of one loop, and keeps what is set where it jumps."""

    breaks: list[_Names] = field(default_factory=list[_Names])
    continues: list[_Names] = field(default_factory=list[_Names])

    def statements(self, statements: Sequence[ast.stmt], names: _Names) -> _Names:
        """Returns what is set behind `statements` if `names` are before them."""
        for statement in statements:
            if names is None:
                return None
            names = self._statement(statement, names)
        return names

    def _statement(self, statement: ast.stmt, names: frozenset[str]) -> _Names:
        match statement:
            case ast.Break():
                self.breaks.append(names)
                return None
            case ast.Continue():
                self.continues.append(names)
                return None
            case ast.Return():
                return None
            case ast.If(test=test, body=body, orelse=orelse):
                no, yes = names_set(test)
                return _common([self.statements(body, names | yes), self.statements(orelse, names | no)])
            case ast.For() | ast.While():
                return self._loop(statement, names)
            case ast.AnnAssign(value=None) | ast.Assert():  # `python -O` leaves asserts out
                return names
            case ast.Assign(targets=targets):
                return names.union(names_set(statement).always, *map(stored_names, targets))
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                return names | names_set(statement).always | stored_names(target)
            case _:
                return names | names_set(statement).always

    def _loop(self, node: ast.For | ast.While, names: frozenset[str]) -> _Names:
        exits = loop_exits(node, runs_a_round=isinstance(node, ast.For) and _has_items(node.iter))
        left = None if exits.at_break is None else names | exits.at_break
        ended = None if exits.at_end is None else self.statements(node.orelse, names | exits.at_end)
        return _common([left, ended])


def _common(ways: Sequence[_Names]) -> _Names:
    """Returns what is set on every way that is taken at all."""
    taken = [names for names in ways if names is not None]
    return taken[0].intersection(*taken[1:]) if taken else None


def stored_names(target: ast.expr) -> frozenset[str]:
    """Returns the variables that a target or a condition sets."""
    return frozenset(
        n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )


def _has_items(iterable: ast.expr) -> bool:
    """Whether the text alone says that an inner loop runs: over a range of literals or a tuple."""
    match iterable:
        case ast.Tuple(elts=items):
            return bool(items)
        case ast.Call(func=ast.Name(id="enumerate"), args=[items, *_]):
            return _has_items(items)
        case ast.Call(func=ast.Name(id="zip"), args=[_, *_] as parts, keywords=[]):
            return all(map(_has_items, parts))
        case (
            ast.Call(func=ast.Name(id="range"), args=arguments, keywords=[])
            | ast.Call(func=ast.Attribute(attr="static_range"), args=arguments, keywords=[])
        ):
            numbers: list[int] = []
            for argument in arguments:
                try:
                    number: object = ast.literal_eval(argument)
                except ValueError:
                    return False
                numbers.append(cast(int, number))
            if not 1 <= len(numbers) <= 3 or any(type(number) is not int for number in numbers):
                return False
            return numbers[2:] != [0] and bool(range(*numbers))
        case _:
            return False
