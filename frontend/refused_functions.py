"""Functions that can be neither kernels nor helpers: lambdas, coroutines, generators."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Sequence
from dataclasses import dataclass

from ..ir.errors import Diagnostic, Location


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a function is refused."""

    kind: str
    """``a generator``, as messages call it."""
    hint: str
    """What to write instead."""
    nodes: tuple[type[ast.AST], ...]
    """What makes it one: the first of these inside of it, or it itself."""


_LAMBDA = Refusal("a lambda", "write it with def: def name(a): return …", ())
_COROUTINE = Refusal(
    "a coroutine", "write def without async; what waits is the host, for the lp.Event of a launch", ()
)
_GENERATOR_HINT = "write results into an array parameter instead of yielding them"
_YIELDS = (ast.Yield, ast.YieldFrom)


def refusal(function: types.FunctionType) -> Refusal:
    """Returns why a function that is no plain one is refused."""
    if function.__name__ == "<lambda>":
        return _LAMBDA
    flags = function.__code__.co_flags
    if flags & (inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE):
        return _COROUTINE
    if flags & inspect.CO_ASYNC_GENERATOR:
        return Refusal("an asynchronous generator", _GENERATOR_HINT, _YIELDS)
    return Refusal("a generator", _GENERATOR_HINT, _YIELDS)


def finding(function: types.FunctionType, why: Refusal, message: str) -> Diagnostic | None:
    """Returns the message with the line and caret of what is refused; None where the text cannot be found."""
    try:
        lines = inspect.findsource(function)[0]
        tree = ast.parse("".join(lines))
    except (OSError, TypeError, IndexError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    node = _definition(tree, function)
    if node is None:
        return None
    culprit = next((n for n in _in_order(node) if isinstance(n, why.nodes)), node)
    line = lines[culprit.lineno - 1]
    first = _column(line, culprit.col_offset)
    if isinstance(culprit, ast.FunctionDef | ast.AsyncFunctionDef):
        last = line.find(culprit.name, first - 1) + len(culprit.name) + 1
    else:
        is_one_line = culprit.end_lineno == culprit.lineno and culprit.end_col_offset is not None
        last = _column(line, culprit.end_col_offset or 0) if is_one_line else None
    location = Location(function.__code__.co_filename, culprit.lineno, first, function.__qualname__)
    return Diagnostic(message, location, "error", line.rstrip("\r\n"), last)


_Culprit = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Yield | ast.YieldFrom


def _definition(
    tree: ast.AST, function: types.FunctionType
) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None:
    """Returns the node of a function: the one of its name that begins at its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            name, first = "<lambda>", node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name, first = node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)])
        else:
            continue
        if (name, first) == (function.__name__, function.__code__.co_firstlineno):
            return node
    return None


def _in_order(node: ast.AST) -> Sequence[_Culprit]:
    """Returns what may be to blame inside of a function, as it stands in the text."""
    inside = [n for n in ast.walk(node) if isinstance(n, _Culprit)]
    return sorted(inside, key=lambda n: (n.lineno, n.col_offset))


def _column(line: str, column_bytes: int) -> int:
    """Converts a byte column from 0 to a character column from 1."""
    return len(line.encode()[:column_bytes].decode(errors="replace")) + 1
