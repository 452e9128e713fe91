"""Functions (`math`): computed in double precision and rounded once; integer functions exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from .dispatch import handles, handles_elementwise
from .float_ops import rounded
from .scalars import Lanes, unsigned


def _in_double(function: Callable[..., Any]) -> Callable[..., Lanes]:
    """Returns a function of any floats, computed in double precision."""

    def compute(*operands: Lanes) -> Lanes:
        return np.asarray(function(*[operand.astype(np.float64) for operand in operands]))

    return compute


def _round_half_away(x: Lanes) -> Lanes:
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1.0, x), whole)


def _fma(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """Multiplies and adds with one rounding: exact in double precision for f32, in extended for f64."""
    wide = np.longdouble if a.dtype == np.float64 else np.float64
    return a.astype(wide) * b.astype(wide) + c.astype(wide)


_ERF = np.vectorize(math.erf, otypes=[np.float64])


def _rsqrt(x: Lanes) -> Lanes:
    return 1.0 / np.sqrt(x)


_IN_DOUBLE: dict[str, Callable[..., Any]] = {
    "sqrt": np.sqrt,
    "rsqrt": _rsqrt,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "powf": np.power,
    "cbrt": np.cbrt,
    "erf": _ERF,
}
_EXACT: dict[str, Callable[..., Lanes]] = {
    "absf": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "roundeven": np.rint,
    "round": _round_half_away,
    "copysign": np.copysign,
    "fma": _fma,
}
for _name, _function in _IN_DOUBLE.items():
    handles(f"math.{_name}")(rounded(_in_double(_function)))
for _name, _function in _EXACT.items():
    handles(f"math.{_name}")(rounded(_function))


# Integers


def _bits(values: Lanes) -> Lanes:
    """Returns the bits of each integer in a last dimension, the lowest first."""
    words = np.ascontiguousarray(unsigned(values))[..., None].view(np.uint8)
    return np.unpackbits(words, axis=-1, bitorder="little")


def _ones(values: Lanes) -> Lanes:
    return _bits(values).sum(axis=-1).astype(values.dtype)


def _leading_zeros(values: Lanes) -> Lanes:
    return _zeros_before_one(_bits(values)[..., ::-1]).astype(values.dtype)


def _trailing_zeros(values: Lanes) -> Lanes:
    return _zeros_before_one(_bits(values)).astype(values.dtype)


def _zeros_before_one(bits: Lanes) -> Lanes:
    first = cast("Lanes", np.argmax(bits, axis=-1))
    return np.where(np.any(bits, axis=-1), first, bits.shape[-1])


def _reversed(values: Lanes) -> Lanes:
    bits = np.ascontiguousarray(_bits(values)[..., ::-1])
    packed: Lanes = np.packbits(bits, axis=-1, bitorder="little")
    return packed.view(values.dtype).reshape(values.shape)


handles_elementwise(
    {
        "math.absi": np.abs,
        "math.ctpop": _ones,
        "math.ctlz": _leading_zeros,
        "math.cttz": _trailing_zeros,
        "spirv.BitCount": _ones,
        "spirv.BitReverse": _reversed,
    }
)
