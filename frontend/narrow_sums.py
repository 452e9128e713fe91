"""Finds sums that are narrower than they look: ``total = 0`` that takes the u8 of the elements that a loop adds to it.

Only what begins with a bare literal and is added to in a loop is meant; who writes a type, ``lp.u8(0)`` or
``total: lp.u8 = 0``, knows it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from .function_builder import FunctionBuilder
from .named_objects import named_object
from .types import ScalarType, f32, i32, scalar_of

_NARROW_BITS = 16


def note_narrow_sums(fb: FunctionBuilder) -> None:
    """Adds a warning for each such variable of a function whose types are known."""
    narrow = {
        name: kind
        for name, kind in fb.variable_types.items()
        if isinstance(kind, ScalarType) and 1 < kind.bits <= _NARROW_BITS and name not in fb.declared
    }
    if not narrow or fb.module.library_call is not None:
        return
    stores = [store for store in _stores(fb.source.tree.body, in_loop=False) if store[0] in narrow]
    for name, kind in narrow.items():
        own = [(value, in_loop) for stored, value, in_loop in stores if stored == name]
        sums = [value for value, in_loop in own if value and in_loop and _is_sum(fb, name, kind, value)]
        starts = [value for value, _ in own if isinstance(value, ast.expr) and _is_literal(value)]
        if sums and starts and len(sums) + len(starts) == len(own):
            _note(fb, name, kind, sums[0])


def _note(fb: FunctionBuilder, name: str, kind: ScalarType, node: ast.AST) -> None:
    wide = f32 if kind.is_float else i32
    loses = (
        f"a sum of many lp.{kind.name} loses digits"
        if kind.is_float
        else f"it wraps beyond {kind.minimum} … {kind.maximum}"
    )
    start = "0.0" if kind.is_float else "0"
    fb.warn(
        node,
        f"variable '{name}' of '{fb.source.name}' is an lp.{kind.name}, as what the loop adds to it is: {loses}; "
        f"write {name}: lp.{wide.name} = {start} for a wider one, or lp.{kind.name} there if that is meant",
    )


_Store = tuple[str, ast.AST | None, bool]
"""A variable, what it is given (the whole statement where that is augmented, None where it is something else), and
whether that is in a loop."""


def _stores(statements: Sequence[ast.stmt], *, in_loop: bool) -> Iterator[_Store]:
    """Yields each assignment of a variable."""
    for statement in statements:
        is_loop = isinstance(statement, ast.For | ast.While)
        match statement:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _targets(target, value, in_loop)
            case ast.AnnAssign(target=target, value=value):
                yield from _targets(target, value, in_loop)
            case ast.AugAssign(target=target):
                yield from _targets(target, statement, in_loop)
            case ast.For(target=target):
                yield from _targets(target, None, in_loop)
            case _:
                pass
        for part in ast.iter_child_nodes(statement):
            if isinstance(part, ast.expr):
                yield from (
                    (n.target.id, None, in_loop) for n in ast.walk(part) if isinstance(n, ast.NamedExpr)
                )
        for body in ("body", "orelse"):
            yield from _stores(getattr(statement, body, ()), in_loop=in_loop or (is_loop and body == "body"))


def _targets(target: ast.expr, value: ast.AST | None, in_loop: bool) -> Iterator[_Store]:
    match target, value:
        case ast.Name(id=name), _:
            yield name, value, in_loop
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            for part, item in zip(targets, values, strict=True):
                yield from _targets(part, item, in_loop)
        case ast.Tuple(elts=targets), _:
            for part in targets:
                yield from _targets(part, None, in_loop)
        case _:
            pass


def _is_sum(fb: FunctionBuilder, name: str, kind: ScalarType, value: ast.AST) -> bool:
    """Whether what a variable is given is itself with something added, of a type and a size that nobody chose there."""
    match value:
        case ast.AugAssign(op=operator, value=added):
            pass
        case ast.BinOp(op=(ast.Add() | ast.Mult()) as operator, left=added, right=ast.Name(id=other)) if (
            other == name
        ):
            pass
        case ast.BinOp(op=operator, left=ast.Name(id=other), right=added) if other == name:
            pass
        case _:
            return False
    # Each factor costs a product of floats as many digits as the last one did.
    grows = ast.Add | ast.Sub if kind.is_float else ast.Add | ast.Sub | ast.Mult
    return isinstance(operator, grows) and not (_is_conversion(fb, added) or _is_cut(added))


def _is_cut(node: ast.expr) -> bool:
    """Whether a number was made small so that a sum of it fits: ``x[k] // 9``, ``x[k] >> 4``, ``x[k] & 1``."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.FloorDiv | ast.Mod | ast.RShift | ast.BitAnd)
        and _is_literal(node.right)
    )


def _is_conversion(fb: FunctionBuilder, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and scalar_of(named_object(fb, node.func)) is not None


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant)
