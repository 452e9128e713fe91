"""Specialization constants of binaries: freezing them to plain constants, and giving them other defaults.

What spirv-opt does with --freeze-spec-const --fold-spec-const-op-composite and --set-spec-const-default-value.
Standard library only.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import replace

from ..ir.errors import InvalidError, KernelArgumentError
from .binary import Instruction, Section, parse, serialise
from .module_view import ModuleView
from .spec_operations import ConstantTable, fold
from .tables import Decoration, Op
from .type_info import type_table
from .validation.module_layout import section_of

SpecValue = bool | int | float
"""A value of a scalar specialization constant."""

_FROZEN = {
    Op.SpecConstant: Op.Constant,
    Op.SpecConstantTrue: Op.ConstantTrue,
    Op.SpecConstantFalse: Op.ConstantFalse,
    Op.SpecConstantComposite: Op.ConstantComposite,
}


def freeze_spec_constants(binary: bytes) -> bytes:
    """Returns a module whose specialization constants are plain constants with their default values.

    SpecIds disappear and OpSpecConstantOp is computed; one that this cannot compute (an operation on floats of a
    Kernel module) stays, on operands that are plain constants.

    Raises:
        SpirvError: the bytes are no module, or its constants are malformed.
    """
    module = parse(binary)
    view = ModuleView(module)
    table = ConstantTable(view)
    items: list[Instruction] = []
    for item in module.instructions:
        if item.opcode == Op.Decorate and item.operands[1:2] == (Decoration.SpecId,):
            continue
        if section_of(item.opcode) is not Section.GLOBALS or item.result_id is None:
            items.append(item)
            continue
        if item.opcode in _FROZEN:
            item = item._replace(opcode=_FROZEN[item.opcode])
        if item.opcode == Op.SpecConstantOp:
            items += fold(table, item)
        else:
            table.define(item)
            items.append(item)
    return serialise(replace(module, bound=table.bound, instructions=tuple(items)))


def set_spec_constant_defaults(binary: bytes, values: Mapping[int, SpecValue]) -> bytes:
    """Returns a module in which specialization constants have other default values.

    Args:
        binary: the module.
        values: the value of each constant by SpecId.

    Raises:
        KernelArgumentError: the module has no constant with a SpecId, or the value is not of its type.
        SpirvError: the bytes are no module, or its constants are malformed.
    """
    module = parse(binary)
    view = ModuleView(module)
    types = type_table(view)
    found: set[int] = set()
    items = list(module.instructions)
    for target in view.decorations:
        words = view.decoration(target, Decoration.SpecId)
        if not words or words[0] not in values:
            continue
        item = view.definitions.get(target)
        kind = None if item is None else types.get(item.result_type or 0)
        if item is None or kind is None or item.opcode not in _FROZEN:
            raise InvalidError(
                f"SpecId {words[0]} decorates {target}, which is no scalar specialization constant"
            )
        found.add(words[0])
        items[item.ordinal] = _with_value(item, kind.name, words[0], values[words[0]])
    unknown = sorted(set(values) - found)
    if unknown:
        known = sorted(
            {words[0] for t in view.decorations if (words := view.decoration(t, Decoration.SpecId))}
        )
        raise KernelArgumentError(
            f"the module has no specialization constant with SpecId {unknown[0]}; it has "
            f"{', '.join(map(str, known)) or 'none'}",
            code="LP3011",
        )
    return serialise(replace(module, instructions=tuple(items)))


_INTEGER_TYPES = {f"{sign}{width}": (sign == "i", width) for sign in "iu" for width in (8, 16, 32, 64)}
_FLOAT_FORMATS = {"f16": "<e", "f32": "<f", "f64": "<d"}


def host_bytes(kind: str, spec_id: int, value: object) -> bytes:
    """Returns the bytes of a value, of which a bool has one.

    Args:
        kind: the type of the constant, ``u32``.
        spec_id: of the constant, for messages.
        value: of the type.

    Raises:
        KernelArgumentError: the value is not of the type.
    """
    if kind == "bool":
        return bytes([_truth(spec_id, value)])
    words = _words(kind, spec_id, value)
    return struct.pack(f"<{len(words)}I", *words)[: int(kind.lstrip("iubf")) // 8]


def _with_value(item: Instruction, kind: str, spec_id: int, value: object) -> Instruction:
    if kind == "bool":
        return item._replace(opcode=Op.SpecConstantTrue if _truth(spec_id, value) else Op.SpecConstantFalse)
    return item._replace(operands=_words(kind, spec_id, value))


def _truth(spec_id: int, value: object) -> bool:
    if not isinstance(value, bool) and value not in (0, 1):
        raise _misfit(spec_id, "bool", value)
    return bool(value)


def _words(kind: str, spec_id: int, value: object) -> tuple[int, ...]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _misfit(spec_id, kind, value)
    if kind in _INTEGER_TYPES:
        return _integer_words(kind, spec_id, value)
    if kind not in _FLOAT_FORMATS and kind != "bf16":
        raise _misfit(spec_id, kind, value)
    try:
        if kind == "bf16":
            data = _bf16_bytes(float(value))
        else:
            data = struct.pack(_FLOAT_FORMATS[kind], float(value))
    except OverflowError as error:
        raise _misfit(spec_id, kind, value) from error
    data += bytes(-len(data) % 4)
    return struct.unpack(f"<{len(data) // 4}I", data)


def _integer_words(kind: str, spec_id: int, value: float) -> tuple[int, ...]:
    is_signed, width = _INTEGER_TYPES[kind]
    # Signless types hold both readings of their bits: MLIR and Python kernels write i32 as OpTypeInt 32 0.
    if value % 1 != 0 or not -(1 << width - 1) <= value < (1 << width - is_signed):
        raise _misfit(spec_id, kind, value)
    number = int(value)
    # Narrow numbers are sign-extended if the type is signed, else zero-extended (SPIR-V 1.6 §2.2.1).
    bits = max(width, 32)
    number &= (1 << (bits if is_signed else width)) - 1
    return tuple(number >> 32 * n & 0xFFFFFFFF for n in range(bits // 32))


def _bf16_bytes(value: float) -> bytes:
    """Rounds to nearest even; the upper half of an f32."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    if value == value:  # NaN keeps its bits
        bits += 0x7FFF + (bits >> 16 & 1)
    return struct.pack("<I", bits)[2:]


