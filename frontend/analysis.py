"""What a syntax tree says before anything is compiled: which names a statement reads and writes, and how it leaves.

The flags ``$break``, ``$continue`` and ``$return`` and the returned value ``$value`` are variables like any other:
that is how the structured control flow of scf carries what jumps do in Python.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

BREAK, CONTINUE, RETURN, VALUE = "$break", "$continue", "$return", "$value"
"""Names of the pseudo-variables."""
FLAGS = (BREAK, CONTINUE, RETURN)
"""Those that say that the rest is skipped."""

NO_NAMES: frozenset[str] = frozenset()
"""No variable."""


@dataclass(frozen=True, slots=True)
class Names:
    """What a statement reads and writes, pseudo-variables included."""

    reads: frozenset[str]
    writes: frozenset[str]


@dataclass
class FunctionFacts:
    """The names of one function, found in one walk."""

    tree: ast.FunctionDef
    names: dict[int, Names] = field(default_factory=dict[int, "Names"])
    """By ``id`` of the statement."""
    assignments: Counter[str] = field(default_factory=Counter[str])
    """How often each variable is assigned in the text; an augmented or loop assignment counts twice, since the
    variable's earlier value joins too."""
    returns: list[ast.Return] = field(default_factory=list[ast.Return])
    item_loops: list[ast.For] = field(default_factory=list[ast.For])
    """The for loops over something else than ``range(…)``."""
    annotated: list[ast.AnnAssign] = field(default_factory=list[ast.AnnAssign])
    """The assignments with annotations."""
    _loops: list[ast.For | ast.While] = field(default_factory=list["ast.For | ast.While"])
    _last_read: dict[str, ast.Name] = field(default_factory=dict[str, ast.Name])
    _last_written: dict[str, ast.Name] = field(default_factory=dict[str, ast.Name])
    _reads: dict[tuple[int, int, int], frozenset[str]] = field(
        default_factory=dict[tuple[int, int, int], frozenset[str]]
    )
    """What statements in a row read, by the first, the last and their number."""

    @classmethod
    def of(cls, tree: ast.FunctionDef) -> FunctionFacts:
        """Analyses a function."""
        facts = cls(tree)
        for statement in tree.body:
            facts._visit(statement)
        facts._count_read_behind_loops()
        return facts

    def reads(self, statements: Sequence[ast.stmt]) -> frozenset[str]:
        """Returns the names that any of `statements` reads."""
        if not statements:
            return NO_NAMES
        last = id(statements[-1])
        key = id(statements[0]), last, len(statements)
        if key not in self._reads:
            # The caller asks for the rest behind each statement in turn, so all of them are computed at once.
            found = NO_NAMES
            for count, statement in enumerate(reversed(statements), start=1):
                names = self.names[id(statement)].reads
                found = found if names <= found else found | names
                self._reads[id(statement), last, count] = found
        return self._reads[key]

    def writes(self, statements: Sequence[ast.stmt]) -> frozenset[str]:
        """Returns the names that any of `statements` writes."""
        return NO_NAMES.union(*(self.names[id(s)].writes for s in statements)) if statements else NO_NAMES

    def _count_read_behind_loops(self) -> None:
        """Counts what one place in a loop assigns twice if it is read behind its body: the type must be known."""
        for loop in self._loops:
            begin, end = _begin(loop), _end(loop.body[-1])
            for name, node in self._last_written.items():
                if self.assignments[name] == 1 and begin <= _begin(node) < end:
                    read = self._last_read.get(name)
                    self.assignments[name] += read is not None and _begin(read) >= end

    def _visit(self, statement: ast.stmt) -> Names:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return self._keep(statement, Names(NO_NAMES, NO_NAMES))  # refused when it is compiled
        reads: set[str] = set()
        writes: set[str] = set()
        self._note(statement, reads, writes)
        for name in _partly_written(statement):
            reads.add(name)
            writes.add(name)
            self.assignments[name] += 1
        for child in _children(statement):
            if isinstance(child, ast.stmt):
                inner = self._visit(child)
                reads |= inner.reads
                writes |= inner.writes
            else:
                self._visit_expression(child, reads, writes)
        if isinstance(statement, ast.For | ast.While):
            self._loops.append(statement)
            # A break or continue of the loop's own ends there; those in its else belong to the loop outside.
            writes -= {BREAK, CONTINUE}
            writes |= self.writes(statement.orelse) & {BREAK, CONTINUE}
        return self._keep(statement, Names(frozenset(reads), frozenset(writes)))

    def _note(self, statement: ast.stmt, reads: set[str], writes: set[str]) -> None:
        """Notes what the kind of a statement says, beside the names in it."""
        match statement:
            case ast.Break():
                writes.add(BREAK)
            case ast.Continue():
                writes.add(CONTINUE)
            case ast.Return():
                writes |= {RETURN, VALUE}
                self.returns.append(statement)
                self.assignments[VALUE] += 1
            case ast.AnnAssign():
                self.annotated.append(statement)
            case ast.AugAssign(target=ast.Name(id=name)):
                reads.add(name)
                self.assignments[name] += 1
            case ast.While(test=test):
                # The round before assigns it too, which matters where a break leaves it as it is.
                names = (n.target.id for n in ast.walk(test) if isinstance(n, ast.NamedExpr))
                self.assignments.update(names)
            case ast.For(iter=iterable) if not _is_range(iterable):
                self.item_loops.append(statement)
                # Unrolled: one assignment in the text may give the variable another type each round.
                for inner in ast.walk(statement):
                    if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                        self.assignments[inner.id] += 1
            case _:
                pass

    def _keep(self, statement: ast.stmt, names: Names) -> Names:
        self.names[id(statement)] = names
        return names

    def _visit_expression(self, root: ast.AST, reads: set[str], writes: set[str]) -> None:
        pending = [root]
        for node in pending:  # grows: ast.walk without its generators, and without what holds no names
            if isinstance(node, ast.Name):
                if isinstance(node.ctx, ast.Load):
                    reads.add(node.id)
                    self._last_read[node.id] = node
                else:
                    writes.add(node.id)
                    self._last_written[node.id] = node
                    self.assignments[node.id] += 1
                continue
            for name in _parts(type(node)):
                part: object = getattr(node, name, None)
                if isinstance(part, ast.AST):
                    pending.append(part)
                elif isinstance(part, list):
                    pending += [item for item in part if isinstance(item, ast.AST)]  # pyright: ignore[reportUnknownVariableType]


