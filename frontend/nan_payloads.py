"""NaN of all bit patterns: from NumPy into Python's floats, and from these into the code.

Conversions between widths make signalling NaN quiet, in C and so in Python and NumPy.  Here bits are moved: a NaN's
payload stands in the upper bits of the wider format.  Attributes of IR hold a NaN without its payload, so one whose
payload says something is an integer of the same bits there, which nothing folds.
"""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np

from .types import ScalarType, bf16, u16, u32, u64

_FRACTION_BITS: Final = {16: 10, 32: 23, 64: 52}
PATTERNS: Final = {16: u16, 32: u32, 64: u64}
"""Integers by bits."""
_DOUBLE = struct.Struct("<d")
_BITS = struct.Struct("<Q")


def exact_number(value: np.generic[Any]) -> Any:
    """Returns a NaN of NumPy as Python's float, with its payload."""
    return exact_numbers(np.array([value]))[0]


def exact_numbers(array: np.ndarray[Any, Any]) -> list[Any]:
    """Returns the elements of an array with NaN in C order as Python's numbers, with their payloads."""
    numbers = array.reshape(-1)
    found: list[Any] = numbers.tolist()
    width = 8 * array.dtype.itemsize
    if array.dtype.kind != "f" or width not in _FRACTION_BITS:
        return found
    patterns = (
        np.ascontiguousarray(numbers).astype(numbers.dtype.newbyteorder("=")).view(f"u{width // 8}").tolist()
    )
    return [
        number if number == number else _wide(pattern, width)
        for number, pattern in zip(found, patterns, strict=True)
    ]


def _wide(pattern: int, width: int) -> float:
    fraction = _FRACTION_BITS[width]
    sign, payload = pattern >> (width - 1), pattern & ((1 << fraction) - 1)
    return _DOUBLE.unpack(_BITS.pack(sign << 63 | 0x7FF << 52 | payload << (52 - fraction)))[0]


def pattern_of(value: float, scalar: ScalarType) -> tuple[int, ScalarType] | None:
    """Returns the bits of a NaN of unusual payload, as `scalar` has it, and an integer type; None of other numbers."""
    if value == value or scalar is bf16:
        return None
    (wide,) = _BITS.unpack(_DOUBLE.pack(value))
    fraction = _FRACTION_BITS[scalar.bits]
    payload = (wide & ((1 << 52) - 1)) >> (52 - fraction)
    if payload in (0, 1 << (fraction - 1)):
        return None
    exponent = (1 << (scalar.bits - 1 - fraction)) - 1
    return wide >> 63 << (scalar.bits - 1) | exponent << fraction | payload, PATTERNS[scalar.bits]
