"""Keeps the sign of a zero that is a negated truth value, which drivers lose: `negations_hidden`.

    %n = OpFNegate %float %x               →       %n = OpFNegate %float of (bits of %x | %zero)

Such a driver (`vk_runtime.quirks`, negated-truths) takes -float(x == y) for 0.0 where they differ.  %x is, or may have
been, a choice of ones and zeros, and %zero is computed, so that the driver does not know it.  What
`passes.convert_to_spirv.signed_zeros` does for kernels in Python.  Standard library only.
"""

from __future__ import annotations

from .binary import Instruction, Module
from .component_types import component_type, of_components, zeros
from .module_editor import Body, ModuleEditor
from .module_view import ModuleView
from .origins import Origins
from .rewrite import Rewrite
from .tables import Op

_THROUGH = (Op.FConvert, Op.ConvertSToF, Op.ConvertUToF)
_ONES = {16: (0x3C00,), 32: (0x3F800000,), 64: (0, 0x3FF00000)}
"""The words of 1.0."""


def negations_hidden(module: Module) -> Module:
    """Returns a valid module so changed; itself where it negates no truth values."""
    rewrite = Rewrite(module)
    origins = Origins(rewrite.view, _THROUGH)
    for function, item in rewrite.instructions(Op.FNegate):
        if _negates_truth(rewrite.view, origins, item):
            zero = rewrite.unknown_zero(function)
            hidden = _hidden(rewrite.editor, rewrite.before(item), zero, item)
            rewrite.put(item, item._replace(operands=(hidden,)))
    return rewrite.finished()


def _hidden(editor: ModuleEditor, body: Body, zero: int, item: Instruction) -> int:
    """Appends what is negated as a number that the driver does not know; f32 holds a truth value of any width."""
    type_, (value,) = item.result_type or 0, item.operands
    scalar, count = component_type(editor, type_)
    single, bits = (
        of_components(editor, part, count) for part in (editor.declared(Op.TypeFloat, 32), editor.u32)
    )
    if scalar.operands != (32,):
        value = editor.emit(body, Op.FConvert, value, type_=single)
    value = editor.emit(body, Op.Bitcast, value, type_=bits)
    value = editor.emit(body, Op.BitwiseOr, value, zeros(editor, body, zero, bits), type_=bits)
    value = editor.emit(body, Op.Bitcast, value, type_=single)
    return value if single == type_ else editor.emit(body, Op.FConvert, value, type_=type_)


def _negates_truth(view: ModuleView, origins: Origins, item: Instruction) -> bool:
    before = (view.definitions[number] for number in origins.of(item.operands))
    return any(
        first.opcode == Op.Select and all(_is_one_or_zero(view, arm) for arm in first.operands[1:])
        for first in before
    )


def _is_one_or_zero(view: ModuleView, value: int) -> bool:
    """Whether a value is a constant of ones, of either sign, and zeros."""
    item = view.definitions[value]
    if item.opcode == Op.ConstantNull:
        return True
    if item.opcode == Op.ConstantComposite:
        return all(_is_one_or_zero(view, part) for part in item.operands)
    if item.opcode != Op.Constant:
        return False
    type_ = view.definitions[item.result_type or 0]
    bits = type_.operands[0]
    if type_.opcode == Op.TypeFloat:
        sign = 1 << (bits - 1) % 32
        size = (*item.operands[:-1], item.operands[-1] & (sign - 1))
        return not any(size) or size == _ONES.get(bits)
    words = set(item.operands[1:])
    return words <= {0} if item.operands[0] in (0, 1) else {item.operands[0], *words} == {0xFFFFFFFF}
