"""Functions that make arrays: the host side of `Array`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..ir.errors import Error, InvalidError, for_user, user_facing
from ..ir.local_memory import MAX_ARRAY_DIMENSIONS
from .array import Array
from .dtypes import numpy_dtype, spelling_of
from .host_data import element, host_array, require_unmasked
from .runtime import require_devices, runtime

if TYPE_CHECKING:
    from .device import Device
    from .queue import Queue


def device_of(device: Device | str | None, queue: Queue | None) -> Device:
    """Returns the device that ``device=`` and ``queue=`` of a function that makes memory name.

    Raises:
        InvalidError: they do not agree, or are neither, or the queue was closed.
        DeviceLostError: the queue's device is gone.
    """
    if device is None and queue is None:
        return require_devices(opens_default=True).default_device
    runtime()  # before the imports, many of which it does while the drivers start
    from .device_list import resolve_device
    from .queue import Queue

    if queue is None:
        return resolve_device(device)
    if not isinstance(queue, Queue):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
        raise InvalidError(
            f"queue= takes an lp.Queue or None; found {queue!r} of type {type(queue).__name__}"
        )
    if device is not None and resolve_device(device) is not queue.device:
        raise InvalidError(
            f"device={resolve_device(device).selector!r} and queue= of device {queue.device.selector!r} "
            "do not agree; pass one of them"
        )
    queue.require_open()
    return queue.device


def normalise_shape(shape: object) -> tuple[int, ...]:
    """Returns a shape as a tuple of ints.

    Raises:
        InvalidError: not one to eight integers of 0 or more.
    """
    if type(shape) is int and shape >= 0:  # nearly all
        return (shape,)
    items = cast("Sequence[object]", shape) if isinstance(shape, tuple | list) else (shape,)
    try:
        extents = tuple(operator.index(cast("int", item)) for item in items)
    except TypeError as error:
        raise InvalidError(f"a shape is an integer or a tuple of integers; found {shape!r}") from error
    if not 1 <= len(extents) <= MAX_ARRAY_DIMENSIONS:
        raise InvalidError(
            f"arrays have 1 to {MAX_ARRAY_DIMENSIONS} dimensions, found shape {extents}; "
            + (
                "join dimensions, and take the index apart in the kernel with // and %"
                if extents
                else "give it one, (1,)"
            )
        )
    if any(extent < 0 for extent in extents):
        raise InvalidError(f"an extent is 0 or more; found shape {extents}")
    return extents


def empty(
    shape: int | tuple[int, ...],
    dtype: object = "f32",
    *,
    device: Device | str | None = None,
    queue: Queue | None = None,
) -> Array:
    """Makes an array of undefined contents.

    Args:
        shape: extents, slowest first; 0 is allowed.
        dtype: ``lp.f32`` or a NumPy dtype.
        device: a device or selector; by default that of `queue`, else the default device.
        queue: only says which device.

    Raises:
        InvalidError: shape or dtype that arrays cannot have.
        MemoryAllocationError: larger than the device can hold.
    """
    try:
        return Array(device_of(device, queue), normalise_shape(shape), spelling_of(dtype))
    except Error as error:
        raise for_user(error)  # noqa: B904 - it is the same error


@user_facing
def zeros(
    shape: int | tuple[int, ...],
    dtype: object = "f32",
    *,
    device: Device | str | None = None,
    queue: Queue | None = None,
) -> Array:
    """Makes an array of zeros; see `empty`."""
    return empty(shape, dtype, device=device, queue=queue).fill(0)


@user_facing
def ones(
    shape: int | tuple[int, ...],
    dtype: object = "f32",
    *,
    device: Device | str | None = None,
    queue: Queue | None = None,
) -> Array:
    """Makes an array of ones; see `empty`."""
    return empty(shape, dtype, device=device, queue=queue).fill(1)


@user_facing
def full(
    shape: int | tuple[int, ...],
    value: object,
    dtype: object = "f32",
    *,
    device: Device | str | None = None,
    queue: Queue | None = None,
) -> Array:
    """Makes an array with every element `value`, which must fit `dtype`; see `empty`."""
    extents, spelling = normalise_shape(shape), spelling_of(dtype)
    element(value, spelling)  # a misfit is found before memory is taken
    return empty(extents, spelling, device=device, queue=queue).fill(value)


@user_facing
def empty_like(
    array: Array | np.ndarray[Any, Any], dtype: object = None, *, device: Device | str | None = None
) -> Array:
    """Makes an array of undefined contents with the shape, dtype and device of another.

    Args:
        array: an Array, or a NumPy array (then on the default device).
        dtype: another element type.
        device: another device.
    """
    if not isinstance(array, Array | np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
        raise InvalidError(
            f"expected an lp.Array or a NumPy array; found {array!r} of type {type(array).__name__}"
        )
    if device is None and isinstance(array, Array):
        device = array.device
    if dtype is None:
        dtype = array.spelling if isinstance(array, Array) else array.dtype
    return empty(array.shape, dtype, device=device)


@user_facing
def zeros_like(
    array: Array | np.ndarray[Any, Any], dtype: object = None, *, device: Device | str | None = None
) -> Array:
    """Makes an array of zeros with the shape, dtype and device of another; see `empty_like`."""
    return empty_like(array, dtype, device=device).fill(0)


@user_facing
def asarray(
    source: object,
    dtype: object = None,
    *,
    device: Device | str | None = None,
    queue: Queue | None = None,
) -> Array:
    """Copies host data to a device, in C order; the dtype is kept.

    An Array of that device (of any device, where none is named) is returned unchanged, one of another device
    is copied.

    Args:
        source: a NumPy array of any strides, a nested sequence of numbers or of struct instances, a number, or an
            Array.
        dtype: the element type, where it is not the source's: ``lp.f32x4`` takes host shape (n, 4).
        device: a device or selector; by default that of `queue`, else the default device.
        queue: only says which device.

    Raises:
        InvalidError: an object, complex or text dtype, more than eight dimensions, or a source that `dtype`
            does not fit; a masked array with masked elements.
    """
    require_unmasked(source, "asarray")
    if dtype is not None:
        return _asarray_of(source, spelling_of(dtype), device, queue)
    if isinstance(source, Array):
        _ = source.buffer  # raises where the array was released
        if device is None and queue is None:
            return source
        target = device_of(device, queue)
        if source.device is target:
            return source
        return empty(source.shape, source.spelling, device=target).copy_from(source)
    host = _host_of(source)
    struct = _struct_dtype(host)
    if struct is not None:
        return _asarray_of(source, spelling_of(struct), device, queue)
    spelling = spelling_of(host.dtype)
    host = np.atleast_1d(host).astype(numpy_dtype(spelling), copy=False)
    return empty(host.shape, spelling, device=device, queue=queue).copy_from(host)


def _struct_dtype(host: np.ndarray[Any, Any]) -> np.dtype[Any] | None:
    """Returns the dtype of the first of some struct instances, which NumPy takes for objects."""
    dtype = getattr(host.flat[0], "dtype", None) if host.dtype == object and host.size else None
    return cast("np.dtype[Any]", dtype) if isinstance(dtype, np.dtype) and dtype.names else None


def _host_of(source: object) -> np.ndarray[Any, Any]:
    speaks_dlpack = hasattr(source, "__dlpack__") and hasattr(source, "__dlpack_device__")
    try:
        host = cast("np.ndarray[Any, Any]", np.asarray(source))
    except (ValueError, TypeError, RuntimeError) as error:
        # torch gives NumPy no bfloat16, and DLPack all the same.
        if not speaks_dlpack:
            raise InvalidError(f"this is no array: {error}") from error
    else:
        if host.dtype != object or not speaks_dlpack or isinstance(source, np.ndarray):
            return host
    from .array_sharing import host_of_dlpack

    return host_of_dlpack(source, "lp.asarray")


def _asarray_of(source: object, spelling: str, device: Device | str | None, queue: Queue | None) -> Array:
    """Copies host data, or another array, to an array of a given element type."""
    if isinstance(source, Array):
        if source.spelling == spelling:
            return asarray(source, device=device, queue=queue)
        device = source.device if device is None and queue is None else device
        source = source.numpy()
    dtype = numpy_dtype(spelling)
    host = host_array(source, spelling, "asarray")
    parts = dtype.shape
    if parts and (host.ndim < 1 + len(parts) or host.shape[-len(parts) :] != parts):
        raise InvalidError(
            f"an array of {spelling} takes host shape (n, {', '.join(map(str, parts))}); found {host.shape}"
        )
    shape = host.shape[: host.ndim - len(parts)] if parts else np.atleast_1d(host).shape
    return empty(shape, spelling, device=device, queue=queue).copy_from(host.reshape((*shape, *parts)))
