"""Integers of 8 and 16 bits as drivers with faults (`vk_runtime.quirks`) need them.

    %n = OpSNegate %char %x                →       %m = OpSNegate %char %x
                                                   %n = OpBitwiseOr %char %m %zero
    %m = OpExtInst %short %std SMax %a %b  →       %first = OpSGreaterThan %bool %a %b
                                                   %m = OpSelect %short %first %a %b

%zero is computed, so that the driver does not know it.  What `passes.convert_to_spirv.narrow_negations` and
`extrema_handlers` do for kernels in Python.  Standard library only.
"""

from __future__ import annotations

from .binary import Instruction, Module
from .module_editor import ModuleEditor
from .module_view import FunctionView
from .opaque_memory import CodeChanges, OpaqueMemory
from .tables import GLSL_STD_450, Op

_NARROWS = (Op.UConvert, Op.SConvert)
_EXTREMA = {
    GLSL_STD_450["SMin"][0]: Op.SLessThan,
    GLSL_STD_450["SMax"][0]: Op.SGreaterThan,
    GLSL_STD_450["UMin"][0]: Op.ULessThan,
    GLSL_STD_450["UMax"][0]: Op.UGreaterThan,
}


def negations_kept(module: Module) -> Module:
    """Returns a valid module whose negations of 8 and 16 bits are hidden; itself where it has none."""
    editor, code = ModuleEditor(module), CodeChanges()
    memory = OpaqueMemory(editor)
    for function in editor.view.functions:
        _hide(editor, code, memory, function)
    return editor.finished(lambda item: memory.around(code, item)) if memory.is_used else module


def _hide(editor: ModuleEditor, code: CodeChanges, memory: OpaqueMemory, function: FunctionView) -> None:
    found = [item for item in function.instructions() if _is_narrow_negation(editor, item)]
    if not found:
        return
    word = memory.unknown_zero(code.at_begin(function.blocks[0]))
    for item in found:
        type_ = item.result_type or 0
        scalar, count = _integer(editor, type_)
        kept, zero = editor.new_id(), editor.new_id()
        unsigned = editor.declared(Op.TypeInt, scalar.operands[0], 0)
        narrow = Instruction(Op.UConvert, unsigned, zero, (word,))
        now = [item._replace(result_id=kept), narrow]
        if scalar.result_id != unsigned:
            now.append(
                Instruction(Op.Bitcast, scalar.result_id, zero := editor.new_id(), (narrow.result_id or 0,))
            )
        if count > 1:
            parts = (zero,) * count
            now.append(Instruction(Op.CompositeConstruct, type_, zero := editor.new_id(), parts))
        now.append(Instruction(Op.BitwiseOr, type_, item.result_id, (kept, zero)))
        code.put(item, *now)


def _integer(editor: ModuleEditor, type_: int) -> tuple[Instruction, int]:
    """Returns the type of a value's components, and how many there are."""
    item = editor.view.definitions[type_]
    if item.opcode == Op.TypeVector:
        return editor.view.definitions[item.operands[0]], item.operands[1]
    return item, 1


def _is_narrow_negation(editor: ModuleEditor, item: Instruction) -> bool:
    if item.result_type is None or item.opcode not in (Op.SNegate, Op.ISub, Op.IMul, Op.IAdd, *_NARROWS):
        return False
    scalar, _ = _integer(editor, item.result_type)
    if scalar.opcode != Op.TypeInt or scalar.operands[0] > 16:
        return False
    if item.opcode in _NARROWS:
        source = editor.view.definitions[item.operands[0]]
        return source.result_type is not None and _is_negation(editor, source)
    return _is_negation(editor, item)


def _is_negation(editor: ModuleEditor, item: Instruction) -> bool:
    """Whether an instruction gives -x, 0 - x, x * -1 or ~x + 1."""
    if item.opcode == Op.SNegate:
        return True
    if item.opcode == Op.ISub:
        return _is_constant(editor, item.operands[0], 0)
    if item.opcode == Op.IMul:
        return any(_is_constant(editor, operand, -1) for operand in item.operands)
    if item.opcode != Op.IAdd:
        return False
    names = [editor.view.definitions[operand].opcode for operand in item.operands]
    return Op.Not in names and any(_is_constant(editor, operand, 1) for operand in item.operands)


def _is_constant(editor: ModuleEditor, value: int, number: int) -> bool:
    """Whether a value is a constant with a number in each component."""
    item = editor.view.definitions[value]
    if item.opcode == Op.ConstantNull:
        return number == 0
    if item.opcode == Op.ConstantComposite:
        return all(_is_constant(editor, part, number) for part in item.operands)
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
    scalar, count = _integer(editor, item.result_type or 0)
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
