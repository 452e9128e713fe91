"""Scalars of kernel-level IR as NumPy has them: one array holds the value of every work-item that runs.

Integers are signless in the IR and signed here; an operation that reads them as unsigned views the bits so.
`index` is a 64-bit integer, so that an index that does not fit the device's 32 bits is found out of range.
NumPy has no bf16: its values are float32 numbers rounded to it, its storage the upper half of their bits.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute

from ..errors import InvalidError
from ..narrowing import is_integer_type

Lanes = npt.NDArray[Any]
"""The values of all work-items of a batch, work-items along the first dimension."""

_FLOATS: dict[type[Attribute], np.dtype[Any]] = {
    Float16Type: np.dtype(np.float16),
    BFloat16Type: np.dtype(np.float32),
    Float32Type: np.dtype(np.float32),
    Float64Type: np.dtype(np.float64),
}
_INTEGERS = {
    1: np.dtype(np.bool_),
    8: np.dtype(np.int8),
    16: np.dtype(np.int16),
    32: np.dtype(np.int32),
    64: np.dtype(np.int64),
}


def is_bf16(type_: Attribute) -> bool:
    """Whether a type is bf16."""
    return isinstance(type_, BFloat16Type)


def is_scalar(type_: Attribute) -> bool:
    """Whether a type is a number or a bool."""
    return isinstance(type_, IndexType | IntegerType | AnyFloat)


def value_dtype(type_: Attribute) -> np.dtype[Any]:
    """Returns the NumPy type of values of a scalar type.

    Raises:
        InvalidError: no kernel has such a type.
    """
    if isinstance(type_, IndexType):
        return np.dtype(np.int64)
    found = _INTEGERS.get(type_.width.data) if is_integer_type(type_) else _FLOATS.get(type(type_))
    if found is None:
        raise InvalidError(f"the interpreter has no values of type {type_}; expected a scalar of a kernel")
    return found


def storage_dtype(type_: Attribute) -> np.dtype[Any]:
    """Returns the NumPy type of a scalar type in memory."""
    return np.dtype(np.uint16) if is_bf16(type_) else value_dtype(type_)


def rounded_to_bf16(values: Lanes) -> Lanes:
    """Rounds float32 numbers to bf16, to nearest even; a NaN stays one."""
    bits = values.astype(np.float32).view(np.uint32)
    rounded = (bits + (((bits >> 16) & 1) + np.uint32(0x7FFF))) & np.uint32(0xFFFF0000)
    quiet = (bits | np.uint32(0x00400000)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(values), quiet, rounded).astype(np.uint32).view(np.float32)


def to_storage(values: Lanes, type_: Attribute) -> Lanes:
    """Returns values as they lie in memory."""
    if is_bf16(type_):
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    return values


def from_storage(stored: Lanes, type_: Attribute) -> Lanes:
    """Returns what lies in memory as values."""
    if is_bf16(type_):
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored


def constant(attribute: Attribute, type_: Attribute) -> Any:
    """Returns the number that an attribute holds, as a NumPy scalar of a type.

    Raises:
        InvalidError: it is no number.
    """
    if isinstance(attribute, IntegerAttr):
        return number(cast("IntegerAttr[IntegerType]", attribute).value.data, type_)
    if isinstance(attribute, FloatAttr):
        return number(cast("FloatAttr[AnyFloat]", attribute).value.data, type_)
    raise InvalidError(f"the interpreter has no constants such as {attribute}; expected a number")


def number(value: int | float, type_: Attribute) -> Any:
    """Returns a number as a NumPy scalar of a type: integers keep their low bits, floats are rounded."""
    dtype = value_dtype(type_)
    if dtype.kind == "f":
        rounded = np.array([value], np.float64).astype(dtype)
        return (rounded_to_bf16(rounded) if is_bf16(type_) else rounded)[0]
    if dtype.kind == "b":
        return np.bool_(int(value) & 1)
    bits = dtype.itemsize * 8
    return np.array([int(value) & ((1 << bits) - 1)], f"u{dtype.itemsize}").view(dtype)[0]


def unsigned(values: Lanes) -> Lanes:
    """Returns the same bits read as unsigned integers."""
    return values.view(f"u{values.dtype.itemsize}")


def where(mask: Lanes, if_true: Lanes, if_false: Lanes) -> Lanes:
    """Chooses for each work-item, whatever the dimensions of its values."""
    extra = max(if_true.ndim, if_false.ndim) - 1
    return np.where(mask.reshape(mask.shape + (1,) * extra) if extra else mask, if_true, if_false)
