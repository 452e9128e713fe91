"""Truths about low bits of 64-bit integers as drivers with faults (`vk_runtime.quirks`, low-bits) need them.

    %b = OpBitwiseAnd %ulong %x %one       →       %c = OpBitwiseAnd %ulong %x %one
                                                   %b = OpIAdd %ulong %c %zero

%zero is computed, so that the driver does not know it.  It is added to what signed comparisons and arithmetic shifts
take, too, if upper bits of that may have been shifted out.  What `passes.convert_to_spirv.low_bits` does for kernels in
Python.  Standard library only.
"""

from __future__ import annotations

from .binary import Instruction, Module
from .module_editor import Body, ModuleEditor
from .module_view import FunctionView
from .narrow_integers import integer_of, is_constant, zeros
from .opaque_memory import CodeChanges, OpaqueMemory
from .tables import Op

_DEPTH = 6
"""How many instructions are looked through."""
_SUMS = (Op.IAdd, Op.ISub, Op.BitwiseAnd, Op.BitwiseOr, Op.BitwiseXor, Op.Not, Op.Select, Op.CopyObject)
_PARTS = (Op.UConvert, Op.SConvert, Op.Bitcast, Op.CompositeExtract)
_THROUGH = (*_SUMS, *_PARTS, Op.IMul, Op.ShiftLeftLogical, Op.ShiftRightLogical)
_REMAINDERS = (Op.UMod, Op.SRem, Op.SMod)
_ORDERS = (Op.SLessThan, Op.SLessThanEqual, Op.SGreaterThan, Op.SGreaterThanEqual)


def low_bits_kept(module: Module) -> Module:
    """Returns a valid module so changed; itself where it has no such truths."""
    editor, code = ModuleEditor(module), CodeChanges()
    if not any(item.operands[0] == 64 for item in editor.view.of_opcode(Op.TypeInt)):
        return module
    memory = OpaqueMemory(editor)
    for function in editor.view.functions:
        _keep(editor, code, memory, function)
    return editor.finished(lambda item: memory.around(code, item)) if memory.is_used else module


def _keep(editor: ModuleEditor, code: CodeChanges, memory: OpaqueMemory, function: FunctionView) -> None:
    bits = [item for item in function.instructions() if _is_lowest_bit(editor, item)]
    signs = {item: found for item in function.instructions() if (found := _shifted_operands(editor, item))}
    if not bits and not signs:
        return
    word = memory.unknown_zero(code.at_begin(function.blocks[0]))
    for item in bits:
        known, type_ = editor.new_id(), item.result_type or 0
        body: Body = []
        sum_ = Instruction(Op.IAdd, type_, item.result_id, (known, zeros(editor, body, word, type_)))
        code.put(item, item._replace(result_id=known), *body, sum_)
    for item, positions in signs.items():
        body, operands = code.before(item), list(item.operands)
        for position in positions:
            type_ = editor.view.definitions[operands[position]].result_type or 0
            zero = zeros(editor, body, word, type_)
            operands[position] = editor.emit(body, Op.IAdd, operands[position], zero, type_=type_)
        code.put(item, item._replace(operands=tuple(operands)))


def _is_lowest_bit(editor: ModuleEditor, item: Instruction) -> bool:
    """Whether an instruction gives the lowest bit of 64, or of a part of them."""
    if item.opcode == Op.BitwiseAnd:
        return any(is_constant(editor, value, 1) for value in item.operands) and any(
            _is_of_64_bits(editor, value, _DEPTH) for value in item.operands
        )
    is_parity = item.opcode in _REMAINDERS and is_constant(editor, item.operands[1], 2)
    return is_parity and _is_of_64_bits(editor, item.operands[0], _DEPTH)


def _is_of_64_bits(editor: ModuleEditor, value: int, depth: int) -> bool:
    """Whether an integer has 64 bits, or may be computed from some; what a variable holds may be."""
    item = editor.view.definitions[value]
    if item.opcode == Op.Load:
        return True
    scalar, _ = integer_of(editor, item.result_type or 0)
    if scalar.opcode == Op.TypeInt and scalar.operands[0] == 64:
        return item.opcode != Op.Constant
    if depth == 0 or item.opcode not in _THROUGH:
        return False
    operands = item.operands[:1] if item.opcode == Op.CompositeExtract else item.operands
    return any(_is_of_64_bits(editor, operand, depth - 1) for operand in operands)


def _shifted_operands(editor: ModuleEditor, item: Instruction) -> list[int]:
    """Returns the positions of 64-bit operands whose sign is asked and whose upper bits may have been shifted out."""
    if item.opcode == Op.ShiftRightArithmetic:
        positions = (0,)
    elif item.opcode in _ORDERS:
        positions = (0, 1)
    else:
        return []
    return [
        p
        for p in positions
        if _has_64_bits(editor, item.operands[p]) and _is_shifted(editor, item.operands[p], _DEPTH)
    ]


def _has_64_bits(editor: ModuleEditor, value: int) -> bool:
    scalar, _ = integer_of(editor, editor.view.definitions[value].result_type or 0)
    return scalar.opcode == Op.TypeInt and scalar.operands[0] == 64


def _is_shifted(editor: ModuleEditor, value: int, depth: int) -> bool:
    item = editor.view.definitions[value]
    if item.opcode in (Op.ShiftLeftLogical, Op.IMul, Op.Load):
        return True
    return (
        depth > 0 and item.opcode in _SUMS and any(_is_shifted(editor, v, depth - 1) for v in item.operands)
    )
