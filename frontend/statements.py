"""Simple statements: expressions, ``pass``, jumps and ``return``."""

from __future__ import annotations

import ast

from .analysis import BREAK, CONTINUE, RETURN, VALUE
from .assignment import assign_name
from .dispatch import statement
from .function_builder import FunctionBuilder
from .values import Static, Unset, Value, constant


@statement(ast.Pass)
def compile_pass(fb: FunctionBuilder, node: ast.Pass) -> None:
    """Compiles ``pass``."""


@statement(ast.Expr)
def compile_expression_statement(fb: FunctionBuilder, node: ast.Expr) -> None:
    """Compiles an expression for what it does; a docstring does nothing."""
    if isinstance(node.value, ast.Constant):
        return
    value = fb.evaluate(node.value)
    if not fb.is_dry:
        _note_what_does_nothing(fb, node.value, value)


def _note_what_does_nothing(fb: FunctionBuilder, node: ast.expr, value: Value) -> None:
    """Adds a warning for a function that is named and not called, and for ``==`` in the place of ``=``."""
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(value, Static) and callable(value.obj):
        written = ast.unparse(node)
        fb.warn(node, f"'{written}' does nothing unless it is called; write {written}(…)")
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq):
        target = ast.unparse(node.left)
        fb.warn(node, f"a comparison by itself does nothing; write {target} = … to store")


@statement(ast.Break)
def compile_break(fb: FunctionBuilder, node: ast.Break) -> None:
    """Compiles ``break``."""
    _jump(fb, BREAK)


@statement(ast.Continue)
def compile_continue(fb: FunctionBuilder, node: ast.Continue) -> None:
    """Compiles ``continue``."""
    _jump(fb, CONTINUE)


def _jump(fb: FunctionBuilder, flag: str) -> None:
    names = frozenset(name for name, binding in fb.env.items() if not isinstance(binding, Unset))
    fb.set_at_jumps[flag] = names & fb.set_at_jumps.get(flag, names)
    fb.env[flag] = constant(True)


@statement(ast.Return)
def compile_return(fb: FunctionBuilder, node: ast.Return) -> None:
    """Compiles ``return``.

    Raises:
        CompileError: a kernel returns a value.
    """
    returns_none = node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
    if fb.is_kernel and not returns_none:
        raise fb.error(
            node, "a kernel returns nothing", "LP2049", hint="write the result into an array parameter"
        )
    value = Static(None, "None") if node.value is None else fb.evaluate(node.value)
    fb.node = node
    if not fb.is_kernel:
        assign_name(fb, VALUE, value, node)
    fb.env[RETURN] = constant(True)
