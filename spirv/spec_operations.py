"""Computes OpSpecConstantOp on known operands: integers, bools, vectors and composites of them.

Follows SPIR-V 1.6 §3.49.7 (what OpSpecConstantOp may wrap).  Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from .binary import Instruction
from .errors import SpirvError
from .module_view import ModuleView
from .spec_arithmetic import comparison, integer, logical
from .tables import Op

MAX_SCALARS: Final = 1 << 16
"""Composites of more are left as they are."""
MAX_NESTING: Final = 16
_WIDTHS: Final = frozenset((8, 16, 32, 64))

Value = int | bool | tuple["Value", ...]
"""An integer as unsigned bits, a bool, or the parts of a composite; floats are their bits."""


@dataclass(frozen=True, slots=True)
class _Scalar:
    width: int
    is_signed: bool


class ConstantTable:
    """Constants seen so far by id, and new ones on demand."""

    def __init__(self, view: ModuleView) -> None:
        self.view = view
        self.bound = view.module.bound
        self.values: dict[int, Value] = {}
        self._extents: dict[int, tuple[int, int]] = {}
        """Scalars and nesting of each constant: hostile ones, made of each other, would grow without end."""
        self._by_value: dict[tuple[int, Value], int] = {}

    def define(self, item: Instruction) -> None:
        """Remembers a constant; anything else is ignored."""
        number, kind = item.result_id or 0, item.result_type or 0
        value: Value | None = None
        if item.opcode == Op.Constant:
            value = sum(word << 32 * n for n, word in enumerate(item.operands))
            scalar = self.scalar(kind)
            if scalar is not None:
                value &= (1 << scalar.width) - 1
        elif item.opcode in (Op.ConstantTrue, Op.ConstantFalse):
            value = item.opcode == Op.ConstantTrue
        elif item.opcode == Op.ConstantNull:
            value = self._null(kind)
        elif item.opcode == Op.ConstantComposite and all(part in self.values for part in item.operands):
            extents = [self._extents.get(part, (1, 0)) for part in item.operands]
            extent = sum(size for size, _ in extents), 1 + max((depth for _, depth in extents), default=0)
            if extent[0] <= MAX_SCALARS and extent[1] <= MAX_NESTING:
                self._extents[number] = extent
                value = tuple(self.values[part] for part in item.operands)
        if value is not None:
            self.values[number] = value
            self._by_value.setdefault((kind, _distinct(value)), number)

    def scalar(self, kind: int) -> _Scalar | None:
        """Returns width and sign of an integer or float type; None of widths that there are not."""
        item = self.view.definitions.get(kind)
        if item is None or item.opcode not in (Op.TypeInt, Op.TypeFloat) or not item.operands:
            return None
        if item.operands[0] not in _WIDTHS:
            return None
        is_signed = item.opcode == Op.TypeInt and item.operands[1:2] == (1,)
        return _Scalar(item.operands[0], is_signed)

    def element_types(self, kind: int) -> tuple[int, ...] | None:
        """Returns the types of a composite's constituents; None of other types and of unknown lengths."""
        item = self.view.definitions.get(kind)
        if item is None:
            return None
        if item.opcode == Op.TypeVector and len(item.operands) == 2 and item.operands[1] <= 16:
            return (item.operands[0],) * item.operands[1]
        if item.opcode == Op.TypeStruct:
            return item.operands
        if item.opcode == Op.TypeArray and len(item.operands) == 2:
            length = self.values.get(item.operands[1])
            if isinstance(length, int) and length <= 0xFFFF:
                return (item.operands[0],) * length
        return None

    def _null(self, kind: int, depth: int = 0) -> Value | None:
        item = self.view.definitions.get(kind)
        if item is not None and item.opcode == Op.TypeBool:
            return False
        if self.scalar(kind) is not None:
            return 0
        parts = self.element_types(kind)
        if not parts or depth > 3 or len(parts) > 64:
            return None
        values = [self._null(part, depth + 1) for part in parts]
        return None if None in values else tuple(value for value in values if value is not None)

    def constant(self, kind: int, value: Value, made: list[Instruction], number: int | None = None) -> int:
        """Returns the id of a constant; where it is new, or `number` is given, appends its definition to `made`."""
        key = (kind, _distinct(value))
        known = self._by_value.get(key)
        if known is not None and number is None:
            return known
        types = self.element_types(kind)
        if isinstance(value, tuple):
            if types is None or len(types) != len(value):
                raise SpirvError(f"%{kind} is no type of {len(value)} parts")
            parts = [self.constant(t, part, made) for t, part in zip(types, value, strict=True)]
            opcode, operands = Op.ConstantComposite, tuple(parts)
        elif isinstance(value, bool):
            opcode, operands = (Op.ConstantTrue if value else Op.ConstantFalse), ()
        else:
            opcode, operands = Op.Constant, self._words(kind, value)
        if number is None:
            number = self.bound
            self.bound += 1
        made.append(Instruction(opcode, kind, number, operands))
        self.values[number] = value
        if isinstance(value, tuple):
            extents = [self._extents.get(part, (1, 0)) for part in operands]
            self._extents[number] = sum(size for size, _ in extents), 1 + max(depth for _, depth in extents)
        self._by_value.setdefault(key, number)
        return number

    def _words(self, kind: int, value: int) -> tuple[int, ...]:
        scalar = self.scalar(kind)
        if scalar is None:
            raise SpirvError(f"%{kind} is no type of numbers")
        bits = max(scalar.width, 32)
        if scalar.is_signed and value >> (scalar.width - 1) & 1:
            value |= (1 << bits) - (1 << scalar.width)
        return tuple(value >> 32 * n & 0xFFFFFFFF for n in range(bits // 32))


def _distinct(value: Value) -> Value:
    """A key in which True and 1 differ."""
    if isinstance(value, tuple):
        return (len(value), *map(_distinct, value))
    return (True, value) if isinstance(value, bool) else value


def fold(table: ConstantTable, item: Instruction) -> list[Instruction]:
    """Returns the plain constants that an OpSpecConstantOp becomes, the last with its id; itself where unknown."""
    kind, number = item.result_type or 0, item.result_id or 0
    if not item.operands:
        raise SpirvError(f"instruction {item.ordinal}, OpSpecConstantOp, wraps nothing")
    value = _value(table, item.operands[0], item.operands[1:], kind)
    if value is None:
        return [item]
    made: list[Instruction] = []
    table.constant(kind, value, made, number)
    return made


def _value(table: ConstantTable, opcode: int, operands: tuple[int, ...], kind: int) -> Value | None:
    if opcode in _COMPOSITE:
        return _COMPOSITE[opcode](table, operands)
    values = [table.values.get(number) for number in operands]
    known = [value for value in values if value is not None]
    if len(known) != len(operands) or not known:
        return None
    if opcode == Op.Select and len(known) == 3 and not isinstance(known[0], tuple):
        return known[1] if known[0] else known[2]
    result = table.element_types(kind)
    if result is not None:
        return _by_component(table, opcode, operands, known, result)
    return _scalar(table, opcode, [table.view.definitions[n].result_type or 0 for n in operands], known, kind)


def _by_component(
    table: ConstantTable, opcode: int, operands: Sequence[int], known: Sequence[Value], result: Sequence[int]
) -> Value | None:
    types = [table.element_types(table.view.definitions[n].result_type or 0) for n in operands]
    parts: list[Value] = []
    for position, kind in enumerate(result):
        values: list[Value] = []
        kinds: list[int] = []
        for value, of in zip(known, types, strict=True):
            if not isinstance(value, tuple) or of is None or position >= len(value):
                return None
            values.append(value[position])
            kinds.append(of[position])
        part = _scalar(table, opcode, kinds, values, kind)
        if part is None:
            return None
        parts.append(part)
    return tuple(parts)


def _scalar(
    table: ConstantTable, opcode: int, kinds: Sequence[int], values: Sequence[Value], kind: int
) -> Value | None:
    if opcode == Op.Select and len(values) == 3:
        return values[1] if values[0] else values[2]
    bools = [value for value in values if isinstance(value, bool)]
    if len(bools) == len(values):
        return logical(opcode, bools)
    numbers = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    source, target = table.scalar(kinds[0]), table.scalar(kind)
    if source is None or len(numbers) != len(values) or any(_is_float(table, n) for n in (*kinds, kind)):
        return None
    compared = comparison(opcode, source.width, numbers)
    if compared is not None or target is None:
        return compared
    result = integer(opcode, source.width, numbers)
    return None if result is None else result & (1 << target.width) - 1


def _is_float(table: ConstantTable, kind: int) -> bool:
    item = table.view.definitions.get(kind)
    return item is not None and item.opcode == Op.TypeFloat


# Composites


def _extract(table: ConstantTable, operands: tuple[int, ...]) -> Value | None:
    value = table.values.get(operands[0]) if operands else None
    for index in operands[1:]:
        if not isinstance(value, tuple) or index >= len(value):
            return None
        value = value[index]
    return value


def _insert(table: ConstantTable, operands: tuple[int, ...]) -> Value | None:
    if len(operands) < 3:
        return None
    part, whole = (table.values.get(number) for number in operands[:2])
    return None if part is None or whole is None else _inserted(whole, part, operands[2:])


def _inserted(whole: Value, part: Value, path: tuple[int, ...]) -> Value | None:
    if not path:
        return part
    if not isinstance(whole, tuple) or path[0] >= len(whole):
        return None
    inner = _inserted(whole[path[0]], part, path[1:])
    return None if inner is None else (*whole[: path[0]], inner, *whole[path[0] + 1 :])


def _shuffle(table: ConstantTable, operands: tuple[int, ...]) -> Value | None:
    if len(operands) < 2:
        return None
    first, second = (table.values.get(number) for number in operands[:2])
    if not isinstance(first, tuple) or not isinstance(second, tuple):
        return None
    both = (*first, *second)
    # 0xFFFFFFFF: any value.
    picked = [both[0 if n == 0xFFFFFFFF else n] for n in operands[2:] if n == 0xFFFFFFFF or n < len(both)]
    return tuple(picked) if len(picked) == len(operands) - 2 else None


_COMPOSITE: dict[int, Callable[[ConstantTable, tuple[int, ...]], Value | None]] = {
    Op.CompositeExtract: _extract,
    Op.CompositeInsert: _insert,
    Op.VectorShuffle: _shuffle,
}
