"""Element types of arrays on the host: lapilli's spelling and NumPy's dtype."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

import numpy as np

from ..ir.errors import InvalidError

NUMPY_NAMES = {
    "bool": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
}
"""NumPy's name of each scalar type but bf16, which NumPy does not have."""

_SPELLINGS = {np.dtype(numpy_name): spelling for spelling, numpy_name in NUMPY_NAMES.items()}

_DTYPES = {spelling: np.dtype(numpy_name) for spelling, numpy_name in NUMPY_NAMES.items()}

SIZE_BYTES = {spelling: np.dtype(name).itemsize for spelling, name in NUMPY_NAMES.items()} | {"bf16": 2}
"""Bytes of one element in memory."""


@lru_cache(maxsize=1)
def bfloat16_dtype() -> np.dtype[Any]:
    """Returns ml_dtypes' bfloat16, or the uint16 that holds its bits where that package is missing."""
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype(np.uint16)
    return np.dtype(ml_dtypes.bfloat16)


def numpy_dtype(spelling: str) -> np.dtype[Any]:
    """Returns the NumPy dtype of an element type as lapilli spells it."""
    found = _DTYPES.get(spelling)
    if found is not None:
        return found
    if spelling == "bf16":
        return bfloat16_dtype()
    from .composite_dtypes import composite_dtype

    return composite_dtype(spelling)


def spelling_of(dtype: object) -> str:
    """Returns how lapilli spells an element type.

    Args:
        dtype: ``lp.f32``, ``"f32"``, or anything that ``np.dtype`` takes.

    Raises:
        InvalidError: arrays cannot hold it.
    """
    if dtype is None:  # float64 for NumPy, but the default here is f32
        raise InvalidError(f"None is no element type of an array: {_choices()}")
    named = dtype if isinstance(dtype, str) else getattr(dtype, "spelling", None)
    if isinstance(named, str) and (named in SIZE_BYTES or named.startswith(("Vec[", "{"))):
        return named
    if isinstance(named, str) and named.startswith("FixedArray["):  # vectors have the same dtypes
        from .composite_dtypes import fixed_spelling

        return fixed_spelling(named)
    try:
        found: np.dtype[Any] = np.dtype(dtype)  # pyright: ignore[reportCallIssue, reportArgumentType, reportUnknownVariableType]
    except (TypeError, ValueError, SyntaxError) as error:  # NumPy parses texts such as "f4,i4"
        tuples = (
            "; a shape of several dimensions is a tuple, (rows, columns)" if isinstance(dtype, int) else ""
        )
        raise InvalidError(f"{dtype!r} is no element type of an array: {_choices()}{tuples}") from error
    spelling = _SPELLINGS.get(found.newbyteorder("="))
    if spelling is not None:
        return spelling
    if found.name == "bfloat16":
        return "bf16"
    if found.names is not None or found.subdtype is not None:
        from .composite_dtypes import composite_spelling

        return composite_spelling(found)
    instead = ""
    if found.kind == "c" and found.itemsize <= 16:
        instead = (
            f"; as pairs: lp.asarray(x.view(x.real.dtype).reshape(*x.shape, 2), lp.f{found.itemsize * 4}x2)"
        )
    elif found.kind == "O":
        instead = (
            "; NumPy finds no numbers in it: give list(x) of a generator or a set, x.astype(…) of an array"
        )
    raise InvalidError(f"arrays cannot hold dtype {found}: {_choices()}{instead}")


def _choices() -> str:
    return f"expected one of {', '.join(SIZE_BYTES)}"


@lru_cache(maxsize=256)
def array_signature(spelling: str, ndim: int) -> str:
    """Returns how an array type is written: ``Array[f32]``, ``Array[f32, 2]``."""
    text = f"Array[{spelling}]" if ndim == 1 else f"Array[{spelling}, {ndim}]"
    return sys.intern(text)  # launches compare these: equal ones are then one object
