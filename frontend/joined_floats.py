"""Which variables are floats because of one assignment, and integers by another: notes of messages.

C has a variable for each block, Python's tracers and Numba one for each assignment; here a variable has one type in a
function, so that ``s = 0.0`` in one loop makes the ``s = 32`` of another an f32.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from ..ir.errors import Diagnostic
from .intrinsics import WORK_ITEM_FUNCTIONS
from .source import FunctionSource
from .types import ScalarType


def joined_floats(source: FunctionSource, node: ast.AST, types: Mapping[str, object]) -> list[Diagnostic]:
    """Returns a note for each variable in `node` that an assignment makes a float, though others give integers.

    Args:
        source: the function.
        node: where an integer was wanted.
        types: of the variables, as far as they are known.
    """
    names = dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
    notes: list[Diagnostic] = []
    for name in names:
        kind = types.get(name)
        if not isinstance(kind, ScalarType) or not kind.is_float:
            continue
        values = list(_assigned(source.tree, name))
        integer = next((value for value in values if _is_integer(value)), None)
        others = [value for value in values if not _is_integer(value)]
        other = next(filter(_is_float, others), others[0] if len(others) == 1 else None)
        if integer is not None and other is not None:
            text = (
                f"'{name}' is a float in the whole function, as this makes it one; "
                f"the integer of line {integer.lineno} needs a variable of its own"
            )
            notes.append(source.diagnostic(other, text, severity="note"))
    return notes


def _assigned(tree: ast.AST, name: str) -> Iterator[ast.expr]:
    """Yields what is assigned to a variable: values, the ranges of loops; of ``x /= 2`` what it stands for."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _matched(target, value, name)
            case ast.NamedExpr(target=ast.Name(id=found), value=value) if found == name:
                yield value
            case ast.AugAssign(target=ast.Name(id=found), op=op, value=value) if found == name:
                if isinstance(op, ast.Div) or not _is_integer(value):
                    yield value if not isinstance(op, ast.Div) else _quotient(node)
            case ast.For(target=ast.Name(id=found), iter=items) if found == name:
                yield items
            case _:
                continue


def _quotient(node: ast.AugAssign) -> ast.expr:
    return ast.copy_location(ast.BinOp(node.target, ast.Div(), node.value), node)


def _matched(target: ast.expr, value: ast.expr, name: str) -> Iterator[ast.expr]:
    if isinstance(target, ast.Name):
        if target.id == name:
            yield value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, other in zip(target.elts, value.elts, strict=False):
            yield from _matched(one, other, name)


def _is_float(value: ast.expr) -> bool:
    """Whether an expression is a float by its text alone."""
    return any(
        (isinstance(node, ast.Constant) and isinstance(node.value, float)) or isinstance(node, ast.Div)
        for node in ast.walk(value)
    )


def _is_integer(value: ast.expr) -> bool:
    """Whether an expression is an integer by its text alone."""
    match value:
        case ast.Constant(value=int()):
            return True
        case ast.UnaryOp(operand=operand):
            return _is_integer(operand)
        case ast.BinOp(left=left, op=op, right=right):
            return not isinstance(op, ast.Div | ast.Pow) and _is_integer(left) and _is_integer(right)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in WORK_ITEM_FUNCTIONS or name in ("range", "int", "len", "i32", "u32")
        case _:
            return False
