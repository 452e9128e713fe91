"""Entry points of a linked module: names, interfaces, and the call graphs behind them.  Standard library only."""

from __future__ import annotations

from ..ir.errors import LinkError
from .binary import Instruction, Section, decode_string
from .link_input import Merged
from .link_symbols import definition_of
from .module_view import interface_of, with_interface
from .operands import id_operands
from .tables import Op, StorageClass, enumerant_name

_BEFORE_1_4 = frozenset((StorageClass.Input, StorageClass.Output))


def check_entry_points(merged: Merged) -> None:
    """Raises LinkError where two entry points have the same name and execution model."""
    seen: dict[tuple[int, str], int] = {}
    for item in merged.sections[Section.ENTRY_POINTS]:
        model, function = item.operands[:2]
        name = decode_string(item.operands, 2)[0]
        other = seen.setdefault((model, name), function)
        if other != function:
            raise LinkError(
                f"entry point '{name}' ({enumerant_name('ExecutionModel', model)}) is in {merged.origin(other)} and in "
                f"{merged.origin(function)}; a module has one of each name"
            )


def check_recursion(merged: Merged) -> None:
    """Raises LinkError where linked functions call each other in a circle, which no device can run."""
    calls = _calls(merged)
    state: dict[int, int] = {}  # 1: on the path, 2: done
    for root in calls:
        path = [(root, iter(calls[root]))] if root not in state else []
        state.setdefault(root, 1)
        while path:
            function, rest = path[-1]
            callee = next(rest, None)
            if callee is None:
                state[function] = 2
                path.pop()
            elif state.get(callee) == 1:
                cycle = [number for number, _ in path]
                names = [merged.name(number) for number in (*cycle[cycle.index(callee) :], callee)]
                raise LinkError(f"recursion: {' → '.join(names)}; devices have no call stack")
            elif callee not in state and callee in calls:
                state[callee] = 1
                path.append((callee, iter(calls[callee])))


def complete_interfaces(merged: Merged) -> None:
    """Adds to the interface of each entry point the variables that its call graph has got by linking."""
    calls = _calls(merged)
    variables = {
        item.result_id: item.operands[0]
        for item in merged.sections[Section.GLOBALS]
        if item.opcode == Op.Variable
    }
    named = {function: _named(items, variables) for function, items in _bodies(merged)}
    lists_all = merged.version >= (1, 4)
    entries = merged.sections[Section.ENTRY_POINTS]
    for position, item in enumerate(entries):
        # Importing one variable under two ids leaves it in the list twice.
        interface = dict.fromkeys(interface_of(item))
        for function in _reachable(item.operands[1], calls):
            for variable in named.get(function, ()):
                if lists_all or variables[variable] in _BEFORE_1_4:
                    interface.setdefault(variable)
        entries[position] = with_interface(item, interface)


def _bodies(merged: Merged) -> list[tuple[int, list[Instruction]]]:
    return [(definition_of(function).result_id or 0, function) for function in merged.functions]


def _calls(merged: Merged) -> dict[int, list[int]]:
    return {
        number: [item.operands[0] for item in items if item.opcode == Op.FunctionCall]
        for number, items in _bodies(merged)
    }


def _named(items: list[Instruction], variables: dict[int | None, int]) -> list[int]:
    found: dict[int, None] = {}
    for item in items:
        if not variables.keys().isdisjoint(item.operands) and item.opcode != Op.Switch:
            found.update(dict.fromkeys(number for number in id_operands(item) if number in variables))
    return list(found)


def _reachable(start: int, calls: dict[int, list[int]]) -> list[int]:
    seen, pending = {start: None}, [start]
    while pending:
        for callee in calls.get(pending.pop(), ()):
            if callee not in seen:
                seen[callee] = None
                pending.append(callee)
    return list(seen)