@cache
def _parts(kind: type[ast.AST]) -> tuple[str, ...]:
    """Returns the fields of a kind of node that may hold names."""
    without = {"ctx", "op", "ops", "attr", "arg", "kind", "type_comment"}
    return () if kind is ast.Constant else tuple(name for name in kind._fields if name not in without)


def _partly_written(statement: ast.stmt) -> Iterator[str]:
    """Yields the variables whose components or members a statement assigns: ``v`` of ``v.x = 1``."""
    match statement:
        case ast.Assign(targets=targets):
            pending: list[ast.expr] = list(targets)
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target) | ast.For(target=target):
            pending = [target]
        case _:
            return
    while pending:
        target = pending.pop()
        if isinstance(target, ast.Tuple | ast.List):
            pending += target.elts
        root = target
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        if root is not target and isinstance(root, ast.Name):
            yield root.id


def _begin(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.stmt) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or 0


def _children(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yields the parts of a statement; the annotation of ``x: lp.f32 = …`` is no read."""
    for name in statement._fields:  # as ast.iter_fields does
        value: object = None if name == "annotation" else getattr(statement, name, None)
        if isinstance(value, ast.AST):
            yield value
        elif isinstance(value, list):
            yield from (item for item in value if isinstance(item, ast.AST))  # pyright: ignore[reportUnknownVariableType]


def _is_range(iterable: ast.expr) -> bool:
    return (
        isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) and iterable.func.id == "range"
    )


def always_exits(statements: Sequence[ast.stmt]) -> bool:
    """Whether control never falls out of the end of `statements`, as far as their shape shows."""
    for statement in statements:
        if isinstance(statement, ast.Return | ast.Break | ast.Continue):
            return True
        if isinstance(statement, ast.If) and always_exits(statement.body) and always_exits(statement.orelse):
            return True
    return False
