"""Tables of constants that are read at run-time indices: words of 32 bits in the argument block of the kernel.

Software drivers keep a table of the code in memory of each work-item, and llvmpipe compiles one in the square of its
length or worse.  CPU time of the first launch and of each launch of 2^16 work-items with 1024 floats: lavapipe 22.3
33 s and 7.5 ms, with the words in the block 0.15 s and 0.5 to 1.0 ms; SwiftShader 0.24 s and 30 ms, then 0.13 s and
1.1 ms.  A table of as many vectors of four, of arrays, or in a private variable is as slow as the plain one.

For llvmpipe the block is a uniform buffer then (`TargetEnv.tables_are_uniform`): 2^16 work-items that look up 64
words each take 5 to 9 ms there, 35 from a storage buffer, and 4 to 8 from a table in the code, which takes 40 ms longer
to compile (128 words: 300, 256: 1200).  Shorter tables are as fast in the code.

Small integers, bools, f16 and bf16 share words.  Functions that are no kernels, exported ones, have no argument block:
they keep these words in a variable (256 bytes: 0.95 s to compile as 32-bit integers, 0.03 s as 64 words), and other
tables as they are.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    VectorType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.spirv.enums import StorageClass
from ...ir.dialects.spirv.types import ArrayType, PointerType
from ...ir.narrowing import is_float_attribute, is_integer_attribute, is_integer_type
from ...ir.target_env import TargetEnv
from ..optimise.constants import wrap
from .function_lowering import FunctionLowering
from .spec_constant_table import bf16_bits
from .types import integer_attribute

LEAST_LENGTH = 64
"""Numbers in the shortest table that is packed: shorter ones compile at once."""
_WIDEST = 16
"""Bits of the widest numbers of which a word holds several."""
_WORD = 32


@dataclass(frozen=True, slots=True)
class PackedTable:
    """Words that hold the numbers of a table."""

    words: tuple[int, ...]
    """In the argument block, where there is no variable."""
    variable: SSAValue | None
    """Pointer to the array of them."""
    shape: tuple[int, ...]
    """Of the table, the slowest dimension first."""
    bits: int
    """Of each number: 1 to 16 in a word, the first number lowest; 32; 64 in two words, the lower one first."""
    lowest: int
    """What was subtracted from each number; 0 of those that do not share words."""


def is_packed(fn: FunctionLowering, op: Operation) -> bool:
    """Whether a composite is a table to be packed or a row of one and nothing else, or a variable holds one."""
    return _is_packed(fn.module.env, op, has_block=fn.entry is not None)


def needs_block(env: TargetEnv, op: Operation) -> bool:
    """Whether a variable becomes words in the argument block where there is one."""
    return isinstance(op, spirv.VariableOp) and _is_packed(env, op, has_block=True)


def _is_packed(env: TargetEnv, op: Operation, *, has_block: bool) -> bool:
    if not env.packs_tables:
        return False
    if isinstance(op, spirv.VariableOp):
        return _is_packed_variable(op, has_block=has_block)
    users = [use.operation for use in op.results[0].uses]
    return (
        isinstance(op.results[0].type, ArrayType)
        and bool(users)
        and all(
            _is_packed_variable(user, has_block=has_block)
            if isinstance(user, spirv.VariableOp)
            else isinstance(user, spirv.CompositeConstructOp) and _is_packed(env, user, has_block=has_block)
            for user in users
        )
    )


def _is_packed_variable(op: spirv.VariableOp, *, has_block: bool) -> bool:
    if not op.operands or not _is_only_indexed(op):
        return False
    numbers = _numbers(op.operands[0])
    return (
        numbers is not None
        and len(numbers) >= LEAST_LENGTH
        and (has_block or _bits(numbers, _element_type(op)) <= _WIDEST)
    )


def _is_only_indexed(op: spirv.VariableOp) -> bool:
    """Whether a variable is used for loads of single elements alone."""
    rank = len(_shape(op))
    return all(
        isinstance(chain := use.operation, spirv.AccessChainOp)
        and len(chain.operands) == 1 + rank
        and all(index.type == i32 for index in chain.operands[1:])
        and all(isinstance(read.operation, spirv.LoadOp) for read in chain.results[0].uses)
        for use in op.results[0].uses
    )


def _shape(op: spirv.VariableOp) -> tuple[int, ...]:
    pointer = op.results[0].type
    assert isinstance(pointer, PointerType)
    kind: Attribute = pointer.pointee
    shape: list[int] = []
    while isinstance(kind, ArrayType):
        shape.append(kind.count.data)
        kind = kind.element_type
    return tuple(shape)


def _element_type(op: spirv.VariableOp) -> Attribute:
    kind: Attribute = op.operands[0].type
    while isinstance(kind, ArrayType):
        kind = kind.element_type
    return kind


def _numbers(value: SSAValue) -> list[int] | None:
    """Returns the constants that an array is made of, in C order, floats as their bits; None where it has others."""
    op = value.owner
    if isinstance(op, arith.ConstantOp):
        number = op.properties["value"]
        if is_integer_attribute(number) and is_integer_type(value.type):
            return [number.value.data & 1 if value.type.width.data == 1 else number.value.data]
        if is_float_attribute(number) and isinstance(value.type, Float16Type):
            return list(struct.unpack("<H", struct.pack("<e", number.value.data)))
        if is_float_attribute(number) and isinstance(value.type, BFloat16Type):
            return [bf16_bits(number.value.data) & 0xFFFF]
        if is_float_attribute(number) and isinstance(value.type, Float32Type):
            return list(struct.unpack("<I", struct.pack("<f", number.value.data)))
        if is_float_attribute(number) and isinstance(value.type, Float64Type):
            return list(struct.unpack("<Q", struct.pack("<d", number.value.data)))
        return None
    if not isinstance(op, spirv.CompositeConstructOp) or not isinstance(value.type, ArrayType):
        return None
    numbers: list[int] = []
    for part in op.operands:
        found = _numbers(part)
        if found is None:
            return None
        numbers += found
    return numbers


def _bits(numbers: list[int], type_: Attribute) -> int:
    """Returns how many bits each number takes: of small integers above the lowest one a power of two, else 32 or 64."""
    if isinstance(type_, Float16Type | BFloat16Type):
        return 16
    if not is_integer_type(type_):
        return 64 if isinstance(type_, Float64Type) else _WORD
    needed = max(1, (max(numbers) - min(numbers)).bit_length())
    return 1 << (needed - 1).bit_length() if needed <= _WIDEST else max(_WORD, type_.width.data)


def packed_variable(fn: FunctionLowering, op: spirv.VariableOp) -> PackedTable:
    """Puts the words of a table that `is_packed` into the kernel's argument block, else into a variable."""
    numbers = _numbers(op.operands[0])
    assert numbers is not None
    type_ = _element_type(op)
    bits, lowest = _bits(numbers, type_), min(numbers)
    if bits > _WIDEST or not is_integer_type(type_) or (lowest > 0 and max(numbers) >> bits == 0):
        lowest = 0  # fits as it is
    words = _words(numbers, bits, lowest)
    if fn.entry is not None:
        return PackedTable(words, None, _shape(op), bits, lowest)
    kind = fn.type(ArrayType.get(i32, len(words)))
    pointer = fn.variable(kind)
    constants = [fn.constant(i32, wrap(word, _WORD)) for word in words]
    fn.store(pointer, fn.emit(spirv.CompositeConstructOp, constants, kind))
    return PackedTable(words, pointer, _shape(op), bits, lowest)


