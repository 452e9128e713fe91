"""Conversions of f32 to u64 as drivers with faults (`vk_runtime.quirks`, narrowed-conversions) need them.

    %n = OpConvertFToU %ulong %x           →       %n = the words of %x * 2^-32 and of what is left of %x

What `passes.convert_to_spirv.exact_conversions` does for kernels in Python.  Standard library only.
"""

from __future__ import annotations

from .binary import Instruction, Module
from .module_editor import Body, ModuleEditor
from .narrow_integers import integer_of
from .opaque_memory import CodeChanges
from .tables import Op

_UP, _DOWN = 0x4F800000, 0x2F800000
"""The bits of 2.0**32 and 2.0**-32."""


def conversions_kept(module: Module) -> Module:
    """Returns a valid module so changed; itself where it has no such conversions."""
    editor, code = ModuleEditor(module), CodeChanges()
    found = [
        item
        for function in editor.view.functions
        for item in function.instructions()
        if item.opcode == Op.ConvertFToU and _is_wide(editor, item)
    ]
    for item in found:
        _convert(editor, code, item)
    return editor.finished(code.around) if found else module


def _is_wide(editor: ModuleEditor, item: Instruction) -> bool:
    target, _ = integer_of(editor, item.result_type or 0)
    source, _ = integer_of(editor, editor.view.definitions[item.operands[0]].result_type or 0)
    return target.operands[0] == 64 and source.operands == (32,)


def _convert(editor: ModuleEditor, code: CodeChanges, item: Instruction) -> None:
    (value,), type_ = item.operands, item.result_type or 0
    _, count = integer_of(editor, type_)
    float_ = editor.view.definitions[value].result_type or 0
    word = editor.u32 if count == 1 else editor.declared(Op.TypeVector, editor.u32, count)
    body: Body = []
    scaled = editor.emit(body, Op.FMul, value, _splat(editor, float_, count, _DOWN), type_=float_)
    high = editor.emit(body, Op.ConvertFToU, scaled, type_=word)
    whole = editor.emit(body, Op.ConvertUToF, high, type_=float_)
    above = editor.emit(body, Op.FMul, whole, _splat(editor, float_, count, _UP), type_=float_)
    rest = editor.emit(body, Op.FSub, value, above, type_=float_)
    low = editor.emit(body, Op.UConvert, editor.emit(body, Op.ConvertFToU, rest, type_=word), type_=type_)
    wide = editor.emit(body, Op.UConvert, high, type_=type_)
    amount = _splat(editor, word, count, 32)
    upper = editor.emit(body, Op.ShiftLeftLogical, wide, amount, type_=type_)
    code.put(item, *body, Instruction(Op.BitwiseOr, type_, item.result_id, (upper, low)))


def _splat(editor: ModuleEditor, type_: int, count: int, bits: int) -> int:
    """Returns a constant of 32 bits, in each component of a vector."""
    if count == 1:
        return editor.declared(Op.Constant, bits, type_=type_)
    component = editor.declared(Op.Constant, bits, type_=editor.view.definitions[type_].operands[0])
    return editor.declared(Op.ConstantComposite, *(component,) * count, type_=type_)
