"""Which function compiles which kind of syntax-tree node.

The tables are filled by the decorators while the frontend's modules are imported (by `builder`) and never change
afterwards.  A node type that is in neither table is refused by `unsupported`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from .function_builder import FunctionBuilder
    from .values import Value

EXPRESSIONS: dict[type[ast.AST], Callable[[FunctionBuilder, Any], Value]] = {}
"""Expression node type to the function that compiles it."""
STATEMENTS: dict[type[ast.AST], Callable[[FunctionBuilder, Any], None]] = {}
"""Simple statement node type to the function that compiles it."""

_E = TypeVar("_E", bound="Callable[..., Any]")


def expression(node_type: type[ast.AST]) -> Callable[[_E], _E]:
    """Registers the function that compiles expressions of `node_type`."""

    def register(function: _E) -> _E:
        EXPRESSIONS[node_type] = function
        return function

    return register


def statement(node_type: type[ast.AST]) -> Callable[[_E], _E]:
    """Registers the function that compiles simple statements of `node_type`."""

    def register(function: _E) -> _E:
        STATEMENTS[node_type] = function
        return function

    return register


INTRINSICS: dict[str, Callable[[FunctionBuilder, ast.Call, list[Value]], Value]] = {}
"""Name of an intrinsic (``math.sqrt``) or builtin (``builtins.min``) to the function that compiles calls of it."""


def intrinsic(*names: str) -> Callable[[_E], _E]:
    """Registers the function that compiles calls of the intrinsics `names`."""

    def register(function: _E) -> _E:
        for name in names:
            INTRINSICS[name] = function
        return function

    return register