def _words(numbers: list[int], bits: int, lowest: int) -> tuple[int, ...]:
    if bits > _WIDEST:
        mask = (1 << _WORD) - 1
        return tuple(number >> shift & mask for number in numbers for shift in range(0, bits, _WORD))
    each = _WORD // bits
    return tuple(
        sum(number - lowest << bits * place for place, number in enumerate(numbers[begin : begin + each]))
        for begin in range(0, len(numbers), each)
    )


def packed_number(fn: FunctionLowering, table: PackedTable, chain: Operation, type_: Attribute) -> SSAValue:
    """Returns the number of a table at the indices of an access chain, in a device type."""
    position = fn.linear(
        [fn.value(index) for index in chain.operands[1:]], lambda dimension: fn.index(table.shape[dimension])
    )
    if table.bits == _WORD:
        word = _word(fn, table, position)
        return word if type_ == i32 else fn.emit(spirv.BitcastOp, (word,), type_)
    if table.bits > _WORD:
        low = fn.emit(spirv.ShiftLeftLogicalOp, (position, fn.index(1)), i32)
        high = fn.emit(spirv.BitwiseOrOp, (low, fn.index(1)), i32)
        pair = (_word(fn, table, low), _word(fn, table, high))
        vector = fn.emit(spirv.CompositeConstructOp, pair, fn.type(VectorType(i32, [2])))
        return fn.emit(spirv.BitcastOp, (vector,), type_)
    each = _WORD // table.bits
    word = _word(
        fn, table, fn.emit(spirv.ShiftRightLogicalOp, (position, fn.index(each.bit_length() - 1)), i32)
    )
    place = fn.emit(spirv.BitwiseAndOp, (position, fn.index(each - 1)), i32)
    shift = fn.emit(spirv.ShiftLeftLogicalOp, (place, fn.index(table.bits.bit_length() - 1)), i32)
    moved = fn.emit(spirv.ShiftRightLogicalOp, (word, shift), i32)
    result = fn.emit(spirv.BitwiseAndOp, (moved, fn.index((1 << table.bits) - 1)), i32)
    if type_ == i1:
        return fn.emit(spirv.INotEqualOp, (result, fn.index(0)), i1)
    if isinstance(type_, Float16Type):
        # Through a vector: an i16 would need Int16, which a device may lack that has Float16.
        pair = fn.emit(spirv.BitcastOp, (result,), fn.type(VectorType(type_, [2])))
        return fn.emit(
            spirv.CompositeExtractOp, (pair,), type_, {"indices": ArrayAttr([integer_attribute(0, 32)])}
        )
    if type_ != i32:
        result = fn.emit(spirv.UConvertOp, (result,), type_)
    return (
        fn.emit(spirv.IAddOp, (result, _constant(fn, table.lowest, type_)), type_) if table.lowest else result
    )


def _word(fn: FunctionLowering, table: PackedTable, number: SSAValue) -> SSAValue:
    if table.variable is None:
        assert fn.entry is not None, "as where the table was made"
        return fn.entry.table_word(table.words, number)
    pointer = fn.module.types.pointer(i32, StorageClass.Function)
    return fn.load(fn.emit(spirv.AccessChainOp, (table.variable, number), pointer), i32)


def _constant(fn: FunctionLowering, number: int, type_: Attribute) -> SSAValue:
    assert is_integer_type(type_)
    return fn.constant(type_, wrap(number, type_.width.data))
