"""Arguments of foreign kernels: values of any layout as bytes, and which arrays a buffer of theirs takes.

The layout comes from the binary, so that nobody pads by hand: scalars are taken out of the value in order and
written where the shader reads them.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from ..ir.errors import KernelArgumentError
from ..ir.kernel_info import BufferParameter, ValueParameter
from .array import Array
from .kernel_id import Binder
from .scalars import scalar_value

_FORMATS = {
    "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q",
    "f16": "e", "f32": "f", "f64": "d",
}  # fmt: skip

_MAX_NESTING = 32
"""Tuples in tuples, at most: a list may contain itself."""


def packed_value(value: object, parameter: ValueParameter) -> bytes:
    """Returns a value as the kernel reads it.

    Args:
        value: bytes of the parameter's size are taken as they are; else a NumPy array of its shape, or a struct,
            structured scalar, mapping, tuple or list with as many scalars, in its order.
        parameter: says where each scalar goes.

    Raises:
        ValueError: it does not fit; the text says what was expected and found.
    """
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(cast("bytes", value))
        if len(data) != parameter.size_bytes:
            raise ValueError(f"{parameter.size_bytes} bytes, found {len(data)}")
        return data
    array = _array(value)
    if array is not None and array.dtype.names is None and parameter.shape and array.shape != parameter.shape:
        raise ValueError(f"{parameter.dtype}, of shape {parameter.shape}, found shape {array.shape}")
    scalars = list(_scalars(value, 0))
    if len(scalars) != len(parameter.leaves):
        raise ValueError(
            f"{parameter.dtype}, which has {len(parameter.leaves)} scalars, found {len(scalars)} in a "
            f"{type(value).__name__}"
        )
    packed = bytearray(parameter.size_bytes)
    for leaf, scalar in zip(parameter.leaves, scalars, strict=True):
        _pack(packed, leaf.offset_bytes, leaf.dtype, scalar, f"{parameter.name}{leaf.path}")
    return bytes(packed)


def _array(value: object) -> np.ndarray[Any, Any] | None:
    return cast("np.ndarray[Any, Any]", value) if isinstance(value, np.ndarray) else None


def _scalars(value: object, depth: int) -> Iterator[object]:
    """Yields the scalars of a value in the order in which they are declared."""
    if depth > _MAX_NESTING:
        raise ValueError(f"a value nested at most {_MAX_NESTING} deep")
    array = _array(value)
    if array is not None:
        for item in array.reshape(-1):
            yield from _scalars(item, depth + 1)
    elif isinstance(value, np.void) and value.dtype.names is not None:
        for name in value.dtype.names:
            yield from _scalars(value[name], depth + 1)
    elif isinstance(value, Mapping):
        for item in cast("Mapping[object, object]", value).values():
            yield from _scalars(item, depth + 1)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for item in cast("Sequence[object]", value):
            yield from _scalars(item, depth + 1)
    elif names := _member_names(value):
        for name in names:
            yield from _scalars(getattr(value, name), depth + 1)
    else:
        yield value


def _member_names(value: object) -> tuple[str, ...]:
    """Returns the members of an instance of an lp.struct or of a dataclass."""
    kind: Any = getattr(type(value), "__lapilli_struct__", None)
    if kind is not None:
        return tuple(field.name for field in kind.fields)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return tuple(field.name for field in dataclasses.fields(value))
    return ()


def _pack(memory: bytearray, offset: int, dtype: str, value: object, what: str) -> None:
    try:
        number = scalar_value(value, dtype)
    except ValueError as error:
        raise ValueError(f"lp.{dtype} for {what}, found {error}") from None
    struct.pack_into("<" + _FORMATS.get(dtype, "H"), memory, offset, number)


def misfit(array: Array, parameter: BufferParameter) -> str | None:
    """Returns why an array cannot be a buffer of a foreign kernel, None where it can."""
    spelling = array.spelling
    if parameter.element_types and spelling not in parameter.element_types:
        expected = " or ".join(f"lp.{name}" for name in parameter.element_types)
        return f"expected an array of {expected}, found lp.{array.signature}"
    if array.nbytes < parameter.least_bytes:
        return (
            f"expected at least {parameter.least_bytes} bytes, which the members of '{parameter.dtype}' have; "
            f"found {array.nbytes}"
        )
    return None


def binder_by_name(kernel: str, names: tuple[str, ...]) -> Binder:
    """Returns what puts arguments by name behind those by position, for a kernel of no Python function.

    Args:
        kernel: its name, for messages.
        names: of its parameters.
    """
    return partial(_bind, kernel, names)


def _bind(
    kernel: str, names: tuple[str, ...], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> tuple[object, ...]:
    """Puts arguments by name behind those by position."""
    if not kwargs:
        return args
    rest = names[len(args) :]
    for name in kwargs:
        if name not in rest:
            problem = "is given twice" if name in names else "is no parameter"
            raise KernelArgumentError(
                f"kernel '{kernel}': argument '{name}' {problem}; it takes ({', '.join(names)})"
            )
    missing = [name for name in rest if name not in kwargs]
    if missing:
        raise KernelArgumentError(
            f"kernel '{kernel}' takes ({', '.join(names)}); missing: {', '.join(map(repr, missing))}"
        )
    return (*args, *(kwargs[name] for name in rest))
