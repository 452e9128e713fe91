"""Finds helpers whose stores into a parameter nobody sees: ``p.x += 1`` without ``return p``.

A vector, struct or fixed array is a value, so the helper changes its own copy, where Python would change the caller's
object.  What is found are parameters into which every store is lost: neither returned nor stored, passed on or read
afterwards.  Reads count where what they compute is itself used, so ``p.x += p.v`` keeps no ``p.v`` alive.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .function_builder import FunctionBuilder
from .parts import COMPONENTS
from .struct_types import StructType
from .values import Composite, FixedArray, Value
from .vector_types import VecType

_Part = tuple[str, str]
"""A part of a variable: its name and a member, component, or the empty text where it is one thing."""

_NOTHING: frozenset[_Part] = frozenset()


def note_lost_stores(fb: FunctionBuilder, values: Mapping[str, Value]) -> None:
    """Adds a warning for each such parameter of a helper.

    Args:
        values: what each parameter is bound to.
    """
    if fb.module.library_call is not None or not any(
        isinstance(value, (Composite, FixedArray)) for value in values.values()
    ):
        return
    names = [n for n in ast.walk(fb.source.tree) if isinstance(n, ast.Name)]
    # A name that is assigned as a whole is no longer the caller's object.
    assigned = {n.id for n in names if isinstance(n.ctx, ast.Store)}
    parts = {
        name: _parts_of(value)
        for name, value in values.items()
        if isinstance(value, Composite | FixedArray) and name not in assigned and fb.facts.assignments[name]
    }
    if not parts:
        return
    uses = _Uses(parts, frozenset(assigned))
    uses.before(fb.source.tree.body, _NOTHING)
    for name in parts:
        stores = [node for stored, nodes in uses.stores.items() if stored == name for node in nodes]
        if stores and not any(node in uses.seen for node in stores):
            _note(fb, name, stores)


def _note(fb: FunctionBuilder, name: str, stores: Sequence[ast.stmt]) -> None:
    first = min(stores, key=lambda node: (node.lineno, node.col_offset))
    fb.warn(
        first,
        f"parameter '{name}' of '{fb.source.name}' is the helper's own copy, and nobody sees what is stored into "
        f"it: the caller's value stays as it is; return '{name}' and assign the result where it is called",
    )


def _parts_of(value: Composite | FixedArray) -> frozenset[str]:
    """Returns what can be told apart in a value."""
    match value.type:
        case StructType(fields=fields):
            return frozenset(f.name for f in fields)
        case VecType(size=size) if size <= len(COMPONENTS):
            return frozenset(COMPONENTS[:size])
        case _:
            return frozenset(("",))


@dataclass
class _Uses:
    """Walks a function backwards, with the parts whose values are still used behind each place."""

    parts: Mapping[str, frozenset[str]]
    """The parts of each parameter."""
    variables: frozenset[str]
    """The variables that are assigned as a whole."""
    stores: dict[str, list[ast.stmt]] = field(default_factory=dict[str, list[ast.stmt]])
    """The statements that store into each parameter."""
    seen: set[ast.stmt] = field(default_factory=set[ast.stmt])
    """Those statements whose values somebody sees."""
    loops: list[tuple[frozenset[_Part], frozenset[_Part]]] = field(
        default_factory=list[tuple[frozenset[_Part], frozenset[_Part]]]
    )
    """What is used behind a ``break`` and a ``continue`` of the loops around."""

    def before(self, body: Sequence[ast.stmt], after: frozenset[_Part]) -> frozenset[_Part]:
        """Returns what is used in front of statements, behind which `after` is."""
        for statement in reversed(body):
            after = self._before(statement, after)
        return after

    def _before(self, statement: ast.stmt, after: frozenset[_Part]) -> frozenset[_Part]:
        match statement:
            case ast.Assign(targets=targets, value=value):
                return self._assigned(statement, targets, value, after)
            case ast.AugAssign(target=target, value=value):
                return self._assigned(statement, [target], value, after)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                return self._assigned(statement, [target], value, after)
            case ast.If(test=test, body=body, orelse=orelse):
                inner = self.before(body, after) | self.before(orelse, after)
                return inner if self._is_idle(statement) else inner | self._reads(test)
            case (
                ast.For(iter=head, body=body, orelse=orelse) | ast.While(test=head, body=body, orelse=orelse)
            ):
                return self._before_loop(statement, head, body, self.before(orelse, after), after)
            case ast.Break() if self.loops:
                return self.loops[-1][0]
            case ast.Continue() if self.loops:
                return self.loops[-1][1]
            case ast.Return():
                return self._reads(statement)
            case _:
                return after | self._reads(statement)

    def _before_loop(
        self,
        loop: ast.stmt,
        head: ast.expr,
        body: Sequence[ast.stmt],
        done: frozenset[_Part],
        after: frozenset[_Part],
    ) -> frozenset[_Part]:
        """Goes round until a round adds nothing: what it reads may have been stored in the round before."""
        begin = done
        while True:
            self.loops.append((after, begin))
            round_ = begin | self.before(body, begin)
            self.loops.pop()
            if not self._is_idle(loop):
                round_ |= self._reads(head)
            if round_ == begin:
                return begin
            begin = round_

    def _assigned(
        self, statement: ast.stmt, targets: Sequence[ast.expr], value: ast.expr, after: frozenset[_Part]
    ) -> frozenset[_Part]:
        flat = _flattened(targets)
        written = [self._written(target) for target in flat]
        for target, parts in zip(flat, written, strict=True):
            if parts and not isinstance(target, ast.Name):
                (name,) = {name for name, _ in parts}
                nodes = self.stores.setdefault(name, [])
                if statement not in nodes:
                    nodes.append(statement)
        reads = self._reads(value).union(*(self._reads_of_indices(target) for target in flat))
        if any(parts is None or parts & after for parts in written):
            self.seen.add(statement)
            return after | reads
        return after | reads if _calls(value) else after

    def _written(self, target: ast.expr) -> frozenset[_Part] | None:
        """Returns what a target stores into, None where that is no variable of the function's own."""
        if isinstance(target, ast.Name):
            return frozenset(((target.id, ""),))
        step = target
        while isinstance(step, ast.Attribute | ast.Subscript):
            if isinstance(step.value, ast.Name):
                return self._step(step.value.id, step) if step.value.id in self.parts else None
            step = step.value
        return None

    def _step(self, name: str, step: ast.Attribute | ast.Subscript) -> frozenset[_Part]:
        """Returns the parts of a parameter that its attribute or element is."""
        parts = self.parts[name]
        match step:
            case ast.Attribute(attr=attribute) if attribute in parts:
                chosen = frozenset((attribute,))
            case _:  # elements, swizzles, methods
                chosen = parts
        return frozenset((name, part) for part in chosen)

    def _reads(self, node: ast.AST) -> frozenset[_Part]:
        match node:
            case ast.Attribute(value=ast.Name(id=name)) if name in self.parts:
                return self._step(name, node)
            case ast.Name(id=name) if name in self.parts:
                return frozenset((name, part) for part in self.parts[name])
            case ast.Name(id=name) if name in self.variables:
                return frozenset(((name, ""),))
            case _:
                return _NOTHING.union(*(self._reads(child) for child in ast.iter_child_nodes(node)))

    def _reads_of_indices(self, target: ast.expr) -> frozenset[_Part]:
        reads = _NOTHING
        while isinstance(target, ast.Attribute | ast.Subscript):
            if isinstance(target, ast.Subscript):
                reads |= self._reads(target.slice)
            target = target.value
        return reads

    def _is_idle(self, statement: ast.stmt) -> bool:
        """Whether a statement does nothing but assign what nobody uses."""
        match statement:
            case ast.Assign(value=value) | ast.AugAssign(value=value):
                return statement not in self.seen and not _calls(value)
            case ast.If(test=head) | ast.While(test=head) | ast.For(iter=head):
                inner = (*statement.body, *statement.orelse)
                return not _calls(head) and all(map(self._is_idle, inner))
            case _:
                return isinstance(statement, ast.Pass)


def _flattened(targets: Sequence[ast.expr]) -> list[ast.expr]:
    """Returns the targets inside of tuples."""
    flat: list[ast.expr] = []
    for target in targets:
        flat += _flattened(target.elts) if isinstance(target, ast.Tuple | ast.List) else [target]
    return flat


def _calls(node: ast.expr) -> bool:
    """Whether an expression calls something, which may do more than return a value, or assigns by ``:=``."""
    return any(isinstance(n, ast.Call | ast.NamedExpr) for n in ast.walk(node))
