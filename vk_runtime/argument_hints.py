"""What to write instead of an argument that does not suit its parameter; empty where nothing is known."""

from __future__ import annotations

import numpy as np

from .array import Array

NUMBERS = frozenset(
    ("bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64")
)
"""Element types that ``lp.asarray`` converts to."""


def written(element: str) -> str:
    """Returns how programs write an element type behind ``lp.``."""
    return "bool_" if element == "bool" else element


def array_hint(value: object, element: str) -> str:
    """Of something that is no `lp.Array` where one of `element` is expected."""
    if element not in NUMBERS:
        return ""
    if isinstance(value, list | tuple) or hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        return f"; make an array of it with lp.asarray(…, lp.{written(element)})"
    if isinstance(value, int | float):
        return f"; an array of one element is lp.asarray([{value!r}], lp.{written(element)})"
    return ""


def shape_hint(ndim: int) -> str:
    """Of an array of other than the expected number of dimensions."""
    return (
        "; give it the shape with a.reshape(…), or declare the parameter with "
        f"{ndim} dimension{'s' * (ndim != 1)}"
    )


def number_hint(value: object, dtype: str) -> str:
    """Of something that is no number of type `dtype`."""
    if isinstance(value, Array):
        return f"; pass a number, or declare the parameter lp.Array[lp.{written(dtype)}]"
    if isinstance(value, bool | np.bool_):
        return f"; write {'1' if value else '0'}, or declare the parameter lp.bool_"
    if dtype == "bool":
        return "; compare it: x != 0" if isinstance(value, int | float) else ""
    if isinstance(value, float | np.floating) and dtype[0] in "iu":
        return "; make it an integer: int(x) or round(x)"
    return "; convert it on the host" if isinstance(value, str | complex) else ""
