"""Types by what stands for them elsewhere: their spelling in files, NumPy's dtypes."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ..ir.errors import InvalidError
from .types import SCALAR_TYPES, FixedArrayType, ScalarType, Type
from .vector_types import VECTOR_SIZES, vec_type


def parse_type(spelling: str) -> Type:
    """Returns the type that `spelling` names: the inverse of ``Type.spelling`` for value types.

    Raises:
        InvalidError: it names none.
    """
    if spelling in SCALAR_TYPES:
        return SCALAR_TYPES[spelling]
    head, bracket, rest = spelling.partition("[")
    if head == "FixedArray" and bracket and rest.endswith("]"):
        element, *lengths = (part.strip() for part in rest[:-1].split(","))
        if element in SCALAR_TYPES and lengths and all(n.isdecimal() and int(n) > 0 for n in lengths):
            return FixedArrayType(SCALAR_TYPES[element], tuple(map(int, lengths)))
    if head == "Vec" and bracket and rest.endswith("]"):
        element, _, size = (part.strip() for part in rest[:-1].partition(","))
        if element in SCALAR_TYPES and size in map(str, VECTOR_SIZES):
            return vec_type(element, int(size))
    raise InvalidError(
        f"{spelling!r} names no lapilli type; expected one of {', '.join(SCALAR_TYPES)} "
        "or FixedArray[type, n, …]"
    )


def type_of_dtype(dtype: object) -> ScalarType:
    """Returns the scalar type with NumPy dtype `dtype` (anything that ``np.dtype`` takes).

    Raises:
        InvalidError: no scalar type has that dtype.
    """
    if isinstance(dtype, ScalarType):
        return dtype
    try:
        wanted = np.dtype(cast(Any, dtype))
    except TypeError as error:
        raise InvalidError(f"{dtype!r} is no dtype; expected a lapilli type such as lp.f32") from error
    for candidate in SCALAR_TYPES.values():
        if candidate.dtype == wanted:
            return candidate
    raise InvalidError(f"no lapilli type has dtype {wanted}; there are {', '.join(SCALAR_TYPES)}")
