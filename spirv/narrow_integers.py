"""Operations on 8 and 16 bits that drivers get wrong: extrema and quotients; negations are in `narrow_negations`.

    %m = OpExtInst %short %std SMax %a %b  →       %first = OpSGreaterThan %bool %a %b
                                                   %m = OpSelect %short %first %a %b

    %q = OpUDiv %char %ones %x             →       the same in 32 bits, of %x + %zero

The faults are short-extrema, blended-ones and divided-ones in `vk_runtime.quirks`.  %zero is computed, so that the
driver does not know it.  What `passes.convert_to_spirv.extrema_handlers` and `narrow_quotients` do for kernels in
Python.  Standard library only.
"""

from __future__ import annotations

from .binary import Instruction, Module
from .component_types import component_type, is_constant, of_components, unsigned, zeros
from .module_editor import Body, ModuleEditor
from .rewrite import Rewrite
from .tables import GLSL_STD_450, Op

_EXTREMA = {
    GLSL_STD_450["SMin"][0]: Op.SLessThan,
    GLSL_STD_450["SMax"][0]: Op.SGreaterThan,
    GLSL_STD_450["UMin"][0]: Op.ULessThan,
    GLSL_STD_450["UMax"][0]: Op.UGreaterThan,
}


def extrema_compared(module: Module) -> Module:
    """Returns a valid module whose extrema of 16 bits compare and select; itself where it has none."""
    rewrite = Rewrite(module)
    editor = rewrite.editor
    for _, item in rewrite.instructions(Op.ExtInst):
        if item.operands[0] != editor.glsl() or item.operands[1] not in _EXTREMA:
            continue
        scalar, count = component_type(editor, item.result_type or 0)
        if scalar.operands[0] != 16:
            continue
        first, operands = editor.new_id(), item.operands[2:]
        truth = of_components(editor, editor.bool_, count)
        rewrite.put(
            item,
            Instruction(_EXTREMA[item.operands[1]], truth, first, operands),
            Instruction(Op.Select, item.result_type, item.result_id, (first, *operands)),
        )
    return rewrite.finished()


def ones_divided(module: Module) -> Module:
    """Returns a valid module that divides the greatest number of 8 or 16 bits in 32; itself where there is no such."""
    rewrite = Rewrite(module)
    for function, item in rewrite.instructions(Op.UDiv):
        if _divides_ones(rewrite.editor, item):
            body = _divided(rewrite.editor, rewrite.unknown_zero(function), item)
            rewrite.put(item, *body)
    return rewrite.finished()


def _divides_ones(editor: ModuleEditor, item: Instruction) -> bool:
    scalar, _ = component_type(editor, item.result_type or 0)
    return scalar.operands[0] <= 16 and is_constant(editor, item.operands[0], -1)


def _divided(editor: ModuleEditor, zero: int, item: Instruction) -> Body:
    """Returns what divides in 32 bits."""
    _, count = component_type(editor, item.result_type or 0)
    wide = unsigned(editor, 32, count)
    body: Body = []
    dividend, divisor = (editor.emit(body, Op.UConvert, value, type_=wide) for value in item.operands)
    hidden = editor.emit(body, Op.IAdd, divisor, zeros(editor, body, zero, wide), type_=wide)
    quotient = editor.emit(body, Op.UDiv, dividend, hidden, type_=wide)
    return [*body, item._replace(opcode=Op.UConvert, operands=(quotient,))]
