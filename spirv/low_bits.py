"""Hides low bits of 64-bit integers from drivers that misjudge them (`vk_runtime.quirks`, low-bits): `low_bits_kept`.

    %b = OpBitwiseAnd %ulong %x %one       →       %b = %ulong of ((%uint of %x >> %zero) & 1) >> %zero

%zero is computed, so that the driver does not know it, and any bit may be one that matters.  What signed comparisons
and arithmetic shifts take is shifted by it, too, if upper bits of that may have been shifted out.  What
`passes.convert_to_spirv.low_bits` does for kernels in Python.  Standard library only.
"""

from __future__ import annotations

from .binary import Instruction, Module
from .component_types import component_type, is_constant, splat, unsigned, zeros
from .module_editor import Body, ModuleEditor
from .rewrite import Rewrite
from .tables import Op, StorageClass

_DEPTH = 6
"""How many instructions are looked through."""
_MASKS = (1, 3)
"""Of which one bit may be all that is left: x * x & 3 is x & 1."""
_DOUBLED = (Op.IAdd, Op.ISub)
"""What may give a number twice: x + x, and (x + 1) - (y - x), are x << 1 to the driver."""
_SUMS = (Op.IAdd, Op.ISub, Op.BitwiseAnd, Op.BitwiseOr, Op.BitwiseXor, Op.Not, Op.Select, Op.CopyObject)
_PARTS = (Op.UConvert, Op.SConvert, Op.Bitcast, Op.CompositeExtract)
_THROUGH = (*_SUMS, *_PARTS, Op.IMul, Op.ShiftLeftLogical, Op.ShiftRightLogical)
_REMAINDERS = (Op.UMod, Op.SRem, Op.SMod)
_GIVEN = (StorageClass.Input, StorageClass.PushConstant)
_ORDERS = (Op.SLessThan, Op.SLessThanEqual, Op.SGreaterThan, Op.SGreaterThanEqual)


def low_bits_kept(module: Module) -> Module:
    """Returns a valid module so changed; itself where it has no such truths."""
    rewrite = Rewrite(module)
    editor = rewrite.editor
    if not any(item.operands[0] == 64 for item in rewrite.view.of_opcode(Op.TypeInt)):
        return module
    for function, item in rewrite.instructions(Op.BitwiseAnd, *_REMAINDERS):
        if _is_lowest_bit(editor, item):
            change = _taken if item.opcode == Op.BitwiseAnd else _divided
            rewrite.put(item, *change(editor, rewrite.unknown_zero(function), item))
    for function, item in rewrite.instructions(Op.ShiftRightArithmetic, *_ORDERS):
        positions = _shifted_operands(editor, item)
        if positions:
            zero, body = rewrite.unknown_zero(function), rewrite.before(item)
            operands = list(item.operands)
            for position in positions:
                operands[position] = _hidden(editor, body, zero, operands[position])
            rewrite.put(item, item._replace(operands=tuple(operands)))
    return rewrite.finished()


def _hidden(editor: ModuleEditor, body: Body, zero: int, value: int) -> int:
    """Appends an integer as one that the driver does not know."""
    type_ = editor.type_of(value)
    amount = zeros(editor, body, zero, type_)
    return editor.emit(body, Op.ShiftRightLogical, value, amount, type_=type_)


def _taken(editor: ModuleEditor, zero: int, item: Instruction) -> Body:
    """Returns what takes lowest bits of 32; the driver knows neither what they are taken from nor what they are."""
    type_, (value, mask) = item.result_type or 0, _masked(editor, item)
    scalar, count = component_type(editor, type_)
    width, is_signed = scalar.operands
    word = unsigned(editor, 32, count)
    ones = splat(editor, word, mask or 0)
    body: Body = []
    if type_ != word:
        value = editor.emit(body, Op.Bitcast if width == 32 else Op.UConvert, value, type_=word)
    amount = zeros(editor, body, zero, word)
    hidden = editor.emit(body, Op.ShiftRightLogical, value, amount, type_=word)
    taken = editor.emit(body, Op.BitwiseAnd, hidden, ones, type_=word)
    taken = editor.emit(body, Op.ShiftRightLogical, taken, amount, type_=word)
    if width != 32 and is_signed:
        taken = editor.emit(body, Op.UConvert, taken, type_=unsigned(editor, width, count))
    kind = Op.UConvert if width != 32 and not is_signed else Op.Bitcast if type_ != word else Op.CopyObject
    return [*body, Instruction(kind, type_, item.result_id, (taken,))]


