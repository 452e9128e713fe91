"""What a module's functions keep in memory of a work-item: variables, and parameters that point to them.

A parameter is another name of what calls give to it, so all that are passed on for each other are one place.
Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .binary import Instruction
from .module_view import FunctionView, ModuleView
from .operands import id_operands
from .tables import Decoration, Op, StorageClass

CHAINS = (Op.AccessChain, Op.InBoundsAccessChain)
ACCESSES = (*CHAINS, Op.Load, Op.Store)
_CLASSES = (StorageClass.Function, StorageClass.Private)


def ids_of(view: ModuleView, item: Instruction) -> tuple[int, ...]:
    """Returns the ids that an instruction of a function names."""
    words = view.switch_literal_words(item.operands[0]) if item.opcode == Op.Switch else 1
    return id_operands(item, switch_literal_words=words)


def base_of(view: ModuleView, pointer: int) -> int:
    """Returns the variable that a pointer leads into, or what else gives the pointer."""
    while (made := view.definitions[pointer]).opcode in (*CHAINS, Op.CopyObject):
        pointer = made.operands[0]
    return pointer


def holds_addresses(view: ModuleView, type_: int) -> bool:
    """Whether a type is or has one of pointers into physical storage; what other pointers lead to is no part of it."""
    pending, seen = [type_], set[int]()
    while pending:
        number = pending.pop()
        if number in seen:
            continue
        seen.add(number)
        item = view.definitions[number]
        if item.opcode == Op.TypePointer and item.operands[0] == StorageClass.PhysicalStorageBuffer:
            return True
        if item.opcode == Op.TypeArray:
            pending.append(item.operands[0])
        elif item.opcode == Op.TypeStruct:
            pending += item.operands
    return False


class MemoryPlaces:
    """The places of a module, and which of them may get another type."""

    def __init__(self, view: ModuleView, *, has_shared: bool = False) -> None:
        """Looks through a module; memory of work-groups counts where `has_shared` says so."""
        self._view = view
        self._classes = (*_CLASSES, StorageClass.Workgroup) if has_shared else _CLASSES
        self._functions = {function.result_id: function for function in view.functions}
        self._next: dict[int, int] = {}
        """Variable or parameter → another of the same place, itself where it stands for all."""
        self._fixed: set[int] = set()
        self.private: set[int] = set()
        """Variables of the module."""
        self._collect()
        for function in view.functions:
            for item in function.instructions():
                self._note(item)
        for item in view.of_opcode(Op.ExtInst):
            self._fixed.update(word for word in item.operands if word in self._next)

    def __contains__(self, number: int) -> bool:
        return number in self._next

    def _collect(self) -> None:
        for item in self._view.of_opcode(Op.Variable):
            if item.operands[0] in self._classes:
                self._add(item, is_fixed=self._is_linked(item.result_id))
            if item.operands[0] == StorageClass.Private:
                self.private.add(item.result_id or 0)
        for function in self._view.functions:
            for item in function.parameters:
                type_ = self._view.type_of(item.result_id or 0)
                if (
                    type_ is not None
                    and type_.opcode == Op.TypePointer
                    and type_.operands[0] in self._classes
                ):
                    self._add(item, is_fixed=self._is_linked(function.result_id))
            for item in function.blocks[0].body if function.blocks else ():
                if item.opcode == Op.Variable:
                    self._add(item, is_fixed=False)

    def _is_linked(self, number: int | None) -> bool:
        return self._view.is_decorated(number or 0, Decoration.LinkageAttributes)

    def _add(self, item: Instruction, *, is_fixed: bool) -> None:
        number = item.result_id or 0
        self._next[number] = number
        if is_fixed:
            self._fixed.add(number)

    def _note(self, item: Instruction) -> None:
        if item.opcode == Op.FunctionCall:
            self._note_call(item)
            return
        ids = ids_of(self._view, item)
        for number in ids:
            is_access = item.opcode in ACCESSES and number == item.operands[0] and number not in ids[1:]
            if number in self._next and not is_access:
                self._fixed.add(number)  # its address goes elsewhere

    def _note_call(self, item: Instruction) -> None:
        callee, *given = item.operands
        function = self._functions.get(callee)
        parameters = [] if function is None else [p.result_id or 0 for p in function.parameters]
        for number, parameter in zip(given, parameters, strict=False):
            if number in self._next and parameter in self._next:
                self._next[self._root(number)] = self._root(parameter)
            else:
                self._fixed.update({number, parameter} & self._next.keys())

    def _root(self, number: int) -> int:
        while self._next[number] != number:
            number = self._next[number]
        return number

    def arguments(self, item: Instruction) -> Iterator[int]:
        """Yields the places that a call passes on."""
        return (number for number in item.operands[1:] if number in self._next)

    def of_function(self, function: FunctionView) -> Iterator[Instruction]:
        """Yields the variables and parameters of a function."""
        body = function.blocks[0].body if function.blocks else []
        for item in (*function.parameters, *body):
            if item.result_id in self._next:
                yield item

    def changeable(self, wanted: Iterable[int]) -> set[int]:
        """Returns all variables and parameters of the same places as some, where their types may change."""
        fixed = {self._root(number) for number in self._fixed}
        roots = {self._root(number) for number in wanted} - fixed
        return {number for number in self._next if self._root(number) in roots}
