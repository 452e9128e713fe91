"""Makes a load and a store of each OpCopyMemory, so that what looks at memory need not know a third access.

    OpCopyMemory %to %from      →      %value = OpLoad %from
                                       OpStore %to %value

Standard library only.
"""

from __future__ import annotations

from .binary import Instruction, Module
from .module_editor import ModuleEditor
from .opaque_memory import CodeChanges
from .tables import Op


def copies_split(module: Module) -> Module:
    """Returns a valid module so changed, itself where it has none; copies with memory operands stay."""
    if not any(item.opcode == Op.CopyMemory for item in module.instructions):
        return module
    editor, code = ModuleEditor(module), CodeChanges()
    for function in editor.view.functions:
        for item in function.instructions():
            if item.opcode == Op.CopyMemory and len(item.operands) == 2:
                to, origin = item.operands
                pointer = editor.view.type_of(origin)
                assert pointer is not None, "the module is valid"
                value = editor.new_id()
                load = Instruction(Op.Load, pointer.operands[1], value, (origin,))
                code.put(item, load, Instruction(Op.Store, None, None, (to, value)))
    return editor.finished(code.around)