def _misfit(spec_id: int, kind: str, value: object) -> KernelArgumentError:
    return KernelArgumentError(
        f"specialization constant with SpecId {spec_id}: expected a value of type {kind}, found {value!r}",
        code="LP3011",
    )


def parse_spec_values(text: str) -> dict[int, SpecValue]:
    """Reads what spirv-opt takes: ``"0:5 1:2.5 2:true"``, SpecId and value; also hexadecimal numbers.

    Raises:
        InvalidError: text of another form, or a SpecId that stands twice.
    """
    values: dict[int, SpecValue] = {}
    for pair in text.split():
        name, colon, value = pair.partition(":")
        if not (colon and name.isascii() and name.isdigit()) or int(name) >= 1 << 32 or int(name) in values:
            raise InvalidError(
                f"expected SPEC_ID:VALUE pairs with distinct ids, such as '0:5 1:2.5'; found {pair!r}"
            )
        values[int(name)] = _number(value, pair)
    if not values:
        raise InvalidError("expected SPEC_ID:VALUE pairs, such as '0:5 1:2.5'; found none")
    return values


def _number(text: str, pair: str) -> SpecValue:
    if text in ("true", "false"):
        return text == "true"
    for read in (lambda: int(text, 0), lambda: float.fromhex(text) if "0x" in text else float(text)):
        try:
            return read()
        except (ValueError, OverflowError):
            continue
    raise InvalidError(f"expected a number, true or false in {pair!r}")
