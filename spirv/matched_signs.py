"""Gives operations on integers operands of their own sign, for drivers that fold them by the sign of the type.

    %m = OpExtInst %uint %std SMax %a %b       →       %x = OpBitcast %int %a
                                                       %y = OpBitcast %int %b
                                                       %z = OpExtInst %int %std SMax %x %y
                                                       %m = OpBitcast %uint %z

SPIR-V says by the operation whether integers have a sign, and compilers that give none to any type rely on that.  A
driver (`vk_runtime.quirks`, unsigned-extrema) that folds these for constants goes by the type.

What `passes.convert_to_spirv.integer_extrema` does for kernels in Python, in another way.  Standard library only.
"""

from __future__ import annotations

from .binary import Instruction, Module, decode_string
from .component_types import component_type, of_components
from .module_editor import ModuleEditor
from .rewrite import Rewrite
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
    rewrite = Rewrite(module)
    sets = {
        item.result_id
        for item in rewrite.view.of_opcode(Op.ExtInstImport)
        if decode_string(item.operands)[0] == "GLSL.std.450"
    }
    for _, item in rewrite.instructions(Op.ExtInst, *_CONVERSIONS):
        if item.opcode in _CONVERSIONS:
            _match_operands(rewrite, item, 0, _CONVERSIONS[item.opcode])
        elif item.operands[0] in sets and item.operands[1] in _EXTREMA:
            sign = _EXTREMA[item.operands[1]]
            _match_operands(rewrite, item, 2, sign)
            _match_result(rewrite, item, sign)
    return rewrite.finished()


def _match_operands(rewrite: Rewrite, item: Instruction, first: int, sign: int) -> None:
    """Casts the operands of an instruction that have another sign."""
    editor, operands = rewrite.editor, list(item.operands)
    for place in range(first, len(operands)):
        type_ = editor.type_of(operands[place])
        if (other := _of_sign(editor, type_, sign)) != type_:
            operands[place] = editor.emit(rewrite.before(item), Op.Bitcast, operands[place], type_=other)
    if tuple(operands) != item.operands:
        rewrite.put(item, item._replace(operands=tuple(operands)))


def _match_result(rewrite: Rewrite, item: Instruction, sign: int) -> None:
    """Lets an instruction that gives a number of another sign give one of its own, which is cast."""
    type_ = item.result_type or 0
    other = _of_sign(rewrite.editor, type_, sign)
    if other != type_:
        made = rewrite.editor.new_id()
        now = rewrite.code.now(item)._replace(result_type=other, result_id=made)
        rewrite.put(item, now, Instruction(Op.Bitcast, type_, item.result_id, (made,)))


def _of_sign(editor: ModuleEditor, type_: int, sign: int) -> int:
    """Returns the type of integers, or vectors of them, that differs from one in the sign at most."""
    scalar, count = component_type(editor, type_)
    width, is_signed = scalar.operands
    if is_signed == sign:
        return type_
    return of_components(editor, editor.declared(Op.TypeInt, width, sign), count)
