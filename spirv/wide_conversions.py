"""Converts f32 to u64 half by half, for drivers that may convert to fewer bits: `conversions_kept`.

    %n = OpConvertFToU %ulong %x           →       %n = the words of %x * 2^-32 and of what is left of %x

The fault is narrowed-conversions in `vk_runtime.quirks`.  What
`passes.convert_to_spirv.exact_conversions` does for kernels in Python.  Standard library only.
"""

from __future__ import annotations

from .binary import Instruction, Module
from .component_types import component_type, splat, unsigned
from .module_editor import Body, ModuleEditor
from .rewrite import Rewrite
from .tables import Op

_UP, _DOWN = 0x4F800000, 0x2F800000
"""The bits of 2.0**32 and 2.0**-32."""


def conversions_kept(module: Module) -> Module:
    """Returns a valid module so changed; itself where it has no such conversions."""
    rewrite = Rewrite(module)
    for _, item in rewrite.instructions(Op.ConvertFToU):
        if _is_wide(rewrite.editor, item):
            rewrite.put(item, *_converted(rewrite.editor, item))
    return rewrite.finished()


def _is_wide(editor: ModuleEditor, item: Instruction) -> bool:
    target, _ = component_type(editor, item.result_type or 0)
    source, _ = component_type(editor, editor.type_of(item.operands[0]))
    return target.operands[0] == 64 and source.operands == (32,)


def _converted(editor: ModuleEditor, item: Instruction) -> Body:
    """Returns what converts the upper and the lower half by themselves."""
    (value,), type_ = item.operands, item.result_type or 0
    _, count = component_type(editor, type_)
    float_, word = editor.type_of(value), unsigned(editor, 32, count)
    body: Body = []
    scaled = editor.emit(body, Op.FMul, value, splat(editor, float_, _DOWN), type_=float_)
    high = editor.emit(body, Op.ConvertFToU, scaled, type_=word)
    whole = editor.emit(body, Op.ConvertUToF, high, type_=float_)
    above = editor.emit(body, Op.FMul, whole, splat(editor, float_, _UP), type_=float_)
    rest = editor.emit(body, Op.FSub, value, above, type_=float_)
    low = editor.emit(body, Op.UConvert, editor.emit(body, Op.ConvertFToU, rest, type_=word), type_=type_)
    wide = editor.emit(body, Op.UConvert, high, type_=type_)
    upper = editor.emit(body, Op.ShiftLeftLogical, wide, splat(editor, word, 32), type_=type_)
    return [*body, Instruction(Op.BitwiseOr, type_, item.result_id, (upper, low))]
