"""Gives operations on integers operands of their own sign, for drivers that fold them by the sign of the type.

    %m = OpExtInst %uint %std SMax %a %b       →       %x = OpBitcast %int %a
                                                       %y = OpBitcast %int %b
                                                       %z = OpExtInst %int %std SMax %x %y
                                                       %m = OpBitcast %uint %z

SPIR-V says by the operation whether integers have a sign, and compilers that give none to any type rely on that.  A
driver (`vk_runtime.quirks`, unsigned-extrema) that folds these for constants goes by the type.

What `passes.convert_to_spirv.signed_extrema` does for kernels in Python, in another way.  Standard library only.
"""

from __future__ import annotations

from .binary import Instruction, Module, decode_string
from .module_editor import ModuleEditor
from .opaque_memory import CodeChanges
from .tables import GLSL_STD_450, Op

_EXTREMA = {
    GLSL_STD_450[f"{letter}{name}"][0]: sign
    for letter, sign in (("S", 1), ("U", 0))
    for name in ("Max", "Min", "Clamp")
}
"""Number in GLSL.std.450 → whether its integers have a sign."""
_CONVERSIONS = {Op.ConvertSToF: 1, Op.ConvertUToF: 0}


def signs_matched(module: Module) -> Module:
    """Returns a valid module so changed; itself where it needs no change."""
    editor, code = ModuleEditor(module), CodeChanges()
    sets = {
        item.result_id
        for item in editor.view.of_opcode(Op.ExtInstImport)
        if decode_string(item.operands)[0] == "GLSL.std.450"
    }
    is_changed = False
    for function in editor.view.functions:
        for item in function.instructions():
            if item.opcode in _CONVERSIONS:
                is_changed |= _operands_matched(editor, code, item, 0, _CONVERSIONS[item.opcode])
            elif item.opcode == Op.ExtInst and item.operands[0] in sets and item.operands[1] in _EXTREMA:
                sign = _EXTREMA[item.operands[1]]
                is_changed |= _operands_matched(editor, code, item, 2, sign)
                is_changed |= _result_matched(editor, code, item, sign)
    return editor.finished(code.around) if is_changed else module


def _operands_matched(
    editor: ModuleEditor, code: CodeChanges, item: Instruction, first: int, sign: int
) -> bool:
    """Casts the operands of an instruction that have another sign; returns whether there are any."""
    operands = list(item.operands)
    for place in range(first, len(operands)):
        type_ = editor.view.definitions[operands[place]].result_type or 0
        if (other := _of_sign(editor, type_, sign)) != type_:
            operands[place] = editor.emit(code.before(item), Op.Bitcast, operands[place], type_=other)
    code.put(item, item._replace(operands=tuple(operands)))
    return tuple(operands) != item.operands


def _result_matched(editor: ModuleEditor, code: CodeChanges, item: Instruction, sign: int) -> bool:
    """Lets an instruction give a number of its sign, which is cast; returns whether it gave another."""
    type_ = item.result_type or 0
    other = _of_sign(editor, type_, sign)
    if other == type_:
        return False
    made = editor.new_id()
    now = code.now(item)._replace(result_type=other, result_id=made)
    code.put(item, now, Instruction(Op.Bitcast, type_, item.result_id, (made,)))
    return True


def _of_sign(editor: ModuleEditor, type_: int, sign: int) -> int:
    """Returns the type of integers, or vectors of them, that differs from one in the sign at most."""
    item = editor.view.definitions[type_]
    if item.opcode == Op.TypeVector:
        element = _of_sign(editor, item.operands[0], sign)
        if element == item.operands[0]:
            return type_
        return editor.declared(Op.TypeVector, element, item.operands[1])
    return type_ if item.operands[1] == sign else editor.declared(Op.TypeInt, item.operands[0], sign)
