"""Constants as folding sees them: reading, wrapping and making them.

Only scalars: vectors and arrays are left as they are.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from typing_extensions import TypeIs
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute, OpResult, SSAValue

from ...ir.narrowing import is_float_attribute, is_integer_attribute, is_integer_type

INDEX_WIDTH = 32
"""Bits of `index` on the device."""

FoldableFloat: TypeAlias = Float16Type | Float32Type | Float64Type
"""Float types whose arithmetic NumPy carries out exactly as IEEE 754 says."""


def is_foldable(type_: Attribute) -> TypeIs[FoldableFloat]:
    """Whether a type is one of `FoldableFloat`."""
    return type(type_) in (Float32Type, Float64Type, Float16Type)


def constant_attribute(value: SSAValue) -> Attribute | None:
    """Returns the attribute of the `arith.constant` that makes `value`, if one does."""
    if type(value) is OpResult and type(value.op) is ConstantOp:  # `owner` is two calls
        return value.op.properties["value"]
    return None


def constant_integer(value: SSAValue) -> int | None:
    """Returns a constant integer, i1 or index as a signed number (true is -1), or None."""
    attribute = constant_attribute(value)
    return attribute.value.data if is_integer_attribute(attribute) else None


def constant_float(value: SSAValue) -> float | None:
    """Returns a constant float of a type that folds, or None."""
    attribute = constant_attribute(value)
    if is_float_attribute(attribute) and is_foldable(attribute.type):
        return attribute.value.data
    return None


def integer_width(type_: Attribute) -> int | None:
    """Returns the bits of a scalar integer type as the device has it, or None for any other type."""
    if is_integer_type(type_):
        return type_.width.data
    return INDEX_WIDTH if isinstance(type_, IndexType) else None


def wrap(value: int, width: int) -> int:
    """Returns `value` reduced to a signed number of `width` bits."""
    half = 1 << (width - 1)
    return ((value + half) & ((1 << width) - 1)) - half


def unsigned(value: int, width: int) -> int:
    """Returns a signed number of `width` bits read as unsigned."""
    return value & ((1 << width) - 1)


@lru_cache(maxsize=4096)
def integer_attribute(value: int, type_: IntegerType | IndexType) -> IntegerAttr:
    """Returns the attribute of an integer; `value` is signed and in range."""
    return IntegerAttr(value, type_)


def bool_attribute(value: bool) -> IntegerAttr:
    """Returns the i1 attribute of `value`."""
    return integer_attribute(-1 if value else 0, IntegerType(1))
