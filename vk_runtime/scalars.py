"""Scalar arguments: numbers of Python and NumPy as the parameter's type holds them."""

from __future__ import annotations

import struct
from typing import Any, cast

import numpy as np

Scalar = int | float | bytes
"""An argument in the argument block after checking: what `struct` packs."""

_BOOLS: tuple[type[Any], ...] = (bool, np.bool_)

INTEGER_LIMITS = {
    f"{prefix}{bits}": (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if prefix == "i" else (0, (1 << bits) - 1)
    for prefix in "iu"
    for bits in (8, 16, 32, 64)
}

LARGEST_FLOAT = {
    "f16": 65504.0,
    "bf16": 3.3895313892515355e38,
    "f32": 3.4028234663852886e38,
    "f64": float("inf"),
}


def scalar_value(value: object, dtype: str) -> int | float:
    """Converts a scalar argument without losing anything but floating-point digits.

    Args:
        value: a Python or NumPy number, or a 0-d array.
        dtype: the parameter's type as lapilli spells it.

    Returns:
        What `struct` packs; bf16 as its 16 bits.

    Raises:
        ValueError: it does not fit; the text says what was found.
    """
    if isinstance(value, np.ndarray):
        found = cast("np.ndarray[Any, Any]", value)
        if found.ndim:
            raise ValueError(f"an array of shape {found.shape}")
        value = found[()]
    if dtype == "bool":
        if isinstance(value, _BOOLS):
            return int(bool(value))
        raise ValueError(describe(value))
    if isinstance(value, _BOOLS):
        raise ValueError(describe(value))
    if dtype in INTEGER_LIMITS:
        return _integer_value(value, dtype)
    return _float_value(value, dtype)


def _integer_value(value: object, dtype: str) -> int:
    if not isinstance(value, int | np.integer):
        raise ValueError(describe(value))
    number = int(cast("Any", value))
    least, most = INTEGER_LIMITS[dtype]
    if not least <= number <= most:
        raise ValueError(f"{number}, outside {least} … {most}")
    return number


def _float_value(value: object, dtype: str) -> int | float:
    is_bfloat16 = type(value).__name__ == "bfloat16"
    if not is_bfloat16 and not isinstance(value, int | float | np.integer | np.floating):
        raise ValueError(describe(value))
    try:
        number = float(cast("float", value))
    except OverflowError:
        raise ValueError(
            f"an integer of {cast('int', value).bit_length()} bits, too large for a float"
        ) from None
    largest = LARGEST_FLOAT[dtype]
    if abs(number) > largest and abs(number) != float("inf"):
        raise ValueError(f"{number}, outside ±{largest}")
    return _bfloat16_bits(number) if dtype == "bf16" else number


def _bfloat16_bits(number: float) -> int:
    """Rounds to nearest even and returns the 16 bits."""
    (bits,) = struct.unpack("<I", struct.pack("<f", number))
    if number != number:
        return (bits >> 16) | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def describe(value: object) -> str:
    """Returns what messages call something that is no such number: its type, and the value where it is short."""
    name = type(value).__name__
    text = repr(value)
    return f"{name} {text}" if len(text) <= 40 else name