def _divided(editor: ModuleEditor, zero: int, item: Instruction) -> Body:
    """Returns what divides a number that the driver does not know, and hides what is left."""
    known, type_ = editor.new_id(), item.result_type or 0
    body: Body = []
    amount = zeros(editor, body, zero, type_)
    dividend = editor.emit(body, Op.ShiftRightLogical, item.operands[0], amount, type_=type_)
    rest = item._replace(result_id=known, operands=(dividend, item.operands[1]))
    return [*body, rest, Instruction(Op.ShiftRightLogical, type_, item.result_id, (known, amount))]


def _masked(editor: ModuleEditor, item: Instruction) -> tuple[int, int | None]:
    """Returns what is masked, and the mask if it is one of those that matter."""
    for value, mask in (item.operands, item.operands[::-1]):
        for number in _MASKS:
            if is_constant(editor, mask, number):
                return value, number
    return item.operands[0], None


def _is_lowest_bit(editor: ModuleEditor, item: Instruction) -> bool:
    """Whether an instruction gives the lowest bits of 64, or of a part of them."""
    if item.opcode == Op.BitwiseAnd:
        value, mask = _masked(editor, item)
        return mask is not None and _is_of_64_bits(editor, value, _DEPTH)
    is_parity = item.opcode in _REMAINDERS and any(
        is_constant(editor, item.operands[1], n + 1) for n in _MASKS
    )
    return is_parity and _is_of_64_bits(editor, item.operands[0], _DEPTH)


def _is_of_64_bits(editor: ModuleEditor, value: int, depth: int) -> bool:
    """Whether an integer has 64 bits, or may be computed from some; what a variable holds may be."""
    item = editor.view.definitions[value]
    scalar, _ = component_type(editor, item.result_type or 0)
    if scalar.opcode == Op.TypeInt and scalar.operands[0] == 64:
        return item.opcode != Op.Constant
    if item.opcode == Op.Load:
        return not _is_given(editor, item.operands[0])
    if depth == 0 or item.opcode not in _THROUGH:
        return False
    operands = item.operands[:1] if item.opcode == Op.CompositeExtract else item.operands
    return any(_is_of_64_bits(editor, operand, depth - 1) for operand in operands)


def _is_given(editor: ModuleEditor, pointer: int) -> bool:
    """Whether what lies behind a pointer was there before the kernel, which computes nothing into it."""
    type_ = editor.view.type_of(pointer)
    return type_ is not None and type_.operands[0] in _GIVEN


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
    scalar, _ = component_type(editor, editor.type_of(value))
    return scalar.opcode == Op.TypeInt and scalar.operands[0] == 64


def _is_shifted(editor: ModuleEditor, value: int, depth: int) -> bool:
    item = editor.view.definitions[value]
    if item.opcode == Op.Load:
        return not _is_given(editor, item.operands[0])
    if item.opcode in (Op.ShiftLeftLogical, Op.IMul):
        return True
    if item.opcode in _DOUBLED:
        left, right = (_summands(editor, operand, depth) for operand in item.operands)
        if not left.isdisjoint(right):
            return True
    return (
        depth > 0 and item.opcode in _SUMS and any(_is_shifted(editor, v, depth - 1) for v in item.operands)
    )


def _summands(editor: ModuleEditor, value: int, depth: int) -> set[int]:
    """Returns what an integer is a sum or a difference of, constants left out."""
    item = editor.view.definitions[value]
    if depth > 0 and item.opcode in _DOUBLED:
        return {part for operand in item.operands for part in _summands(editor, operand, depth - 1)}
    return set() if item.opcode in (Op.Constant, Op.ConstantComposite, Op.ConstantNull) else {value}
