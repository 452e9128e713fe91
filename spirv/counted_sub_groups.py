"""Computes how many sub-groups a work-group has and which one it is, for drivers that miscount: `sub_groups_counted`.

    %n = OpLoad %uint %gl_NumSubgroups      →      %n = OpLoad %uint %number

Such a driver (`vk_runtime.quirks`, partial-sub-groups) starts a sub-group at every row of a work-group, and counts as
if rows were one after the other.  So each kernel stores at its begin, of the size of its work-groups:

    %number = sub-groups of a row * rows           %which = row * sub-groups of a row + x / SubgroupSize

What `frontend.sub_groups` does for kernels in Python.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator

from .binary import Instruction, Module
from .code_changes import CodeChanges
from .errors import SpirvError
from .foreign_module import work_group_size_ids
from .module_editor import Body, BuiltInInput, ModuleEditor
from .module_view import FunctionView, interface_of, with_interface
from .tables import BuiltIn, Decoration, ExecutionMode, Op, StorageClass

_COUNTED = (BuiltIn.NumSubgroups, BuiltIn.SubgroupId)


def sub_groups_counted(module: Module) -> Module:
    """Returns a valid module so changed; itself where it does not ask.

    Raises:
        SpirvError: it does more with these inputs than load them.
    """
    editor = ModuleEditor(module)
    variables = {
        item.result_id or 0: built_in[0]
        for item in editor.view.of_opcode(Op.Variable)
        if (built_in := editor.view.decoration(item.result_id or 0, Decoration.BuiltIn)) is not None
        and built_in[0] in _COUNTED
    }
    if not variables or not any(editor.view.of_opcode(Op.EntryPoint)):
        return module
    writer = _Writer(editor, variables)
    for function in editor.view.functions:
        writer.function(function)
    for entry in editor.view.of_opcode(Op.EntryPoint):
        writer.entry(entry)
    return editor.finished(writer.around)


class _Writer:
    """Finds out what takes the place of instructions."""

    def __init__(self, editor: ModuleEditor, variables: dict[int, int]) -> None:
        self._editor = editor
        self._built_ins = variables
        self._own = {variable: self._private(variable) for variable in variables}
        """Input variable → the variable that holds what it should."""
        self._code = CodeChanges()
        self._inputs: dict[int, list[int]] = {}
        """Kernel → the inputs that it reads."""

    def _private(self, variable: int) -> int:
        pointer = self._editor.view.type_of(variable)
        assert pointer is not None, "the module is valid"
        return self._editor.variable(StorageClass.Private, pointer.operands[1])

    def function(self, function: FunctionView) -> None:
        """Lets the loads of a function be of variables that hold the right numbers."""
        for item in function.instructions():
            if item.opcode == Op.Load and item.operands[0] in self._own:
                self._code.put(item, item._replace(operands=(self._own[item.operands[0]],)))
            elif item.opcode in (Op.CopyMemory, Op.FunctionCall) and not self._own.keys().isdisjoint(
                item.operands
            ):
                raise SpirvError(
                    "the driver miscounts sub-groups, and NumSubgroups or SubgroupId is copied or passed on as a "
                    "pointer: expected OpLoad; load it, or choose another device"
                )

    def entry(self, entry: Instruction) -> None:
        """Computes the numbers at the begin of a kernel."""
        editor, function_id = self._editor, entry.operands[1]
        interface = interface_of(entry)
        used = {variable for variable in self._own if variable in interface}
        if not used or function_id in self._inputs:
            return
        function = next(f for f in editor.view.functions if f.result_id == function_id)
        body = self._code.at_begin(function.blocks[0])
        size = self._size(body, function_id)
        lanes = editor.built_in(BuiltIn.SubgroupSize, 1, interface)
        place = editor.built_in(BuiltIn.LocalInvocationId, 3, interface)
        self._inputs[function_id] = [lanes.variable, place.variable]
        sub_group_size = self._load(body, lanes)
        per_row = self._emit(
            body,
            Op.UDiv,
            self._emit(body, Op.ISub, self._emit(body, Op.IAdd, size[0], sub_group_size), editor.number(1)),
            sub_group_size,
        )
        at = self._load(body, place)
        x, y, z = (
            self._cast(body, editor.emit(body, Op.CompositeExtract, at, number, type_=place.scalar))
            for number in range(3)
        )
        row = self._emit(body, Op.IAdd, self._emit(body, Op.IMul, z, size[1]), y)
        rows = self._emit(body, Op.IMul, size[1], size[2])
        values = {
            BuiltIn.NumSubgroups: self._emit(body, Op.IMul, per_row, rows),
            BuiltIn.SubgroupId: self._emit(
                body,
                Op.IAdd,
                self._emit(body, Op.IMul, row, per_row),
                self._emit(body, Op.UDiv, x, sub_group_size),
            ),
        }
        for variable in sorted(used):
            pointer = editor.view.type_of(variable)
            assert pointer is not None, "the module is valid"
            value, type_ = values[self._built_ins[variable]], pointer.operands[1]
            if type_ != editor.u32:
                value = editor.emit(body, Op.Bitcast, value, type_=type_)
            editor.emit(body, Op.Store, self._own[variable], value)

    def _emit(self, body: Body, opcode: int, *operands: int) -> int:
        return self._editor.emit(body, opcode, *operands, type_=self._editor.u32)

    def _load(self, body: Body, given: BuiltInInput) -> int:
        """Returns an input; one number has no sign."""
        value = self._editor.emit(body, Op.Load, given.variable, type_=given.type)
        return self._cast(body, value) if given.type == given.scalar else value

    def _cast(self, body: Body, value: int) -> int:
        """Returns a number of 32 bits without sign, which divisions take."""
        made = body[-1]
        return value if made.result_type == self._editor.u32 else self._emit(body, Op.Bitcast, value)

    def _size(self, body: Body, function_id: int) -> list[int]:
        """Returns the extents of the work-groups of a kernel."""
        editor = self._editor
        whole = next(iter(work_group_size_ids(editor.view)), None)
        if whole is not None:
            scalar = editor.view.definitions[editor.view.definitions[whole].result_type or 0].operands[0]
            return [
                self._cast(body, editor.emit(body, Op.CompositeExtract, whole, number, type_=scalar))
                for number in range(3)
            ]
        modes = [
            item
            for item in editor.view.of_opcode(Op.ExecutionMode, Op.ExecutionModeId)
            if item.operands[0] == function_id
            and item.operands[1] in (ExecutionMode.LocalSize, ExecutionMode.LocalSizeId)
        ]
        if not modes:
            raise SpirvError(
                "the driver miscounts sub-groups, and a kernel has no local size; expected LocalSize"
            )
        extents = modes[0].operands[2:5]
        if modes[0].operands[1] == ExecutionMode.LocalSize:
            return [editor.number(extent) for extent in extents]
        return [self._emit(body, Op.IAdd, extent, editor.number(0)) for extent in extents]

    def around(self, item: Instruction) -> Iterator[Instruction]:
        """Yields what takes the place of an instruction; entry points name the variables that are used."""
        if item.opcode == Op.EntryPoint:
            private = self._own.values() if self._editor.module.version >= (1, 4) else ()
            inputs = self._inputs.get(item.operands[1], ())
            item = with_interface(item, dict.fromkeys((*interface_of(item), *inputs, *private)))
        yield from self._code.around(item)
