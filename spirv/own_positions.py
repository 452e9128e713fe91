"""Makes positions in private memory values of their own, for drivers that read what a loop carries too late.

    %p = OpAccessChain %private %k          →          %z = OpIAdd %k %zero
                                                       %p = OpAccessChain %private %z

Such a driver (`vk_runtime.quirks`, carried-positions) reads the position when memory is accessed, and no longer at
OpAccessChain: where the loop has the next round's position by then, that is what it reads.  What an instruction has
computed stays.  The 0 is computed, too (`opaque_memory`), so that the driver cannot leave the sum out.

What `passes.convert_to_spirv.local_array` does for kernels in Python.  Standard library only.
"""

from __future__ import annotations

from .binary import Instruction, Module
from .component_types import zeros
from .memory_places import CHAINS
from .module_editor import ModuleEditor
from .rewrite import Rewrite
from .tables import Op, StorageClass, opcode_name

_PRIVATE = (StorageClass.Function, StorageClass.Private)


def positions_owned(module: Module) -> Module:
    """Returns a valid module so changed; itself where it has no loops, or no such positions."""
    if not any(item.opcode == Op.LoopMerge for item in module.instructions):
        return module
    rewrite = Rewrite(module)
    for function, chain in rewrite.instructions(*CHAINS):
        moving = _moving(rewrite.editor, chain)
        if any(moving) and _is_private(rewrite.editor, chain):
            zero, (base, *indices) = rewrite.index(function), chain.operands
            for place, moves in enumerate(moving):
                if moves:
                    indices[place] = _own(rewrite, chain, indices[place], zero)
            rewrite.put(chain, chain._replace(operands=(base, *indices)))
    return rewrite.finished()


def _is_private(editor: ModuleEditor, chain: Instruction) -> bool:
    type_ = editor.view.definitions[chain.result_type or 0]
    return type_.operands[0] in _PRIVATE


def _moving(editor: ModuleEditor, chain: Instruction) -> list[bool]:
    """Returns which positions are no constants."""
    names = [opcode_name(editor.view.definitions[number].opcode) for number in chain.operands[1:]]
    return [not name.startswith(("OpConstant", "OpSpecConstant")) for name in names]


def _own(rewrite: Rewrite, chain: Instruction, position: int, zero: int) -> int:
    editor, body = rewrite.editor, rewrite.before(chain)
    type_ = editor.type_of(position)
    return editor.emit(body, Op.IAdd, position, zeros(editor, body, zero, type_), type_=type_)
