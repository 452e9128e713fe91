"""Memory of a work-item that drivers cannot turn into values: arrays of one element, whose index is 0, but computed.

A driver that knew the index would load and store plain values instead.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator

from .binary import Instruction
from .code_changes import CodeChanges
from .memory_places import holds_addresses
from .module_editor import Body, ModuleEditor
from .module_view import interface_of, with_interface
from .tables import BuiltIn, Decoration, Op, StorageClass


class OpaqueMemory:
    """Such arrays in the functions of a module."""

    def __init__(self, editor: ModuleEditor) -> None:
        self._editor = editor
        self._arrays: dict[int, int] = {}
        self._interface = {
            word for entry in editor.view.of_opcode(Op.EntryPoint) for word in interface_of(entry)
        }
        self._inputs: dict[int, None] = {}
        self._private: list[int] = []

    def array(self, element: int) -> int:
        """Returns the type of arrays of one element."""
        if element not in self._arrays:
            self._arrays[element] = self._editor.array(element, 1)
        return self._arrays[element]

    def index(self, body: Body) -> int:
        """Appends the computation of 0, without sign."""
        found = self._editor.built_in(BuiltIn.LocalInvocationIndex, 1, self._interface)
        self._inputs[found.variable] = None
        number = self._editor.emit(body, Op.Load, found.variable, type_=found.type)
        return self._editor.emit(
            body, Op.ShiftRightLogical, number, self._editor.number(31), type_=self._editor.u32
        )

    def unknown_zero(self, body: Body) -> int:
        """Appends another computation of 0 for drivers that know how large work-groups are."""
        found = self._editor.built_in(BuiltIn.GlobalInvocationId, 3, self._interface)
        self._inputs[found.variable] = None
        place = self._editor.emit(body, Op.Load, found.variable, type_=found.type)
        number = self._editor.emit(body, Op.CompositeExtract, place, 0, type_=found.scalar)
        return self._editor.emit(
            body, Op.ShiftRightLogical, number, self._editor.number(31), type_=self._editor.u32
        )

    def variable(self, body: Body, element: int) -> int:
        """Appends a variable of a function."""
        pointer = self._editor.pointer(StorageClass.Function, self.array(element))
        made = self._editor.emit(body, Op.Variable, StorageClass.Function, type_=pointer)
        return self._aliased(made, element)

    def private_variable(self, element: int) -> int:
        """Returns a new variable of the module."""
        made = self._editor.variable(StorageClass.Private, self.array(element))
        self._private.append(made)
        return self._aliased(made, element)

    def _aliased(self, variable: int, element: int) -> int:
        if holds_addresses(self._editor.view, element):
            self._editor.decorate(variable, Decoration.AliasedPointer)
        return variable

    @property
    def is_used(self) -> bool:
        """Whether any code computes an index."""
        return bool(self._inputs)

    def around(self, code: CodeChanges, item: Instruction) -> Iterator[Instruction]:
        """Yields what takes the place of an instruction; entry points name the variables that are used."""
        if item.opcode == Op.EntryPoint:
            private = self._private if self._editor.module.version >= (1, 4) else ()
            item = with_interface(item, dict.fromkeys((*interface_of(item), *self._inputs, *private)))
        yield from code.around(item)

    def element(
        self, body: Body, array: int, index: int, type_: int, storage: int = StorageClass.Function
    ) -> int:
        """Appends a pointer to the element of an array."""
        pointer = self._editor.pointer(storage, type_)
        return self._editor.emit(body, Op.AccessChain, array, index, type_=pointer)
