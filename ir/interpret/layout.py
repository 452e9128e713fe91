"""Where the scalars of a value lie in memory.

Arrays of the host have explicit offsets and strides where they need any; what a kernel makes for itself has
none, and gets C's.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd

from xdsl.ir import Attribute

from ..attribute_values import vector_elements
from ..dialects.spirv.types import ArrayType, StructType, element_type_at
from ..errors import InvalidError
from .scalars import is_scalar, storage_dtype


@lru_cache(maxsize=512)
def size_bytes(type_: Attribute) -> int:
    """Returns the distance of two values of a type in an array.

    Raises:
        InvalidError: a type without a known size.
    """
    if is_scalar(type_):
        return storage_dtype(type_).itemsize
    if (vector := vector_elements(type_)) is not None:
        return size_bytes(vector[0]) * vector[1]
    if isinstance(type_, ArrayType):
        return stride_bytes(type_) * type_.count.data
    if isinstance(type_, StructType):
        end = max(
            (o + size_bytes(m) for o, m in zip(offsets(type_), type_.member_types, strict=True)), default=0
        )
        return _rounded_up(end, alignment(type_))
    raise InvalidError(f"the interpreter cannot store values of type {type_}")


@lru_cache(maxsize=512)
def alignment(type_: Attribute) -> int:
    """Returns the largest scalar of a type in bytes, which the whole is aligned to."""
    if is_scalar(type_):
        return storage_dtype(type_).itemsize
    if (vector := vector_elements(type_)) is not None:
        return alignment(vector[0])
    if isinstance(type_, ArrayType):
        return alignment(type_.element_type)
    if isinstance(type_, StructType):
        return max((alignment(member) for member in type_.member_types), default=1)
    raise InvalidError(f"the interpreter cannot store values of type {type_}")


def stride_bytes(array: ArrayType) -> int:
    """Returns the distance of two elements of a fixed array."""
    return array.stride.data or size_bytes(array.element_type)


@lru_cache(maxsize=512)
def offsets(struct: StructType) -> tuple[int, ...]:
    """Returns where the members of a struct begin."""
    found: list[int] = []
    end = 0
    for member in struct.members:
        start = _rounded_up(end, alignment(member.type)) if member.offset is None else member.offset
        found.append(start)
        end = start + size_bytes(member.type)
    return tuple(found)


def part(type_: Attribute, step: int) -> tuple[int, Attribute]:
    """Returns where a direct component begins, and its type.

    Raises:
        InvalidError: there is no such component.
    """
    inner = element_type_at(type_, step)
    if inner is None:
        raise InvalidError(f"type {type_} has no component {step}")
    if isinstance(type_, StructType):
        return offsets(type_)[step], inner
    stride = stride_bytes(type_) if isinstance(type_, ArrayType) else size_bytes(inner)
    return stride * step, inner


@lru_cache(maxsize=512)
def granule_bytes(type_: Attribute) -> int:
    """Returns the largest size that scalars of an array's elements begin at multiples of."""
    return gcd(size_bytes(type_), *_starts(type_, 0))


def _starts(type_: Attribute, start: int) -> list[int]:
    """Returns the beginnings of all scalars; of arrays the first two elements say everything."""
    if is_scalar(type_):
        return [start, size_bytes(type_)]
    if isinstance(type_, StructType):
        parts = list(zip(offsets(type_), type_.member_types, strict=True))
    else:
        first = part(type_, 0)
        stride = stride_bytes(type_) if isinstance(type_, ArrayType) else size_bytes(first[1])
        parts = [first, (stride, first[1])]
    return [found for offset, inner in parts for found in _starts(inner, start + offset)]


def _rounded_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
