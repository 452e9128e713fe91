"""``lp.FixedArray[lp.f32, 3, 3]``: how fixed arrays are written in annotations and calls."""

from __future__ import annotations

from typing import cast

from ..ir.errors import CompileError, InvalidError
from .struct_types import scalar_count, value_type_of
from .types import MAX_SCALARS, FixedArrayType, TypeSpelling, integer_of
from .vector_types import CompositeArrayType, array_type


class FixedArray(TypeSpelling):
    """Spelling of `FixedArrayType` and `CompositeArrayType`: ``lp.FixedArray[lp.f32, 3, 3]``."""

    def __new__(cls, *_: object) -> FixedArray:
        raise InvalidError(
            "lp.FixedArray is not called; its type is written with brackets, lp.FixedArray[lp.f32, 3, 3], "
            "and a value is lp.FixedArray[lp.f32, 3, 3](values)"
        )

    def __class_getitem__(cls, parameters: object) -> FixedArrayType | CompositeArrayType:
        parts = cast("tuple[object, ...]", parameters if isinstance(parameters, tuple) else (parameters,))
        element = value_type_of(parts[0]) if parts else None
        if element is None:
            raise CompileError(
                "lp.FixedArray[element, n, …]: the element is a number, vector, struct or fixed array, such as lp.f32; "
                f"found {parts[0] if parts else 'nothing'!r}",
                code="LP2018",
            )
        if len(parts) == 1:
            raise CompileError(
                f"lp.FixedArray[{element!r}] has no length; write lp.FixedArray[{element!r}, n]",
                code="LP2018",
            )
        found = array_type(element, tuple(_length(p) for p in parts[1:]))
        count = scalar_count(found)
        if count > MAX_SCALARS:
            raise CompileError(
                f"a value is made of at most {MAX_SCALARS} numbers, found lp.FixedArray of {count}; larger "
                f"data is an array: lp.Array[{element!r}]",
                code="LP2018",
            )
        return found


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
