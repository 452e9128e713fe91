"""Rounds f32 to f16 also where a driver would leave that out, because it becomes f32 again: `halves_rounded`.

    %h = OpFConvert %half %x           →          %y = OpFConvert %half %x
                                                  %h = OpExtInst %half %std Fma %y %one %negative_zero

Such a driver (`vk_runtime.quirks`, unrounded-halves) goes on with %x.  y * 1 + -0 is y for every y, which the driver
does not use where it is to keep NaN, infinities and -0.0: that is asked for, too.  What
`passes.convert_to_spirv.exact_conversions` does for kernels in Python.  Standard library only.
"""

from __future__ import annotations

from .binary import Instruction, Module
from .component_types import component_type, splat
from .module_editor import ModuleEditor
from .origins import Origins
from .rewrite import Rewrite
from .tables import GLSL_STD_450, Capability, Decoration, ExecutionMode, Op

_FMA = GLSL_STD_450["Fma"][0]
_ONE, _NEGATIVE_ZERO = 0x3C00, 0x8000


def halves_rounded(module: Module) -> Module:
    """Returns a valid module so changed; itself where it makes no f16 of wider floats."""
    rewrite = Rewrite(module)
    halves = _halves(rewrite)
    if not halves:
        return module
    for item in halves:
        _round(rewrite, item)
    rewrite.editor.require(Capability.Float16)
    _preserve(rewrite)
    return rewrite.finished()


def _halves(rewrite: Rewrite) -> list[Instruction]:
    """Returns the conversions to f16 whose results may be used for what they were made of."""
    editor = rewrite.editor
    conversions = [item for _, item in rewrite.instructions(Op.FConvert)]
    halves = [item for item in conversions if _is_half(editor, item.result_type or 0)]
    if not editor.has(Capability.Float16):  # without arithmetic they are stored, or become wider again
        widened = Origins(editor.view).of(item.operands[0] for item in conversions)
        halves = [item for item in halves if item.result_id in widened]
    # A rounding mode is one of conversions whose results are stored alone.
    mode = Decoration.FPRoundingMode
    return [item for item in halves if editor.view.decoration(item.result_id or 0, mode) is None]


def _preserve(rewrite: Rewrite) -> None:
    """Asks for SignedZeroInfNanPreserve of f16 where the entry points do not."""
    editor = rewrite.editor
    wanted = (ExecutionMode.SignedZeroInfNanPreserve, 16)
    modes = editor.view.of_opcode(Op.ExecutionMode)
    asked = {item.operands[0] for item in modes if item.operands[1:] == wanted}
    entries = list(editor.view.of_opcode(Op.EntryPoint))
    for entry in entries:
        if entry.operands[1] not in asked:
            mode = Instruction(Op.ExecutionMode, None, None, (entry.operands[1], *wanted))
            rewrite.code.behind(entries[-1].ordinal).append(mode)
            editor.require(Capability.SignedZeroInfNanPreserve)
            editor.extend("SPV_KHR_float_controls")


def _is_half(editor: ModuleEditor, type_: int) -> bool:
    item, _ = component_type(editor, type_)
    return item.operands == (16,)  # and not (16, encoding), which is bfloat16


def _round(rewrite: Rewrite, conversion: Instruction) -> None:
    editor, type_ = rewrite.editor, conversion.result_type or 0
    half = editor.new_id()
    constants = (splat(editor, type_, bits) for bits in (_ONE, _NEGATIVE_ZERO))
    operands = (editor.glsl(), _FMA, half, *constants)
    rewrite.put(
        conversion,
        conversion._replace(result_id=half),
        Instruction(Op.ExtInst, type_, conversion.result_id, operands),
    )
