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
from .memory_places import CHAINS
from .module_editor import ModuleEditor
from .module_view import FunctionView
from .opaque_memory import CodeChanges, OpaqueMemory
from .tables import Op, StorageClass, opcode_name

_PRIVATE = (StorageClass.Function, StorageClass.Private)


def positions_owned(module: Module) -> Module:
    """Returns a valid module so changed; itself where it has no loops, or no such positions."""
    editor = ModuleEditor(module)
    if not any(item.opcode == Op.LoopMerge for item in module.instructions):
        return module
    code, memory = CodeChanges(), OpaqueMemory(editor)
    for function in editor.view.functions:
        _function(editor, code, memory, function)
    return editor.finished(lambda item: memory.around(code, item)) if memory.is_used else module


def _function(editor: ModuleEditor, code: CodeChanges, memory: OpaqueMemory, function: FunctionView) -> None:
    chains = [item for item in function.instructions() if item.opcode in CHAINS]
    moving = [item for item in chains if _is_private(editor, item) and any(_moving(editor, item))]
    if not moving:
        return
    zero = memory.index(code.at_begin(function.blocks[0]))
    for item in moving:
        operands = [item.operands[0]]
        for position, moves in zip(item.operands[1:], _moving(editor, item), strict=True):
            operands.append(_own(editor, code, item, position, zero) if moves else position)
        code.put(item, item._replace(operands=tuple(operands)))


def _is_private(editor: ModuleEditor, chain: Instruction) -> bool:
    type_ = editor.view.definitions[chain.result_type or 0]
    return type_.operands[0] in _PRIVATE


def _moving(editor: ModuleEditor, chain: Instruction) -> list[bool]:
    """Returns which positions are no constants."""
    names = [opcode_name(editor.view.definitions[number].opcode) for number in chain.operands[1:]]
    return [not name.startswith(("OpConstant", "OpSpecConstant")) for name in names]


def _own(editor: ModuleEditor, code: CodeChanges, chain: Instruction, position: int, zero: int) -> int:
    body = code.before(chain)
    type_ = editor.view.type_of(position)
    assert type_ is not None and type_.result_id is not None, "the module is valid"
    width = type_.operands[0]
    if width != 32:
        zero = editor.emit(body, Op.UConvert, zero, type_=editor.declared(Op.TypeInt, width, 0))
    return editor.emit(body, Op.IAdd, position, zero, type_=type_.result_id)
