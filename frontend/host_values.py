"""Host values of kernel types, checked strictly: what does not fit its type raises, nothing is truncated.

Used for specialization values and defaults.  Conversions that a kernel would do (``lp.u8(300)``) are
`ScalarType.__call__`; here 300 is no u8.  An integer may stand for a float, a float never for an integer; a
bool is the integer 0 or 1, and only these two are bools.  A float rounds to its type; only overflow to
infinity is a misfit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..ir.errors import FeatureNotSupportedError, KernelArgumentError
from .types import FixedArrayType, ScalarType, Type, integer_of, is_number, unwrap_scalar

if TYPE_CHECKING:
    from numpy.typing import NDArray

MISFIT_CODE = "LP3010"
"""`Error.code` of a value that does not fit its type."""


def scalar_value(target: ScalarType, value: object, what: str) -> Any:
    """Returns `value` as a NumPy scalar of `target`.

    Args:
        target: the type to fit.
        value: a Python or NumPy number, or a 0-dimensional ndarray.
        what: the thing that gets the value, for messages.

    Raises:
        KernelArgumentError: `value` is of another kind or out of range.
    """
    value = unwrap_scalar(value)
    if target.name == "bf16" and target.dtype == np.uint16:
        raise FeatureNotSupportedError(
            f"{what}: bf16 values on the host need the package ml_dtypes; pip install 'lapilli[bf16]'"
        )
    if target.is_float:
        return _float_value(target, value, what)
    number = integer_of(value)
    if number is None or not target.minimum <= number <= target.maximum:
        raise _misfit(target, value, what)
    return target.dtype.type(number)


def _float_value(target: ScalarType, value: object, what: str) -> Any:
    if not is_number(value):
        raise _misfit(target, value, what)
    try:
        number = float(cast(float, value))
    except OverflowError:
        raise _misfit(target, value, what) from None
    with np.errstate(over="ignore"):
        result = target.dtype.type(number)
    if math.isinf(float(result)) and not math.isinf(number):
        raise _misfit(target, value, what)
    return result


def fixed_array_value(
    target: FixedArrayType, values: tuple[object, ...], what: str, *, called: Type | None = None
) -> NDArray[Any]:
    """Returns a C-ordered ndarray of `target`, a new one.

    Args:
        target: the type to fit.
        values: nothing for zeros; one number for every element (as SYCL's marray); one nested sequence or
            ndarray of the type's shape; or the parts along dimension 0.
        what: the thing that gets the value, for messages.
        called: the type that messages name, where the user wrote another one (a vector).

    Raises:
        KernelArgumentError: the shape differs, or an element does not fit.
    """
    if not values:
        return np.zeros(target.shape, target.element.dtype)
    value = values[0] if len(values) == 1 else values
    array = _ndarray(value)
    if array is not None and array.dtype == target.element.dtype and array.shape == target.shape:
        return np.array(array, order="C")
    if not _is_sequence(value):
        return np.full(target.shape, scalar_value(target.element, value, what), target.element.dtype)
    result = np.empty(target.shape, target.element.dtype)
    found = _shape_of(value)
    if found != target.shape:
        raise KernelArgumentError(
            f"{what} has type {called or target!r}: expected a value of shape {target.shape}, "
            f"found {'a ragged sequence' if found is None else f'shape {found}'}",
            code=MISFIT_CODE,
        )
    flat = result.reshape(-1)
    for position, element in enumerate(_flatten(value)):
        try:
            flat[position] = scalar_value(target.element, element, what)
        except KernelArgumentError as error:  # the index costs time, so only a misfit gets one
            index = [int(i) for i in np.unravel_index(position, target.shape)]
            raise _misfit(target.element, element, f"{what}{index}") from error
    return result


def elements_of_shape(
    value: object, shape: tuple[int, ...], at: tuple[int, ...] = ()
) -> list[tuple[tuple[int, ...], object]] | None:
    """Returns the elements of nested sequences or an ndarray with their indices; None where the shape differs.

    What an element is is not looked at: it may be a sequence too.
    """
    if not shape:
        return [(at, value)]
    if not _is_sequence(value) or len(cast("Sequence[object]", value)) != shape[0]:
        return None
    found: list[tuple[tuple[int, ...], object]] = []
    for position, part in enumerate(cast("Iterable[object]", value)):
        inner = elements_of_shape(part, shape[1:], (*at, position))
        if inner is None:
            return None
        found += inner
    return found


def _ndarray(value: object) -> NDArray[Any] | None:
    return cast("NDArray[Any]", value) if isinstance(value, np.ndarray) else None


def _is_sequence(value: object) -> bool:
    array = _ndarray(value)
    if array is not None:
        return array.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _shape_of(value: object) -> tuple[int, ...] | None:
    """Returns the shape of nested sequences, None where they are ragged."""
    array = _ndarray(value)
    if array is not None:
        return array.shape
    if not _is_sequence(value):
        return ()
    parts = cast("Sequence[object]", value)
    shapes = {_shape_of(part) for part in parts}
    if not shapes:
        return (0,)
    inner = shapes.pop()
    return None if shapes or inner is None else (len(parts), *inner)


def _flatten(value: object) -> Iterable[object]:
    array = _ndarray(value)
    if array is not None:
        yield from array.flat
    elif _is_sequence(value):
        for part in cast("Sequence[object]", value):
            yield from _flatten(part)
    else:
        yield value


def _misfit(target: ScalarType, value: object, what: str) -> KernelArgumentError:
    return KernelArgumentError(
        f"{what} has type {target!r}: expected {expectation(target)}, "
        f"found {value!r} of type {type(value).__name__}",
        code=MISFIT_CODE,
    )


def expectation(target: ScalarType) -> str:
    """Returns what values `target` takes, in words for messages."""
    if target.kind == "bool":
        return "True or False"
    if target.is_float:
        return "a number that its range holds"
    return f"an integer from {target.minimum} to {target.maximum}"
