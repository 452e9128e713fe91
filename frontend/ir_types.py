"""How the types and constants of the kernel language look in kernel-level IR.

Integers are signless there (the op says how bits are read), a bool is i1 as a value and i8 in memory, and
`INDEX_TYPE`, the type of ids and sizes, is an i32 that gives way to u32, i64 and u64.
Attributes are cached: building one costs more than building an op.
"""

from __future__ import annotations

from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

from . import types
from .types import ArrayType, ScalarType

INDEX_TYPE = ScalarType("index", "int", 32)
"""Ids, extents, ``len``: an i32 that takes the type of a u32, i64 or u64 beside it."""
WEAK_INT = ScalarType("int literal", "int", 0)
"""A literal integer, or while types are inferred a variable that only literals were assigned to."""
WEAK_FLOAT = ScalarType("float literal", "float", 0)
"""A literal float, likewise."""

IR_INDEX = IndexType()

_VALUE_TYPES: dict[str, Attribute] = {
    "bool_": i1,
    "i8": i8,
    "i16": i16,
    "i32": i32,
    "i64": i64,
    "u8": i8,
    "u16": i16,
    "u32": i32,
    "u64": i64,
    "f16": f16,
    "bf16": bf16,
    "f32": f32,
    "f64": f64,
    INDEX_TYPE.name: i32,
}


def ir_type(scalar: ScalarType) -> Attribute:
    """Returns the IR type of a value of `scalar`."""
    return _VALUE_TYPES[scalar.name]


def storage_type(scalar: ScalarType) -> Attribute:
    """Returns the IR type of `scalar` in an array: a bool takes a byte of 0 or 1."""
    return i8 if scalar.kind == "bool" else _VALUE_TYPES[scalar.name]


@lru_cache(maxsize=256)
def memref_type(array: ArrayType) -> MemRefType[Attribute]:
    """Returns the memref of an array parameter: every extent dynamic, C order."""
    from .storage import element_type

    return MemRefType(element_type(array.element), [DYNAMIC_INDEX] * array.ndim)


@lru_cache(maxsize=4096)
def integer_attribute(value: int, ir: Attribute) -> Attribute:
    """Returns the constant `value` (any integer; the low bits count) of an integer or index type."""
    if isinstance(ir, IntegerType):
        integer = cast("IntegerType[int]", ir)
        width = integer.width.data
        value &= (1 << width) - 1
        if width > 1 and value >> (width - 1):
            value -= 1 << width
        elif width == 1:
            value = -value
        return IntegerAttr(IntAttr(value), integer)
    return IntegerAttr(value, IR_INDEX)


# Not cached by value: 0.0 and -0.0 are equal, NaN is not.
def float_attribute(value: float, ir: Attribute) -> Attribute:
    """Returns the constant `value` rounded to a floating-point type."""
    assert ir in (f16, bf16, f32, f64)
    return FloatAttr(value, ir)  # pyright: ignore[reportArgumentType, reportCallIssue]


def constant_attribute(value: float, scalar: ScalarType) -> Attribute:
    """Returns `value` as a constant of `scalar`."""
    # repr tells -0.0 from 0.0, which are equal.
    return _shared_constant(repr(float(value)) if scalar.is_float else str(int(value)), scalar)


@lru_cache(maxsize=4096)
def _shared_constant(spelled: str, scalar: ScalarType) -> Attribute:
    if scalar.is_float:
        return float_attribute(float(spelled), ir_type(scalar))
    return integer_attribute(int(spelled), ir_type(scalar))


BOOL = types.bool_
I32 = types.i32
F32 = types.f32
F64 = types.f64
