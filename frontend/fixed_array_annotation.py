"""``lp.FixedArray[lp.f32, 3, 3]``: how fixed arrays are written in annotations and calls."""

from __future__ import annotations

from typing import cast

from ..ir.errors import CompileError, InvalidError
from .struct_types import value_type_of
from .types import MAX_SCALARS, FixedArrayType, TypeSpelling, integer_of, scalar_of
from .vector_types import VecType


class FixedArray(TypeSpelling):
    """Spelling of `FixedArrayType`: ``lp.FixedArray[lp.f32, 3, 3]``."""

    def __new__(cls, *_: object) -> FixedArray:
        raise InvalidError(
            "lp.FixedArray is not called; its type is written with brackets, lp.FixedArray[lp.f32, 3, 3], "
            "and a value is lp.FixedArray[lp.f32, 3, 3](values)"
        )

    def __class_getitem__(cls, parameters: object) -> FixedArrayType:
        parts = cast("tuple[object, ...]", parameters if isinstance(parameters, tuple) else (parameters,))
        element = scalar_of(parts[0]) if parts else None
        if element is None:
            raise CompileError(
                "lp.FixedArray[element, n, …]: the element is a lapilli scalar type such as lp.f32; "
                f"found {parts[0] if parts else 'nothing'!r}{_instead(parts)}",
                code="LP2018",
            )
        if len(parts) == 1:
            raise CompileError(
                f"lp.FixedArray[lp.{element.name}] has no length; write lp.FixedArray[lp.{element.name}, n]",
                code="LP2018",
            )
        found = FixedArrayType(element, tuple(_length(p) for p in parts[1:]))
        if found.size > MAX_SCALARS:
            raise CompileError(
                f"a value is made of at most {MAX_SCALARS} numbers, found lp.FixedArray of {found.size}; larger "
                f"data is an array: lp.Array[lp.{element.name}]",
                code="LP2018",
            )
        return found


def _instead(parts: tuple[object, ...]) -> str:
    """Returns what to write for fixed arrays of vectors, of fixed arrays and of structs."""
    element = value_type_of(parts[0]) if parts else None
    if isinstance(element, VecType | FixedArrayType):
        inner = element.shape if isinstance(element, FixedArrayType) else (element.size,)
        lengths = ", ".join(map(str, (*parts[1:], *inner)))
        return f"; add dimensions: lp.FixedArray[{element.element!r}, {lengths}]"
    if element is not None:
        return (
            "; give each of its members a fixed array, or make it an array of its own with a dimension more"
        )
    return ""


def _length(value: object) -> int:
    length = None if isinstance(value, bool) else integer_of(value)
    if length is None:
        raise CompileError(
            f"the lengths of lp.FixedArray are integers; found {value!r} of type {type(value).__name__}",
            code="LP2018",
        )
    if length < 1:
        raise CompileError(f"the lengths of lp.FixedArray are at least 1; found {length}", code="LP2018")
    return length
