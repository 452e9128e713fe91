"""Which variables a condition has set where it came out true, and where it came out false.

if a > 0 and (m := f(a)) > 4:      m is set in the body, and nowhere else
if a < 0 or (m := f(a)) > 4:       m is set in the else
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from .function_builder import FunctionBuilder
from .values import Unset

_NOTHING: frozenset[str] = frozenset()


class NamesSet(NamedTuple):
    """The variables that evaluating an expression has certainly set, by the truth of its value."""

    if_false: frozenset[str]
    if_true: frozenset[str]

    @property
    def always(self) -> frozenset[str]:
        """Those that it sets whatever its value."""
        return self.if_false & self.if_true


def names_set(node: ast.AST) -> NamesSet:
    """Returns what evaluating an expression sets."""
    match node:
        case ast.BoolOp(op=op, values=values):
            return _of_operands([names_set(value) for value in values], isinstance(op, ast.And))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return NamesSet(*reversed(names_set(operand)))
        case ast.NamedExpr(target=target, value=value):
            return NamesSet(*(names | {target.id} for names in names_set(value)))
        case ast.Compare(left=left, comparators=[first, *others]):
            always = names_set(left).always | names_set(first).always
            return NamesSet(always, always.union(*(names_set(other).always for other in others)))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            no, yes = names_set(test)
            pairs = zip(names_set(body), names_set(orelse), strict=True)
            return NamesSet(*((yes | a) & (no | b) for a, b in pairs))
        case _:
            always = _NOTHING.union(*(names_set(child).always for child in ast.iter_child_nodes(node)))
            return NamesSet(always, always)


def _of_operands(operands: list[NamesSet], is_and: bool) -> NamesSet:
    """Returns what ``and`` or ``or`` sets: an operand runs where each one before came out as `is_and`."""
    before, ends = _NOTHING, list[frozenset[str]]()
    for operand in operands:
        ends.append(before | operand[not is_and])
        before |= operand[is_and]
    ended = ends[0].intersection(*ends[1:])
    return NamesSet(ended, before) if is_and else NamesSet(before, ended)


def take_names(fb: FunctionBuilder, test: ast.expr, outcome: bool) -> None:
    """Gives the variables that `test` has set, if its truth is `outcome`, the values that they have there."""
    if Unset not in map(type, fb.env.values()):  # the usual case
        return
    maybe = {n for n, b in fb.env.items() if isinstance(b, Unset) and b.value is not None}
    if not maybe:
        return
    for name in maybe & names_set(test)[outcome]:
        binding = fb.env[name]
        assert isinstance(binding, Unset) and binding.value is not None
        fb.env[name] = binding.value
