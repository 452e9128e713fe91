"""Integers of 8 and 16 bits as drivers with faults (`vk_runtime.quirks`) need them; negations: `narrow_negations`.

    %m = OpExtInst %short %std SMax %a %b  →       %first = OpSGreaterThan %bool %a %b
                                                   %m = OpSelect %short %first %a %b

    %q = OpUDiv %char %ones %x             →       the same in 32 bits, of %x + %zero

%zero is computed, so that the driver does not know it.  What `passes.convert_to_spirv.extrema_handlers` and
`narrow_quotients` do for kernels in Python.  Standard library only.
"""

from __future__ import annotations

from .binary import Instruction, Module
from .module_editor import Body, ModuleEditor
from .opaque_memory import CodeChanges, OpaqueMemory
from .tables import GLSL_STD_450, Op

_EXTREMA = {
    GLSL_STD_450["SMin"][0]: Op.SLessThan,
    GLSL_STD_450["SMax"][0]: Op.SGreaterThan,
    GLSL_STD_450["UMin"][0]: Op.ULessThan,
    GLSL_STD_450["UMax"][0]: Op.UGreaterThan,
}


def zeros(editor: ModuleEditor, body: Body, word: int, type_: int) -> int:
    """Appends zeros without sign, as wide and as many as those of a type, from one of 32 bits."""
    scalar, count = integer_of(editor, type_)
    unsigned = editor.declared(Op.TypeInt, scalar.operands[0], 0)
    zero = word if scalar.operands[0] == 32 else editor.emit(body, Op.UConvert, word, type_=unsigned)
    if count == 1:
        return zero
    vector = editor.declared(Op.TypeVector, unsigned, count)
    return editor.emit(body, Op.CompositeConstruct, *(zero,) * count, type_=vector)


def integer_of(editor: ModuleEditor, type_: int) -> tuple[Instruction, int]:
    """Returns the type of a value's components, and how many there are."""
    item = editor.definition(type_)
    if item.opcode == Op.TypeVector:
        return editor.definition(item.operands[0]), item.operands[1]
    return item, 1


def is_constant(editor: ModuleEditor, value: int, number: int) -> bool:
    """Whether a value is a constant with a number in each component."""
    item = editor.view.definitions[value]
    if item.opcode == Op.ConstantNull:
        return number == 0
    if item.opcode == Op.ConstantComposite:
        return all(is_constant(editor, part, number) for part in item.operands)
    if item.opcode != Op.Constant:
        return False
    bits = editor.view.definitions[item.result_type or 0].operands[0]
    mask = (1 << min(bits, 32)) - 1
    return all(word & mask == number & mask for word in item.operands[:1])


def extrema_compared(module: Module) -> Module:
    """Returns a valid module whose extrema of 16 bits compare and select; itself where it has none."""
    editor, code = ModuleEditor(module), CodeChanges()
    is_changed = False
    for function in editor.view.functions:
        for item in function.instructions():
            if (
                item.opcode == Op.ExtInst
                and item.operands[0] == editor.glsl()
                and item.operands[1] in _EXTREMA
            ):
                is_changed |= _compare(editor, code, item)
    return editor.finished(code.around) if is_changed else module


def _compare(editor: ModuleEditor, code: CodeChanges, item: Instruction) -> bool:
    scalar, count = integer_of(editor, item.result_type or 0)
    if scalar.operands[0] != 16:
        return False
    truth = editor.bool_ if count == 1 else editor.declared(Op.TypeVector, editor.bool_, count)
    first, operands = editor.new_id(), item.operands[2:]
    code.put(
        item,
        Instruction(_EXTREMA[item.operands[1]], truth, first, operands),
        Instruction(Op.Select, item.result_type, item.result_id, (first, *operands)),
    )
    return True


def ones_divided(module: Module) -> Module:
    """Returns a valid module that divides the greatest number of 8 or 16 bits in 32; itself where there is no such."""
    editor, code = ModuleEditor(module), CodeChanges()
    memory = OpaqueMemory(editor)
    for function in editor.view.functions:
        found = [item for item in function.instructions() if _divides_ones(editor, item)]
        if not found:
            continue
        word = memory.unknown_zero(code.at_begin(function.blocks[0]))
        for item in found:
            _divide(editor, code, word, item)
    return editor.finished(lambda item: memory.around(code, item)) if memory.is_used else module


def _divides_ones(editor: ModuleEditor, item: Instruction) -> bool:
    if item.opcode != Op.UDiv or not is_constant(editor, item.operands[0], -1):
        return False
    scalar, _ = integer_of(editor, item.result_type or 0)
    return scalar.operands[0] <= 16


def _divide(editor: ModuleEditor, code: CodeChanges, word: int, item: Instruction) -> None:
    _, count = integer_of(editor, item.result_type or 0)
    wide = editor.u32 if count == 1 else editor.declared(Op.TypeVector, editor.u32, count)
    body: Body = []
    dividend, divisor = (editor.emit(body, Op.UConvert, value, type_=wide) for value in item.operands)
    hidden = editor.emit(body, Op.IAdd, divisor, zeros(editor, body, word, wide), type_=wide)
    quotient = editor.emit(body, Op.UDiv, dividend, hidden, type_=wide)
    code.put(item, *body, item._replace(opcode=Op.UConvert, operands=(quotient,)))
