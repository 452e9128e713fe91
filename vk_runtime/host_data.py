"""Host values that go into arrays: numbers and nested sequences, checked against the element type.

NumPy cuts 1.5 to an integer's 1, makes 1e300 an infinite float32 and reads the text "1" as a number; an array
takes only what its element type holds.  Floats round; infinities and NaN are floats like others.
"""

from __future__ import annotations

import reprlib
import sys
from typing import Any, cast

import numpy as np

from ..ir.errors import InvalidError
from .dtypes import numpy_dtype, spelling_of

_KINDS = {"b": "b", "i": "bi", "u": "bi", "f": "bif", "V": "bif"}
"""Kinds of host values (bool, integer, float) that each kind of element takes; V is bfloat16."""


def element(value: object, spelling: str) -> np.ndarray[Any, Any]:
    """Returns `value` as a 0-d array of an element type.

    Raises:
        InvalidError: it is no number or does not fit.
    """
    dtype = numpy_dtype(spelling)
    if dtype.subdtype is not None or dtype.names is not None:
        from .composite_element import composite_element

        return composite_element(value, dtype, spelling)
    expected = f"expected one number for an array of {spelling}"
    host = _of_numbers(value, spelling, expected)
    if host.ndim:
        raise InvalidError(f"{expected}; found {reprlib.repr(value)}")
    return converted(host, spelling, value)


def host_array(value: object, spelling: str, what: str) -> np.ndarray[Any, Any]:
    """Returns a nested sequence, or what NumPy makes an array of, as an array of an element type.

    Args:
        value: the sequence.
        spelling: of the element type.
        what: the thing, for messages.

    Raises:
        InvalidError: it is ragged, holds something else than numbers, or a number that does not fit.
    """
    expected = f"{what}: expected an array or a nested sequence of numbers for {spelling}"
    dtype = numpy_dtype(spelling)
    if dtype.base.names is not None:
        return _records(value, dtype.base, spelling_of(dtype.base), expected)
    if dtype.subdtype is not None:
        spelling = scalar_spelling(spelling)
    return converted(_of_numbers(value, spelling, expected), spelling, value)


def require_unmasked(value: object, what: str) -> None:
    """Raises InvalidError for a masked array of NumPy with masked elements: numbers lie there that nobody meant.

    Args:
        value: what is copied to a device.
        what: the thing, for messages.
    """
    if type(value) is np.ndarray or (masked := sys.modules.get("numpy.ma")) is None:
        return
    count = int(masked.count_masked(value)) if isinstance(value, masked.MaskedArray) else 0
    if count:
        raise InvalidError(
            f"{what}: {count} of {np.size(cast('Any', value))} elements are masked, and arrays on devices have no "
            "mask; give x.filled(value), or x.data for what lies under the mask"
        )


def scalar_spelling(spelling: str) -> str:
    """Returns the scalar of a vector or fixed array, ``f32`` of ``Vec[f32, 4]``; NumPy may have no dtype for it."""
    return spelling.partition("[")[2].partition(",")[0]


def _records(value: object, dtype: np.dtype[Any], spelling: str, expected: str) -> np.ndarray[Any, Any]:
    try:
        items = _instances(value, dtype)
        if items is None:
            from .record_data import require_members

            with np.errstate(over="ignore", invalid="ignore"):  # told below
                records = np.asarray(value, dtype)
            require_members(value, records)
            return records
        records = b"".join(element(item, spelling).tobytes() for item in items.flat)
        return np.frombuffer(records, dtype).reshape(items.shape)
    except InvalidError:
        raise
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        raise InvalidError(f"{expected}; found {reprlib.repr(value)}: {error}") from error


def _instances(value: object, dtype: np.dtype[Any]) -> np.ndarray[Any, Any] | None:
    """Returns a nested sequence of struct instances as an array of objects, None where it is something else."""
    if isinstance(value, np.ndarray) and cast("np.ndarray[Any, Any]", value).dtype != object:
        return None
    items = cast("np.ndarray[Any, Any]", np.asarray(value, object))
    names = dtype.names or ()
    is_instances = items.size and all(hasattr(item, name) for item in items.flat for name in names)
    return items if is_instances else None


def _of_numbers(value: object, spelling: str, expected: str) -> np.ndarray[Any, Any]:
    try:
        host = cast("np.ndarray[Any, Any]", np.asarray(value))
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        raise InvalidError(f"{expected}; found {reprlib.repr(value)}: {error}") from error
    if host.dtype == object and host.size:
        host = _of_large_integers(host)
    if not host.size and host.dtype == np.float64:  # an empty sequence holds nothing that could not fit
        return host.astype(numpy_dtype(spelling))
    host = exact_integers(value, host, numpy_dtype(spelling))
    if host.dtype.kind not in "biuf" and host.dtype.name != "bfloat16":
        raise InvalidError(f"{expected}; found {reprlib.repr(value)}")
    return host


def exact_integers(value: object, host: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Returns Python's integers as such where NumPy made floats of them: some, and not all, are above 2**63."""
    if host.dtype != np.float64 or dtype.kind != "u" or isinstance(value, np.ndarray):
        return host
    items = cast("np.ndarray[Any, Any]", np.asarray(value, object))
    if not all(type(item) is int and 0 <= item < 1 << 64 for item in items.flat):
        return host
    return items.astype(np.uint64)


def _of_large_integers(host: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Turns Python integers beyond 64 bits, which NumPy keeps as objects, into floats; all else stays."""
    if all(type(item) is int for item in host.flat):
        try:
            return host.astype(np.float64)
        except OverflowError:
            return host
    return host


def converted(host: np.ndarray[Any, Any], spelling: str, value: object) -> np.ndarray[Any, Any]:
    """Returns numbers as a scalar type; `value` is what messages show.

    Raises:
        InvalidError: one does not fit.
    """
    dtype = numpy_dtype(spelling)
    kind = "f" if spelling == "bf16" else dtype.kind
    if host.dtype == dtype:  # for bf16 this may be the uint16 of its bits
        return host
    if kind == "b" and host.dtype.kind != "b" and not np.isin(host, (0, 1)).all():
        raise InvalidError(f"{reprlib.repr(value)} does not fit {spelling}: expected True or False")
    if kind in "iu" and host.size:
        _require_integers(host, spelling, value)
    with np.errstate(over="ignore", invalid="ignore"):
        result = bfloat16_bits(host) if kind == "f" and dtype.kind == "u" else host.astype(dtype)
    if kind == "f" and bool((_is_infinite(result) & np.isfinite(host)).any()):
        raise InvalidError(
            f"{reprlib.repr(value)} does not fit {spelling}: expected a number that its range holds"
        )
    return result


def bfloat16_bits(host: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns numbers as the bits of bfloat16, rounded to nearest even, for hosts without ml_dtypes."""
    bits = host.astype(np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(host), bits >> 16 | 0x40, rounded).astype(np.uint16)


def _is_infinite(result: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return (result & 0x7FFF) == 0x7F80 if result.dtype.kind == "u" else np.isinf(result)


def _require_integers(host: np.ndarray[Any, Any], spelling: str, value: object) -> None:
    limits = np.iinfo(numpy_dtype(spelling))
    numbers = [host.min().item(), host.max().item()]
    is_whole = host.dtype.kind in "biu" or bool((np.isfinite(host) & (np.trunc(host) == host)).all())
    if not is_whole or not limits.min <= int(numbers[0]) <= int(numbers[1]) <= limits.max:
        raise InvalidError(
            f"{reprlib.repr(value)} does not fit {spelling}: expected integers from {limits.min} to {limits.max}"
        )
