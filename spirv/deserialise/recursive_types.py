"""Which structs of a module point to themselves, directly or through others (OpTypeForwardPointer)."""

from __future__ import annotations

from ..binary import Instruction
from ..module_view import ModuleView
from ..tables import Op


def recursive_structs(view: ModuleView) -> frozenset[int]:
    """Returns the ids of the structs on cycles of types, and of those between two cycles, which does no harm."""
    if next(view.of_opcode(Op.TypeForwardPointer), None) is None:
        return frozenset()
    parts = {number: _parts(item) for number, item in view.definitions.items()}
    parts = {number: found for number, found in parts.items() if found}
    left = _on_cycles(parts)
    users: dict[int, set[int]] = {}
    for number in left:
        for part in parts[number] & left:
            users.setdefault(part, set()).add(number)
    found = _on_cycles(users)
    return frozenset(number for number in found if view.definitions[number].opcode == Op.TypeStruct)


def _on_cycles(parts: dict[int, set[int]]) -> set[int]:
    """Returns what is left when those are taken away, again and again, that have no parts among the others."""
    users: dict[int, list[int]] = {}
    for number, found in parts.items():
        for part in found:
            users.setdefault(part, []).append(number)
    open_parts = {number: sum(part in parts for part in found) for number, found in parts.items()}
    pending = [number for number, count in open_parts.items() if not count]
    while pending:
        gone = pending.pop()
        del open_parts[gone]
        for user in users.get(gone, ()):
            open_parts[user] -= 1
            if not open_parts[user]:
                pending.append(user)
    return set(open_parts)


def _parts(item: Instruction) -> set[int]:
    if item.opcode == Op.TypeStruct:
        return set(item.operands)
    if item.opcode in (Op.TypeArray, Op.TypeRuntimeArray):
        return set(item.operands[:1])
    return set(item.operands[1:2]) if item.opcode == Op.TypePointer else set()
