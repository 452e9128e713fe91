"""Sizes and spellings of SPIR-V types.  Standard library only.

Types are visited in the order of the module and refer to earlier ones only, so that no input, however deep or
circular, can make this recurse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .binary import Instruction
from .module_view import ModuleView
from .tables import Decoration, Op

MAX_SIZE_BYTES: Final = 1 << 48
"""Sizes above it are taken as unknown: no device has such memory, and hostile input must not make big
numbers."""

_INT_NAMES: Final = {
    (width, sign): f"{'iu'[sign == 0]}{width}" for width in (8, 16, 32, 64) for sign in (0, 1)
}


@dataclass(frozen=True, slots=True)
class TypeInfo:
    """What is known of a type."""

    name: str
    """As lapilli spells it: ``u32``, ``f32x4``, ``bool``; else ``array``, ``struct`` …"""
    size_bytes: int | None
    """Size with its explicit layout (stride, offsets); None where it has none: run-time arrays, unlaid types,
    lengths that are no plain constants."""


def type_table(view: ModuleView) -> dict[int, TypeInfo]:
    """Returns id → facts of every type of the module."""
    table: dict[int, TypeInfo] = {}
    for item in view.globals:
        if item.result_id is not None and item.result_id not in table:
            info = _type_info(view, item, table)
            if info is not None:
                table[item.result_id] = info
    return table


def constant_value(view: ModuleView, value: int) -> int | None:
    """Returns the value of a 32- or 64-bit integer constant, as unsigned, or None where it is none.

    Of a specialization constant it is the default.
    """
    item = view.definitions.get(value)
    if item is None:
        return None
    kind = view.type_of(value)
    if kind is None or kind.opcode != Op.TypeInt:
        return None
    if item.opcode in (Op.Constant, Op.SpecConstant) and 1 <= len(item.operands) <= 2:
        return sum(word << 32 * n for n, word in enumerate(item.operands))
    return 0 if item.opcode == Op.ConstantNull else None


def _type_info(view: ModuleView, item: Instruction, table: dict[int, TypeInfo]) -> TypeInfo | None:
    code, words = item.opcode, item.operands
    if code == Op.TypeBool:
        return TypeInfo("bool", None)
    if code == Op.TypeInt and len(words) == 2:
        width, sign = words
        return TypeInfo(_INT_NAMES.get((width, sign), "int"), width // 8)
    if code == Op.TypeFloat and 1 <= len(words) <= 2:
        width, *encoding = words
        return TypeInfo("bf16" if encoding else f"f{width}", width // 8)
    if code == Op.TypePointer:
        return TypeInfo("pointer", 8)
    if code in (Op.TypeVector, Op.TypeMatrix) and len(words) == 2:
        return _repeated(table, words[0], words[1])
    if code == Op.TypeArray and len(words) == 2:
        return TypeInfo("array", _array_size(view, item))
    if code == Op.TypeRuntimeArray:
        return TypeInfo("runtime_array", None)
    if code == Op.TypeStruct and item.result_id is not None:
        return TypeInfo("struct", _struct_size(view, item.result_id, words, table))
    return None


def _repeated(table: dict[int, TypeInfo], element: int, count: int) -> TypeInfo | None:
    of = table.get(element)
    if of is None or count > 16:
        return None
    return TypeInfo(f"{of.name}x{count}", _bounded(of.size_bytes, count))


def _array_size(view: ModuleView, item: Instruction) -> int | None:
    stride = view.decoration(item.result_id or 0, Decoration.ArrayStride)
    length = constant_value(view, item.operands[1])
    return _bounded(length, stride[0] if stride else 0)


def _struct_size(
    view: ModuleView, struct: int, members: tuple[int, ...], table: dict[int, TypeInfo]
) -> int | None:
    size = 0
    for number, member in enumerate(members):
        offset = view.member_decoration(struct, number, Decoration.Offset)
        info = table.get(member)
        if not offset or info is None or info.size_bytes is None:
            return None
        size = max(size, offset[0] + info.size_bytes)
    return size


def _bounded(size: int | None, count: int) -> int | None:
    if not size or not count or size * count > MAX_SIZE_BYTES:
        return None
    return size * count
