"""Tables of small integers that are read at run-time indices: several of them in each word of 32 bits.

Software drivers keep a table in memory of each work-item, and llvmpipe compiles one in about the square of its length.
Measured on lavapipe 22.3 with 256 bytes held as 32-bit integers: 0.95 s to compile, as 64 words 0.03 s, and a kernel
that looks up one number for each work-item takes 0.4 of the time; 0.35 on SwiftShader.  A table of as many vectors of
four, of arrays, or in a private variable is as slow as the plain one.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.spirv.enums import StorageClass
from ...ir.dialects.spirv.types import ArrayType, PointerType
from ..narrowing import is_integer_attribute, is_integer_type
from ..optimise.constants import wrap
from .function_lowering import FunctionLowering

LEAST_LENGTH = 64
"""Numbers in the shortest table that is packed: shorter ones compile at once."""
_WIDEST = 16
"""Bits of the widest numbers of which a word holds several."""
_WORD = 32


@dataclass(frozen=True, slots=True)
class PackedTable:
    """A variable of words that holds the numbers of a table."""

    words: SSAValue
    """Pointer to the variable."""
    shape: tuple[int, ...]
    """Of the table, the slowest dimension first."""
    bits: int
    """Of each number in a word, 1 to 16, the first one lowest."""
    lowest: int
    """What was subtracted from each number."""


def is_packed(fn: FunctionLowering, op: Operation) -> bool:
    """Whether a composite is a table to be packed or a row of one and nothing else, or a variable holds one."""
    if not fn.module.env.packs_tables:
        return False
    if isinstance(op, spirv.VariableOp):
        return _is_packed_variable(op)
    users = [use.operation for use in op.results[0].uses]
    return (
        isinstance(op.results[0].type, ArrayType)
        and bool(users)
        and all(
            _is_packed_variable(user)
            if isinstance(user, spirv.VariableOp)
            else isinstance(user, spirv.CompositeConstructOp) and is_packed(fn, user)
            for user in users
        )
    )


def _is_packed_variable(op: spirv.VariableOp) -> bool:
    if not op.operands or not _is_only_indexed(op):
        return False
    numbers = _numbers(op.operands[0])
    return numbers is not None and len(numbers) >= LEAST_LENGTH and _bits(numbers) <= _WIDEST


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


def _numbers(value: SSAValue) -> list[int] | None:
    """Returns the constants that an array is made of, in C order; None where it has anything but integers."""
    op = value.owner
    if isinstance(op, arith.ConstantOp):
        number = op.properties["value"]
        if is_integer_attribute(number) and is_integer_type(value.type) and value.type.width.data > 1:
            return [number.value.data]
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


def _bits(numbers: list[int]) -> int:
    """Returns how many bits each number takes above the lowest one, a power of two."""
    needed = (max(numbers) - min(numbers)).bit_length()
    return 1 << (max(needed, 1) - 1).bit_length()


def packed_variable(fn: FunctionLowering, op: spirv.VariableOp) -> PackedTable:
    """Adds the variable of a table that `is_packed`, and stores its words there."""
    numbers = _numbers(op.operands[0])
    assert numbers is not None
    bits, lowest = _bits(numbers), min(numbers)
    if lowest > 0 and max(numbers) >> bits == 0:
        lowest = 0  # fits as it is
    each = _WORD // bits
    words = [
        sum(number - lowest << bits * place for place, number in enumerate(numbers[begin : begin + each]))
        for begin in range(0, len(numbers), each)
    ]
    kind = fn.type(ArrayType.get(i32, len(words)))
    pointer = fn.variable(kind)
    constants = [fn.constant(i32, wrap(word, _WORD)) for word in words]
    fn.store(pointer, fn.emit(spirv.CompositeConstructOp, constants, kind))
    return PackedTable(pointer, _shape(op), bits, lowest)


def packed_number(fn: FunctionLowering, table: PackedTable, chain: Operation, type_: Attribute) -> SSAValue:
    """Returns the number of a table at the indices of an access chain, in a device type."""
    position = fn.linear(
        [fn.value(index) for index in chain.operands[1:]], lambda dimension: fn.index(table.shape[dimension])
    )
    each = _WORD // table.bits
    number = fn.emit(spirv.ShiftRightLogicalOp, (position, fn.index(each.bit_length() - 1)), i32)
    pointer = fn.module.types.pointer(i32, StorageClass.Function)
    word = fn.load(fn.emit(spirv.AccessChainOp, (table.words, number), pointer), i32)
    place = fn.emit(spirv.BitwiseAndOp, (position, fn.index(each - 1)), i32)
    shift = fn.emit(spirv.ShiftLeftLogicalOp, (place, fn.index(table.bits.bit_length() - 1)), i32)
    moved = fn.emit(spirv.ShiftRightLogicalOp, (word, shift), i32)
    result = fn.emit(spirv.BitwiseAndOp, (moved, fn.index((1 << table.bits) - 1)), i32)
    if type_ != i32:
        result = fn.emit(spirv.UConvertOp, (result,), type_)
    return (
        fn.emit(spirv.IAddOp, (result, _constant(fn, table.lowest, type_)), type_) if table.lowest else result
    )


def _constant(fn: FunctionLowering, number: int, type_: Attribute) -> SSAValue:
    assert is_integer_type(type_)
    return fn.constant(type_, wrap(number, type_.width.data))
