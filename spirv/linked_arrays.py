"""The memory that functions of other modules bring to the kernels that they are linked with.

Drivers check neither lengths nor sums, and only a kernel has a description to check before a launch.  So arrays of a
linked function are read from its module and added to every kernel of the linked image.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..ir.errors import FeatureNotSupportedError, LinkError
from ..ir.kernel_info import KernelInfo, LocalArrayInfo
from ..ir.size_arithmetic import SizeNode
from .binary import Instruction, Module
from .foreign_sizes import SizeTable
from .module_view import ModuleView
from .tables import Op, StorageClass

_SIZES = (StorageClass.Workgroup, StorageClass.Private, StorageClass.Function)


@dataclass(frozen=True, slots=True)
class LinkedArrays:
    """What the functions of one module make."""

    nodes: Sequence[SizeNode]
    """The numbers that lengths are computed by, numbered from 0."""
    arrays: Sequence[LocalArrayInfo]


def with_linked_arrays(kernel: KernelInfo, linked: Iterable[LinkedArrays]) -> KernelInfo:
    """Returns a kernel that has the arrays of modules it is linked with besides its own.

    Args:
        kernel: of another module, with the SpecIds of the linked image.
        linked: with the same SpecIds.
    """
    nodes, arrays = [*kernel.size_nodes], [*kernel.local_arrays]
    for found in linked:
        places = range(len(nodes), len(nodes) + len(found.nodes))
        nodes += [_renumbered(node, places) for node in found.nodes]
        arrays += [replace(a, lengths=tuple(places[n] for n in a.lengths)) for a in found.arrays]
    return replace(kernel, size_nodes=tuple(nodes), local_arrays=tuple(arrays))


def linked_arrays(module: Module, label: str) -> LinkedArrays:
    """Returns what the functions of a module make.

    Args:
        module: with the SpecIds of the linked image.
        label: what messages call it.

    Raises:
        LinkError: the size of an array cannot be told before a driver has it.
    """
    view = ModuleView(module)
    kinds = [kind for item in _variables(view) if (kind := _array_type(view, item)) is not None]
    if not kinds:
        return LinkedArrays((), ())
    table = SizeTable(view)
    try:
        found = [
            table.array(kind, is_shared=is_shared, name=view.names.get(number, ""))
            for kind, is_shared, number in kinds
        ]
    except FeatureNotSupportedError as error:
        raise LinkError(f"{label}: {error.message}") from error
    found = [replace(a, lengths=tuple(_own_length(table, n) for n in a.lengths)) for a in found]
    numbers = _closure(table.nodes, [n for array in found for n in array.lengths])
    places = {number: place for place, number in enumerate(numbers)}
    return LinkedArrays(
        [_renumbered(table.nodes[number], places) for number in numbers],
        [replace(a, lengths=tuple(places[n] for n in a.lengths)) for a in found],
    )


def _variables(view: ModuleView) -> list[Instruction]:
    """Returns the variables of the functions, and of a module without entry points its own."""
    is_library = next(view.of_opcode(Op.EntryPoint), None) is None
    own = [item for item in view.globals if item.opcode == Op.Variable] if is_library else []
    return own + [i for f in view.functions for i in f.instructions() if i.opcode == Op.Variable]


def _array_type(view: ModuleView, item: Instruction) -> tuple[int, bool, int] | None:
    """Returns the type of an array, whether it is shared, and the variable's id; None for numbers and buffers."""
    if item.operands[0] not in _SIZES:
        return None
    kind = view.definitions[item.result_type or 0].operands[1]
    if view.definitions[kind].opcode != Op.TypeArray:
        return None
    return kind, item.operands[0] == StorageClass.Workgroup, item.result_id or 0


def _own_length(table: SizeTable, number: int) -> int:
    """Returns the length that source asks for where a module has ``length if length > 1 else 1``, as ours have: a
    launch refuses what is less than 1."""
    node = table.nodes[number]
    if node.opcode != "Select":
        return number
    test, length, one = (table.nodes[operand] for operand in node.operands)
    is_guard = one.opcode == "constant" and one.operands == (1,) and test.opcode == "SGreaterThan"
    return node.operands[1] if is_guard and test.operands == node.operands[1:] and length else number


def _closure(nodes: Sequence[SizeNode], wanted: Sequence[int]) -> list[int]:
    """Returns numbers with all that they are computed from, ascending: operands come first."""
    found: set[int] = set()
    pending = list(wanted)
    while pending:
        number = pending.pop()
        if number not in found:
            found.add(number)
            pending += _operands(nodes[number])
    return sorted(found)


def _operands(node: SizeNode) -> tuple[int, ...]:
    return () if node.opcode in ("constant", "spec_constant") else node.operands


def _renumbered(node: SizeNode, places: Mapping[int, int] | Sequence[int]) -> SizeNode:
    operands = _operands(node)
    return replace(node, operands=tuple(places[number] for number in operands)) if operands else node
