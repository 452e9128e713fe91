"""The static call graph of a module: which function calls which, and where.

Kernels have no function pointers, so the `func.call`s in the text are all calls there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import cast

from xdsl.dialects import func, gpu
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolTable

from .dialects.aspect import is_external
from .dialects.kernel import SOURCE_NAME, Function, is_kernel
from .walk import block_operations, enclosing, operations, region_blocks


@dataclass(frozen=True, slots=True)
class Call:
    """One call in a function's body."""

    op: func.CallOp
    callee: Function


@dataclass(frozen=True, slots=True)
class CallGraph:
    """Functions of a module, also of modules inside it, with the calls that they make, in program order."""

    calls: dict[Function, tuple[Call, ...]]

    @classmethod
    def of(cls, module: Operation) -> CallGraph:
        """Builds the call graph of everything inside `module`.

        A call of a symbol that is not there is left out; the verifier reports it.
        """
        symbols = SymbolTables()
        return cls({function: tuple(_calls_of(function, symbols)) for function in functions(module)})

    @property
    def functions(self) -> tuple[Function, ...]:
        """All functions in program order."""
        return tuple(self.calls)

    def callers(self) -> dict[Function, list[tuple[Function, Call]]]:
        """Returns for each function who calls it and where."""
        callers: dict[Function, list[tuple[Function, Call]]] = {function: [] for function in self.calls}
        for function, calls in self.calls.items():
            for call in calls:
                callers[call.callee].append((function, call))
        return callers

    def reaching_external(self) -> set[Function]:
        """Returns the functions that are, or call, one that other modules define or call."""
        return self.reaching(filter(is_external, self.calls))

    def reachable(self, roots: Iterable[Function]) -> set[Function]:
        """Returns the roots and all that they call, directly or not; cycles are no harm."""
        return _closure(roots, lambda function: [call.callee for call in self.calls[function]])

    def reaching(self, targets: Iterable[Function]) -> set[Function]:
        """Returns the targets and all that call them, directly or not; for many of them in one walk."""
        if not (found := list(targets)):
            return set()
        callers = self.callers()
        return _closure(found, lambda function: [caller for caller, _ in callers[function]])


def _closure(
    functions: Iterable[Function], neighbours: Callable[[Function], Iterable[Function]]
) -> set[Function]:
    seen: set[Function] = set()
    pending = list(functions)
    while pending:
        function = pending.pop()
        if function not in seen:
            seen.add(function)
            pending.extend(neighbours(function))
    return seen


def functions(module: Operation) -> Iterator[Function]:
    """Yields the functions inside `module` in program order, those of nested modules too."""
    for block in region_blocks(module.regions[0]):
        for op in block_operations(block):
            kind = type(op)
            if kind is func.FuncOp or kind is gpu.FuncOp:
                yield cast("Function", op)
            elif kind is ModuleOp or kind is gpu.ModuleOp:
                yield from functions(op)


def entry_points(module: Operation) -> tuple[Function, ...]:
    """Returns kernels and exported functions with a body, in program order; a declaration is no entry."""
    return tuple(
        function
        for function in functions(module)
        if (is_kernel(function) or is_external(function)) and has_body(function)
    )


def has_body(function: Function) -> bool:
    """Returns whether the function is defined here, not only declared."""
    return any(block.first_op is not None for block in region_blocks(function.regions[0]))


def function_name(function: Function) -> str:
    """Returns the function's symbol without the ``@``."""
    return function.sym_name.data


def source_name(function: Function) -> str:
    """Returns what the source calls the function, for messages."""
    name = function.attributes.get(SOURCE_NAME)
    return name.data if isinstance(name, StringAttr) else function_name(function)


def _calls_of(function: Function, symbols: SymbolTables) -> Iterator[Call]:
    for op in operations(function.regions[0]):
        if type(op) is func.CallOp:
            callee = symbols.resolve(op, op.callee)
            if isinstance(callee, Function):
                yield Call(op, callee)


class SymbolTables:
    """What symbols name, each table read once; not to be kept while symbols come or go."""

    def __init__(self) -> None:
        self._tables: dict[Operation, dict[str, Operation]] = {}

    def resolve(self, user: Operation, reference: SymbolRefAttr) -> Operation | None:
        """Returns the operation that a symbol names, searching every enclosing symbol table, innermost first."""
        name = reference.root_reference.data
        for scope in enclosing(user):
            if _is_symbol_table(type(scope)) and (found := self._table(scope).get(name)) is not None:
                return found
        return None

    def _table(self, scope: Operation) -> dict[str, Operation]:
        table = self._tables.get(scope)
        if table is None:
            table = self._tables[scope] = {}
            for op in scope.regions[0].ops:
                symbol: Attribute | None = op.get_attr_or_prop("sym_name")
                if isinstance(name := getattr(symbol, "data", None), str):
                    table.setdefault(name, op)
        return table


@cache
def _is_symbol_table(kind: type[Operation]) -> bool:
    return kind.has_trait(SymbolTable, value_if_unregistered=False)
