"""Finds the type of each variable that is assigned more than once, by walking the function without emitting.

A variable's type only ever moves up (literal, then i32, then i64, …), so walking again until nothing moves ends.
Literals stay weak until then; a variable that only literals were assigned to becomes i32 or f32 afterwards.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress

from .analysis import FLAGS
from .assignment import assign_target, declare_annotated
from .control_flow import build_simple
from .conversions import condition
from .dispatch import STATEMENTS
from .function_builder import FunctionBuilder, UnknownTypeError, VariableType
from .ir_types import INDEX_TYPE, WEAK_FLOAT, WEAK_INT
from .iteration import iterable_items, run_time_rounds
from .narrow_sums import note_narrow_sums
from .promotion import settled
from .types import ScalarType
from .values import Array, Scalar, Value

_MAXIMUM_WALKS = 64
"""More than any chain of promotions takes; a safeguard against walking for ever."""


def infer_types(fb: FunctionBuilder) -> None:
    """Fills `fb.variable_types` where a variable is assigned more than once.

    Raises:
        CompileError: a variable's values have no common type, or whatever else is wrong on the way.
    """
    statements = fb.facts.tree.body
    for node in fb.facts.annotated:
        fb.node = node
        declare_annotated(fb, node)
    if not needs_inference(fb):
        return
    before = dict(fb.variable_types)
    fb.round_names = _round_names(fb)
    fb.is_dry = True
    _walk_until_stable(fb, statements)
    fb.literals = {
        name: WEAK_FLOAT if fb.variable_types[name] is WEAK_FLOAT else WEAK_INT
        for name in fb.round_names
        if _stays_literal(fb, name)
    }
    weak = {
        name: kind
        for name, kind in fb.variable_types.items()
        if name not in fb.literals and _settled(kind) != kind
    }
    if weak:
        fb.variable_types |= {name: _settled(kind) for name, kind in weak.items()}
        _walk_until_stable(fb, statements)
    fb.is_dry, fb.unrolled_rounds = False, 0
    kept = {
        name: kind
        for name, kind in fb.variable_types.items()
        if _is_shared(fb, name) and name not in fb.literals
    }
    fb.variable_types = {**before, **{name: _settled(kind) for name, kind in kept.items()}}
    note_narrow_sums(fb)


def _stays_literal(fb: FunctionBuilder, name: str) -> bool:
    """Whether a variable that unrolled loops set is the literal of each round, and not of the type that it settles in.

    Of type f32 it would round the weights of a formula that computes in f64; masks such as 0xFF0000FF are no i32.
    """
    kind = fb.variable_types.get(name)
    return kind is WEAK_FLOAT or (kind is WEAK_INT and name in fb.large_literals)


def walk_types(fb: FunctionBuilder) -> None:
    """Fills `fb.variable_types` for all variables as far as it can.  Literals stay weak; the builder emits no more.

    Raises:
        CompileError: as `infer_types`.
    """
    for node in fb.facts.annotated:
        fb.node = node
        declare_annotated(fb, node)
    fb.round_names = _round_names(fb)
    fb.is_dry = True
    _walk_until_stable(fb, fb.facts.tree.body)


def needs_inference(fb: FunctionBuilder) -> bool:
    """Whether some variable without a declared type is assigned more than once."""
    # A store into an array is none into a variable, though it looks like one into a vector's component.
    return any(
        count > 1 and name not in fb.declared and not isinstance(fb.env.get(name), Array)
        for name, count in fb.facts.assignments.items()
    )


def _is_shared(fb: FunctionBuilder, name: str) -> bool:
    return fb.facts.assignments[name] > 1


def _round_names(fb: FunctionBuilder) -> frozenset[str]:
    """Returns the variables that only loops over the items of something set, as far as the text shows."""
    if not fb.facts.item_loops:
        return frozenset()
    stores: Counter[str] = Counter(_stored(fb.facts.tree))
    for node in fb.facts.item_loops:
        stores.subtract(_stored(node.target))
    return frozenset(name for name, count in stores.items() if not count)


def _stored(tree: ast.AST) -> Iterator[str]:
    return (n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _settled(kind: VariableType) -> VariableType:
    if isinstance(kind, ScalarType):
        return settled(kind)
    return tuple(_settled(item) for item in kind) if isinstance(kind, tuple) else kind


def _walk_until_stable(fb: FunctionBuilder, statements: Sequence[ast.stmt]) -> None:
    for _ in range(_MAXIMUM_WALKS):
        fb.read_types.clear()
        fb.known.clear()
        fb.unrolled_rounds = 0
        is_stable = True
        for statement in statements:
            is_unread, jump = _settle(fb, statement)
            is_stable &= is_unread
            if jump is not None:
                break
        if is_stable:
            return


_Jump = ast.Return | ast.Break | ast.Continue


def _settle(fb: FunctionBuilder, statement: ast.stmt) -> tuple[bool, _Jump | None]:
    """Walks a statement of the function itself until no type changes behind a place in it that reads the variable.

    What a loop does to its own variables is most often all that changes; the function around it is then walked once.

    Returns:
        Whether what was walked before the statement read none of the variables that it changed, and the jump as of
        `_walk`.
    """
    before, known, rounds = frozenset(fb.read_types), dict(fb.known), fb.unrolled_rounds
    is_stable, jump = True, None
    for _ in range(_MAXIMUM_WALKS):
        fb.changed.clear()
        jump = _walk(fb, (statement,))
        is_stable &= before.isdisjoint(fb.changed)
        if fb.changed <= before:
            break
        fb.known, fb.unrolled_rounds = dict(known), rounds
    return is_stable, jump


def _walk(fb: FunctionBuilder, statements: Sequence[ast.stmt]) -> _Jump | None:
    """Walks statements up to a jump that is surely taken, which it returns: what is behind it need not make sense."""
    for statement in statements:
        fb.node = statement
        jump = None
        match statement:
            case ast.If():
                jump = _walk_if(fb, statement)
            case ast.While():
                _forget(fb, [statement])
                _condition(fb, statement.test)
                _walk(fb, statement.body)
                _walk(fb, statement.orelse)
                _forget(fb, [statement])
            case ast.For():
                jump = _walk_for(fb, statement)
            case _ if type(statement) in STATEMENTS:
                _simple(fb, statement)
            case _:
                build_simple(fb, statement)  # raises the error about it
        if isinstance(statement, _Jump):
            jump = statement
        if jump is not None:
            return jump
    return None


def _simple(fb: FunctionBuilder, statement: ast.stmt) -> None:
    flags = None
    if isinstance(statement, _Jump):
        flags = {name: value for name, value in fb.env.items() if name.startswith("$")}
    with suppress(UnknownTypeError):  # a later walk knows more
        build_simple(fb, statement)
    if flags is not None:  # others set none
        for name in [name for name in fb.env if name.startswith("$")]:
            del fb.env[name]
        fb.env.update(flags)


def _evaluated(fb: FunctionBuilder, node: ast.expr) -> Value | None:
    try:
        return fb.evaluate(node)
    except UnknownTypeError:
        return None


def _condition(fb: FunctionBuilder, node: ast.expr) -> bool | None:
    """Returns what a condition is known to be, None where it is not."""
    value = _evaluated(fb, node)
    if value is None:
        return None
    const = condition(fb, value, node).const
    return None if const is None else bool(const)


def _walk_if(fb: FunctionBuilder, node: ast.If) -> _Jump | None:
    known = _condition(fb, node.test)
    if known is not None:
        return _walk(fb, node.body if known else node.orelse)
    before = dict(fb.known)
    then = _walk(fb, node.body)
    fb.known = before
    other = _walk(fb, node.orelse)
    _forget(fb, [*node.body, *node.orelse])
    if then is None or other is None:
        return None
    return min(then, other, key=_reach)


def _reach(jump: _Jump) -> int:
    """Returns how much a jump leaves: the round, the loop or the function."""
    return (ast.Continue, ast.Break, ast.Return).index(type(jump))


def _forget(fb: FunctionBuilder, statements: Sequence[ast.stmt]) -> None:
    """Drops what is known of the variables that any of `statements` assigns."""
    for name in fb.facts.writes(statements):
        fb.known.pop(name, None)


def _walk_for(fb: FunctionBuilder, node: ast.For) -> _Jump | None:
    iterable = _evaluated(fb, node.iter)
    found = None if iterable is None else run_time_rounds(fb, iterable, node.iter)
    if found is not None:
        rounds, item = found
        scalar = rounds.type if rounds.type.bits else INDEX_TYPE
        _forget(fb, [node])
        with suppress(UnknownTypeError):
            _assign(fb, node.target, item(Scalar(scalar, bounds=rounds.bounds)))
        _walk(fb, node.body)
        _forget(fb, [node])
    elif iterable is not None:
        may_leave = bool(fb.facts.writes(node.body) & set(FLAGS))
        for item in iterable_items(fb, iterable, node.iter):
            if may_leave:
                _forget(fb, [node])
            _assign(fb, node.target, item)
            jump = _walk(fb, node.body)
            if isinstance(jump, ast.Return):
                return jump
            if isinstance(jump, ast.Break):
                _forget(fb, [node])
                return None
        if may_leave:
            _forget(fb, [node])
    _walk(fb, node.orelse)
    return None


def _assign(fb: FunctionBuilder, target: ast.expr, value: Value) -> None:
    with suppress(UnknownTypeError):  # of an element's array or index: a later walk knows more
        assign_target(fb, target, value, target)
