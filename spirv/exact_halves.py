"""Lets large integers become infinite where they become f16: `integers_kept`.

    %h = OpConvertUToF %half %x            →       %y = OpBitwiseOr %uint %x %zero
                                                   %h = OpConvertUToF %half %y

Drivers that are made with LLVM (`vk_runtime.quirks`, exact-halves) know how many bits of %x may be set.  Where these
fit into an f16, f32(f16(x)) is f32(x) for them, also beyond 65504.  They do not know %zero, which is computed.  What
`passes.convert_to_spirv.exact_conversions` does for kernels in Python.  Standard library only.
"""

from __future__ import annotations

from .binary import Instruction, Module
from .module_editor import ModuleEditor
from .narrow_integers import integer_of, zeros
from .opaque_memory import CodeChanges, OpaqueMemory
from .tables import Op

_CONVERSIONS = (Op.ConvertSToF, Op.ConvertUToF)


def integers_kept(module: Module) -> Module:
    """Returns a valid module so changed; itself where it makes no f16 of integers of more than 16 bits."""
    editor, code = ModuleEditor(module), CodeChanges()
    memory = OpaqueMemory(editor)
    for function in editor.view.functions:
        found = [item for item in function.instructions() if _is_beyond_half(editor, item)]
        if not found:
            continue
        word = memory.unknown_zero(code.at_begin(function.blocks[0]))
        for item in found:
            type_, body = _operand_type(editor, item), code.before(item)
            whole = editor.emit(
                body, Op.BitwiseOr, item.operands[0], zeros(editor, body, word, type_), type_=type_
            )
            code.put(item, item._replace(operands=(whole,)))
    return editor.finished(lambda item: memory.around(code, item)) if memory.is_used else module


def _is_beyond_half(editor: ModuleEditor, item: Instruction) -> bool:
    if item.opcode not in _CONVERSIONS:
        return False
    half, _ = integer_of(editor, item.result_type or 0)
    integer, _ = integer_of(editor, _operand_type(editor, item))
    return half.operands == (16,) and integer.operands[0] > 16


def _operand_type(editor: ModuleEditor, item: Instruction) -> int:
    return editor.view.definitions[item.operands[0]].result_type or 0
