"""Makes a load and a store of each OpCopyMemory, so that what looks at memory need not know a third access.

    OpCopyMemory %to %from      →      %value = OpLoad %from
                                       OpStore %to %value

Standard library only.
"""

from __future__ import annotations

from .binary import Instruction, Module
from .rewrite import Rewrite
from .tables import Op


def copies_split(module: Module) -> Module:
    """Returns a valid module so changed, itself where it has none; copies with memory operands stay."""
    rewrite = Rewrite(module)
    editor = rewrite.editor
    for _, item in rewrite.instructions(Op.CopyMemory):
        if len(item.operands) == 2:
            to, origin = item.operands
            pointer, value = editor.definition(editor.type_of(origin)), editor.new_id()
            load = Instruction(Op.Load, pointer.operands[1], value, (origin,))
            rewrite.put(item, load, Instruction(Op.Store, None, None, (to, value)))
    return rewrite.finished()
