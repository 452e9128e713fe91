"""Values that are more than one number a work-item: composites, arrays and pointers.

Vectors, and fixed arrays of numbers, are NumPy arrays with further dimensions after that of the work-items.
Structs, and fixed arrays of structs, are tuples of their members.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.ir import Attribute

from ..attribute_values import vector_elements
from ..dialects.spirv.types import ArrayType, StructType
from ..errors import InvalidError
from .memory import Memory
from .scalars import Lanes, is_scalar, value_dtype, where


@dataclass(frozen=True, slots=True, eq=False)
class ArrayRef:
    """A memref: the same array for all work-items, or one for each work-group or work-item."""

    memory: Memory
    base: Lanes | None
    """Where each work-item's array begins in the memory, in bytes; None: at 0 for all."""
    shape: tuple[int, ...]
    element: Attribute


@dataclass(frozen=True, slots=True, eq=False)
class Pointer:
    """A place in a variable of each work-item."""

    memory: Memory
    offsets: Lanes
    """In bytes."""
    type: Attribute
    """Of what it points to."""


Value = Any
"""A value of a batch: `Lanes`, a tuple of values, an `ArrayRef` or a `Pointer`."""


def merge(mask: Lanes, if_true: Value, if_false: Value) -> Value:
    """Chooses for each work-item between two values of one type.

    Raises:
        InvalidError: two arrays or pointers, which are the same for all work-items or not known at all.
    """
    if if_true is if_false:
        return if_true
    if isinstance(if_true, np.ndarray):
        return where(mask, cast("Lanes", if_true), if_false)
    if isinstance(if_true, tuple):
        pairs = zip(cast("tuple[Value, ...]", if_true), cast("tuple[Value, ...]", if_false), strict=True)
        return tuple(merge(mask, a, b) for a, b in pairs)
    raise InvalidError("the interpreter cannot choose between two arrays; expected numbers")


def zeros(type_: Attribute, count: int) -> Value:
    """Returns the zero of a type for `count` work-items."""
    return composed(type_, iter(lambda: np.int8(0), 1), count)


def composed(type_: Attribute, leaves: Iterator[Any], count: int) -> Value:
    """Returns a value made of scalars in C order, the same for `count` work-items."""
    if is_scalar(type_):
        return np.full(count, next(leaves), value_dtype(type_))
    return construct(type_, [composed(inner, leaves, count) for inner in constituents(type_)])


def constituents(type_: Attribute) -> tuple[Attribute, ...]:
    """Returns the types of the direct components of a composite.

    Raises:
        InvalidError: it is none.
    """
    if (vector := vector_elements(type_)) is not None:
        return (vector[0],) * vector[1]
    if isinstance(type_, ArrayType):
        return (type_.element_type,) * type_.count.data
    if isinstance(type_, StructType):
        return type_.member_types
    raise InvalidError(f"the interpreter has no values of type {type_}")


def construct(type_: Attribute, parts: Sequence[Value]) -> Value:
    """Puts a composite together; vectors also from shorter vectors."""
    if isinstance(type_, StructType) or isinstance(parts[0], tuple):
        return tuple(parts)
    if isinstance(type_, ArrayType):
        return np.stack(parts, axis=1)
    return np.concatenate([p.reshape(len(p), -1) for p in parts], axis=1)


def extract(value: Value, path: Sequence[int]) -> Value:
    """Returns the part of a composite at literal indices."""
    for step in path:
        value = cast("tuple[Value, ...]", value)[step] if isinstance(value, tuple) else value[:, step]
    return value


def insert(value: Value, part: Value, path: Sequence[int]) -> Value:
    """Returns a composite with the part at literal indices replaced."""
    if not path:
        return part
    step, rest = path[0], path[1:]
    if isinstance(value, tuple):
        members = list(cast("tuple[Value, ...]", value))
        members[step] = insert(members[step], part, rest)
        return tuple(members)
    changed = value.copy()
    changed[(slice(None), *path)] = part
    return changed


def take(value: Value, lanes: Lanes) -> Value:
    """Returns the values of some work-items."""
    if isinstance(value, tuple):
        return tuple(take(member, lanes) for member in cast("tuple[Value, ...]", value))
    return value[lanes]


def spread(value: Value, lanes: Lanes, count: int) -> Value:
    """Puts the values of some work-items among zeros for all the others; undoes `take`."""
    if isinstance(value, tuple):
        return tuple(spread(member, lanes, count) for member in cast("tuple[Value, ...]", value))
    if len(lanes) == count:
        return value
    result = np.zeros((count, *value.shape[1:]), value.dtype)
    result[lanes] = value
    return result
