"""Words of scalar constants (SPIR-V 1.6 §2.2.1: the low-order word first)."""

from __future__ import annotations

import struct

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
)
from xdsl.ir import Attribute

from ..ir.narrowing import is_integer_type
from .tables import Op


class UnemittableError(Exception):
    """A type or constant that SPIR-V cannot express; emission adds the operation and its location."""


def scalar_words(
    value: IntegerAttr[IntegerType] | FloatAttr[AnyFloat], type_id: int, *, is_spec: bool = False
) -> tuple[int, ...]:
    """Returns opcode, type id and literal words of a scalar constant (SPIR-V 1.6 §2.2.1: low word first).

    `is_spec` selects OpSpecConstant and its kin.
    """
    if type(value) is IntegerAttr:
        integer, type_ = value.value.data, value.type
        if is_integer_type(type_) and type_.width.data == 1:
            true, false = (
                (Op.SpecConstantTrue, Op.SpecConstantFalse)
                if is_spec
                else (Op.ConstantTrue, Op.ConstantFalse)
            )
            return (true if integer else false, type_id)
        if not is_integer_type(type_):
            raise UnemittableError(f"SPIR-V has no constant of type {type_}")
        words = _integer_words(integer, type_)
    else:
        words = float_words(value.value.data, value.type)
    return (Op.SpecConstant if is_spec else Op.Constant, type_id, *words)


def _integer_words(value: int, type_: IntegerType) -> tuple[int, ...]:
    width = type_.width.data
    if width == 64:
        return (value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF)
    if type_.signedness.data is Signedness.SIGNED:
        return (value & 0xFFFFFFFF,)  # a signed type's literals are sign-extended
    # A type of signedness 0 is extended with zeros.
    return (value & ((1 << width) - 1),)


def float_words(value: float, type_: Attribute) -> tuple[int, ...]:
    """Returns the literal words of a float; a value beyond the type's range becomes an infinity."""
    kind = type(type_)  # asked by type(): `isinstance` of abstract classes costs more
    if kind is Float64Type:
        low, high = struct.unpack("<2I", struct.pack("<d", value))
        return (low, high)
    if kind is BFloat16Type:
        bits = _pack("<f", "<I", value)
        if value != value:
            return (bits >> 16 | 0x40,)  # quiet, so that a NaN with low payload bits only stays one
        return (bits + 0x7FFF + (bits >> 16 & 1) >> 16,)  # round half to even
    if kind is Float16Type:
        return (_pack("<e", "<H", value),)
    return (_pack("<f", "<I", value),)


def _pack(float_format: str, integer_format: str, value: float) -> int:
    try:
        data = struct.pack(float_format, value)
    except OverflowError:
        data = struct.pack(float_format, float("inf") if value > 0 else float("-inf"))
    return int(struct.unpack(integer_format, data)[0])
