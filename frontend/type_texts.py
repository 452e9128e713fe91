"""What ``help(lp.f32)`` and ``help(lp.f32x4)`` say.  Loaded when somebody asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .types import ScalarType
    from .vector_types import VecType

_KINDS = {
    "bool": "A truth value, one byte in memory",
    "int": "A signed integer of {bits} bits",
    "uint": "An unsigned integer of {bits} bits",
    "float": "A floating-point number of {bits} bits",
}
_CONVERSION = {
    "bool": "True for what is not zero, NaN among it.",
    "int": "Integers keep their low bits; floats are truncated, what is out of range becomes the nearest end, NaN 0.",
    "uint": "Integers keep their low bits; floats are truncated, what is out of range becomes the nearest end, NaN 0.",
    "float": "Numbers are rounded to the nearest one, to even between two.",
}


def text_of_scalar(type_: ScalarType) -> str:
    """Returns what ``help(lp.f32)`` says."""
    name = f"lp.{type_.name}"
    what = _KINDS[type_.kind].format(bits=type_.bits)
    if type_.is_integer:
        what += f", {type_.minimum} to {type_.maximum}"
    if type_.name == "bf16":
        what += ", the upper half of an f32; as a value on the host it needs the package ml_dtypes"
    return f"""{name}(value)

{what}.

{name}(value) converts a number, in kernels and on the host, where the result is a NumPy scalar.
{_CONVERSION[type_.kind]}

As an annotation: a: {name}, x: lp.Array[{name}]. As a dtype: lp.zeros(n, {name}), numpy.dtype({name}).
Conversions and arithmetic of types: docs/dtype-support.md."""


def text_of_vector(type_: VecType) -> str:
    """Returns what ``help(lp.f32x4)`` says."""
    name, element, size = repr(type_), type_.element.spelling, type_.size
    return f"""{name}(*values)

A vector of {size} {element}{"s" * (size > 1)}, {type_.itemsize} bytes in memory without padding.

{name}() is zeros, {name}(v) has v in every component, {name}(…) takes {size} of them, or a sequence;
on the host the result is a NumPy array of shape ({size},).

In kernels v.x, v.y, v.z, v.w or v[i] are components, and operators work component by component.
As an annotation: v: {name}, x: lp.Array[{name}], an array of host shape (n, {size})."""
