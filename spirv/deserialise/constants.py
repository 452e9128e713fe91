"""Plain constants of a module by id, as attributes."""

from __future__ import annotations

import struct
from typing import Final

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
)
from xdsl.ir import Attribute

from ...ir.dialects.spirv.attributes import NullAttr
from ...ir.dialects.spirv.scalars import is_float
from ...ir.dialects.spirv.types import element_count
from ...ir.narrowing import is_integer_type, is_scalar_attribute, is_vector_type
from ..binary import Instruction
from ..module_view import ModuleView
from ..tables import Op
from .errors import unreadable
from .types import TypeReader

MAX_SCALARS: Final = 1 << 16
MAX_NESTING: Final = 64

PLAIN = frozenset((Op.Constant, Op.ConstantTrue, Op.ConstantFalse, Op.ConstantNull, Op.ConstantComposite))
"""Constants that no specialization changes."""
_CONSTITUENTS = PLAIN | {Op.Undef}
"""What composites are made of; what is undefined there may be any number, and is 0."""


class ConstantReader:
    """Constants by id; each is read when it is first asked for."""

    def __init__(self, view: ModuleView, types: TypeReader) -> None:
        self._view = view
        self._types = types
        self._known: dict[int, tuple[Attribute, int]] = {}
        self._depth = 0

    def is_plain(self, number: int) -> bool:
        """Whether an id is a constant that no specialization changes."""
        item = self._view.definitions.get(number)
        return item is not None and item.opcode in PLAIN

    def value(self, number: int, user: Instruction) -> tuple[Attribute, Attribute]:
        """Returns a plain constant and its type."""
        item = self._view.definitions.get(number)
        if item is None or item.opcode not in _CONSTITUENTS or item.result_type is None:
            unreadable(f"%{number} is no constant", user)
        return self._read(number, item)[0], self._types.type(item.result_type, item)

    def _read(self, number: int, item: Instruction) -> tuple[Attribute, int]:
        known = self._known.get(number)
        if known is not None:
            return known
        if self._depth >= MAX_NESTING:
            unreadable(f"constants are nested more than {MAX_NESTING} deep", item)
        type_ = self._types.type(item.result_type or 0, item)
        self._depth += 1
        try:
            if item.opcode == Op.ConstantComposite:
                found = self._composite(item, type_)
            elif item.opcode in (Op.ConstantNull, Op.Undef):
                found = _null(type_, item), 1
            else:
                found = scalar(item, type_), 1
        finally:
            self._depth -= 1
        if found[1] > MAX_SCALARS:
            unreadable(f"a constant of more than {MAX_SCALARS} scalars", item)
        self._known[number] = found
        return found

    def _composite(self, item: Instruction, type_: Attribute) -> tuple[Attribute, int]:
        if element_count(type_) != len(item.operands):
            unreadable(f"a constant of {type_} with {len(item.operands)} constituents", item)
        parts: list[Attribute] = []
        size = 0
        for number in item.operands:
            part = self._view.definitions.get(number)
            if part is None or part.opcode not in _CONSTITUENTS:
                unreadable(f"its constituent %{number} is no constant", item)
            value, scalars = self._read(number, part)
            parts.append(value)
            size += scalars
        if is_vector_type(type_):
            return _vector(parts, type_, item), size
        return ArrayAttr(parts), size


def _vector(parts: list[Attribute], type_: Attribute, item: Instruction) -> Attribute:
    assert is_vector_type(type_)
    numbers = [
        part.value.data for part in parts if is_scalar_attribute(part) and part.type == type_.element_type
    ]
    if len(numbers) != len(parts):
        unreadable(f"its constituents are not of type {type_.element_type}", item)
    return DenseIntOrFPElementsAttr.from_list(type_, numbers)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]


def _null(type_: Attribute, item: Instruction) -> Attribute:
    if is_integer_type(type_):
        return IntegerAttr(0, type_)
    if is_float(type_) and isinstance(type_, AnyFloat):
        return FloatAttr(0.0, type_)
    if is_vector_type(type_):
        return DenseIntOrFPElementsAttr.from_list(type_, [0.0 if is_float(type_.element_type) else 0])  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
    if element_count(type_) is None:
        unreadable(f"there is no null of type {type_}", item)
    return NullAttr()


def scalar(item: Instruction, type_: Attribute) -> IntegerAttr | FloatAttr:
    """Returns the value of OpConstant, OpSpecConstant or one of their bool forms."""
    if item.opcode in (Op.ConstantTrue, Op.ConstantFalse, Op.SpecConstantTrue, Op.SpecConstantFalse):
        if not is_integer_type(type_) or type_.width.data != 1:
            unreadable(f"a bool of type {type_}", item)
        return IntegerAttr(int(item.opcode in (Op.ConstantTrue, Op.SpecConstantTrue)), type_)
    if is_integer_type(type_) and type_.width.data > 1:
        return _integer(item, type_)
    if not isinstance(type_, AnyFloat):
        unreadable(f"a number of type {type_}", item)
    words = _words(item, 2 if type_.bitwidth == 64 else 1)
    if isinstance(type_, BFloat16Type):
        (value,) = struct.unpack("<f", struct.pack("<I", (words[0] & 0xFFFF) << 16))
    elif type_.bitwidth == 16:
        (value,) = struct.unpack("<e", struct.pack("<H", words[0] & 0xFFFF))
    else:
        data = struct.pack(f"<{len(words)}I", *words)
        (value,) = struct.unpack("<d" if len(words) == 2 else "<f", data)
    return FloatAttr(value, type_)


def _integer(item: Instruction, type_: IntegerType) -> IntegerAttr:
    width = type_.width.data
    words = _words(item, 2 if width == 64 else 1)
    value = sum(word << 32 * index for index, word in enumerate(words)) & ((1 << width) - 1)
    # MLIR prints signless integers as signed numbers, so that is what both kinds hold.
    if value >> (width - 1):
        value -= 1 << width
    assert type_.signedness.data is not Signedness.UNSIGNED
    return IntegerAttr(value, type_)


def _words(item: Instruction, count: int) -> tuple[int, ...]:
    if len(item.operands) != count:
        unreadable(f"expected {count} words of a number, found {len(item.operands)}", item)
    return item.operands
