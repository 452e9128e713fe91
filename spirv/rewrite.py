"""A valid module whose functions are gone through and changed: what the remedies for drivers have in common.

    rewrite = Rewrite(module)
    for function, item in rewrite.instructions(Op.SNegate):
        zero = rewrite.unknown_zero(function)
        rewrite.put(item, item._replace(opcode=Op.ISub, operands=(zero, *item.operands)))
    return rewrite.finished()

Types, constants and capabilities are added through `editor`, see `module_editor`; `component_types` has what takes
scalars and vectors alike.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator

from .binary import Instruction, Module
from .code_changes import CodeChanges
from .module_editor import Body, ModuleEditor
from .module_view import FunctionView
from .opaque_memory import OpaqueMemory


class Rewrite:
    """Changes to a module; `finished` gives the result."""

    def __init__(self, module: Module) -> None:
        """Takes a valid module."""
        self.editor = ModuleEditor(module)
        self.view = self.editor.view
        self.code = CodeChanges()
        self._memory = OpaqueMemory(self.editor)
        self._indices: dict[int, int] = {}
        self._unknown_zeros: dict[int, int] = {}
        """Function → its 0, likewise."""

    def instructions(self, *opcodes: int) -> Iterator[tuple[FunctionView, Instruction]]:
        """Yields the instructions of functions that have one of the opcodes, as they were, and their functions."""
        for function in self.view.functions:
            for item in function.instructions():
                if item.opcode in opcodes:
                    yield function, item

    def before(self, item: Instruction) -> Body:
        """Returns what is added in front of an instruction."""
        return self.code.before(item)

    def put(self, item: Instruction, *others: Instruction) -> None:
        """Lets others take the place of an instruction."""
        self.code.put(item, *others)

    def index(self, function: FunctionView) -> int:
        """Returns a 0 of a function that drivers cannot know, without sign: `OpaqueMemory.index`."""
        if function.result_id not in self._indices:
            body = self.code.at_begin(function.blocks[0])
            self._indices[function.result_id] = self._memory.index(body)
        return self._indices[function.result_id]

    def unknown_zero(self, function: FunctionView) -> int:
        """Returns another for drivers that know how large work-groups are: `OpaqueMemory.unknown_zero`."""
        if function.result_id not in self._unknown_zeros:
            body = self.code.at_begin(function.blocks[0])
            self._unknown_zeros[function.result_id] = self._memory.unknown_zero(body)
        return self._unknown_zeros[function.result_id]

    def finished(self) -> Module:
        """Returns the changed module; the module itself where nothing was changed."""
        if self.code.is_empty:
            return self.editor.module
        return self.editor.finished(lambda item: self._memory.around(self.code, item))
