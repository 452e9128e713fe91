"""Sharing the memory of arrays: with NumPy and DLPack on the host, with CUDA and other processes as file descriptors.

What a consumer sees is the memory itself.  Giving it out waits for the launches that use it; later launches do not wait
for the consumer, and the consumer calls `Queue.wait` before it looks at what they wrote.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ..ir.errors import FeatureNotSupportedError, InvalidError, user_facing
from .array import Array
from .array_creation import asarray, normalise_shape
from .buffer import Buffer, shared_view
from .device import Device
from .device_list import resolve_device
from .dtypes import bfloat16_dtype, numpy_dtype, spelling_of
from .graph_recording import refuse
from .transfer import wait_for_uses

_DL_CPU, _DL_VULKAN = 1, 7
"""DLDeviceType of DLPack."""


def host_view(array: Array) -> np.ndarray[Any, Any]:
    """Returns the memory of an array as a writable NumPy array, after the launches that use it.

    The view keeps the memory alive, also when the array is released.
    """
    buffer = array.buffer
    refuse("reading an array on the host")
    wait_for_uses(array.device.logical, buffer, writes_only=False)
    if not array.nbytes:
        return np.empty(array.host_shape, array.dtype.base)
    flat = np.frombuffer(shared_view(array.device.logical, buffer, array.nbytes), array.dtype.base)
    return flat.reshape(array.host_shape)


def host_view_as(array: Array, dtype: np.dtype[Any] | None, *, may_copy: bool) -> np.ndarray[Any, Any]:
    """Returns `host_view` where it has the wanted dtype, else a converted copy.

    Raises:
        ValueError: it needs a copy, and there may be none.
    """
    view = host_view(array)
    if dtype is None or np.dtype(dtype) == view.dtype:
        return view
    if not may_copy:
        raise ValueError(f"an lp.Array of {view.dtype} cannot be read as {np.dtype(dtype)} without a copy")
    return view.astype(dtype)


def array_interface(array: Array) -> dict[str, Any]:
    """Returns version 3 of NumPy's array interface for an array that the host sees."""
    view = host_view(array)
    if view.dtype.kind == "V" and view.dtype.names is None:
        # Bfloat16 has no type string: __array__ serves it.
        raise AttributeError("__array_interface__")
    return view.__array_interface__ | {"data": view.reshape(-1).view(np.uint8).data}


def dlpack_device(array: Array) -> tuple[int, int]:
    """Returns (DLDeviceType, number)."""
    if array.is_host_visible:
        return _DL_CPU, 0
    from .runtime import runtime

    listed = runtime().devices
    return _DL_VULKAN, listed.index(array.device) if array.device in listed else len(listed)


def dlpack_capsule(
    array: Array,
    stream: object,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> object:
    """Returns a capsule as the array API standard describes it; see `Array.__dlpack__`."""
    if stream is not None:
        raise BufferError(f"an lp.Array in host memory takes no stream; found stream={stream!r}")
    if array.is_host_visible and not copy:
        host = host_view(array)
    elif copy is False or (dl_device is None and not copy):
        raise BufferError(
            f"the host does not see the memory of this array on device '{array.device.selector}': pass a.numpy(), or "
            "copy=True with dl_device=(1, 0)"
        )
    else:
        host = array.numpy().reshape(array.host_shape)
    if dl_device is not None and dl_device != (_DL_CPU, 0):
        raise BufferError(f"an lp.Array is exported to the CPU, (1, 0); found dl_device={dl_device!r}")
    if "bf16" in array.spelling and not array.dtype.names:
        from .dlpack_bf16 import mark_bfloat16

        return mark_bfloat16(host.view(np.uint16).__dlpack__(max_version=max_version))
    return host.__dlpack__(max_version=max_version)


@user_facing
def from_dlpack(source: object, *, device: Device | str | None = None, copy: bool | None = None) -> Array:
    """Makes an array of anything that speaks DLPack: torch, jax, CuPy on the host, NumPy, an lp.Array.

    Args:
        source: has ``__dlpack__`` and ``__dlpack_device__``, in host memory.
        device: where the array shall be; by default the device of an lp.Array, else the default device.
        copy: True always copies; False never does; None copies where memory cannot be shared (`from_host`).

    Raises:
        InvalidError: `source` does not speak DLPack or is not in host memory, or its memory is read-only and
            `copy` is False.
        FeatureNotSupportedError: `copy` is False, and the device cannot use the memory.
    """
    if isinstance(source, Array):
        return _of_array(source, device, copy)
    if not hasattr(source, "__dlpack__") or not hasattr(source, "__dlpack_device__"):
        raise InvalidError(
            f"lp.from_dlpack: expected an object with __dlpack__, found {source!r:.60} of type {type(source).__name__}"
        )
    host = host_of_dlpack(source, "lp.from_dlpack")
    if copy:
        return asarray(host, device=device)
    try:
        return from_host(host, device=device)
    except (FeatureNotSupportedError, InvalidError):
        if copy is False:
            raise
        return asarray(host, device=device)


def host_of_dlpack(source: object, what: str) -> np.ndarray[Any, Any]:
    """Returns the memory of something that speaks DLPack as a NumPy array, without a copy.

    Args:
        source: has ``__dlpack__`` and ``__dlpack_device__``.
        what: who asks, for messages.

    Raises:
        InvalidError: it is not in host memory, of a type that NumPy has not, or its maker refuses.
    """
    if isinstance(source, np.ndarray):
        return np.asarray(cast("np.ndarray[Any, Any]", source))
    from .dlpack_bf16 import BitsOfBfloat16

    speaker = BitsOfBfloat16(source)
    try:
        host = cast("np.ndarray[Any, Any]", np.from_dlpack(cast("Any", speaker)))
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidError(
            f"{what}: a {type(source).__name__} cannot be read as host memory: {error}; convert it, copy it to the "
            "host first, or share device memory with lp.import_fd"
        ) from error
    if speaker.is_bfloat16 and bfloat16_dtype() == np.uint16:
        raise InvalidError(
            f"{what}: bfloat16 needs the package ml_dtypes on the host: pip install lapilli[bf16]"
        )
    return host.view(bfloat16_dtype()) if speaker.is_bfloat16 else host


def _of_array(source: Array, device: Device | str | None, copy: bool | None) -> Array:
    target = source.device if device is None else resolve_device(device)
    if target is source.device and not copy:
        return source.share(source.shape)
    if copy is False:
        raise InvalidError(
            f"lp.from_dlpack: the array lies on device '{source.device.selector}', not on '{target.selector}', and "
            "copy=False; expected one of the two to be otherwise"
        )
    made = Array(target, source.shape, source.spelling)
    return made.copy_from(source)


def reshaped(array: Array, shape: tuple[int | Sequence[int], ...]) -> Array:
    """Returns the elements of `array` in another shape, in the same memory.

    Raises:
        InvalidError: there are not as many elements in all, or the array was released.
    """
    asked = shape[0] if len(shape) == 1 else shape
    parts = list(asked) if isinstance(asked, tuple | list) else [asked]
    if parts.count(-1) == 1:
        rest = parts.index(-1)
        parts[rest] = 1
        known = math.prod(normalise_shape(parts))
        parts[rest] = array.size // known if known else 0
    extents = normalise_shape(parts)
    if math.prod(extents) != array.size:
        raise InvalidError(
            f"reshape: an array of shape {array.shape} has {array.size} elements, found shape {asked!r}; expected one "
            "of as many"
        )
    return array.share(extents)


@user_facing
def from_host(source: np.ndarray[Any, Any], *, device: Device | str | None = None) -> Array:
    """Makes an array of host memory, without a copy: kernels read and write `source` where it is.

    `source` is kept alive.  Host code waits for the queue before it reads what a kernel wrote, and writes
    only while no kernel uses it.

    Args:
        source: a writable NumPy array in C order that begins at a page; `page_aligned` makes one.
        device: a device or selector; by default the default device.

    Raises:
        InvalidError: not such an array.
        FeatureNotSupportedError: the device does not use host memory (VK_EXT_external_memory_host).
    """
    from .external_memory import host_alignment, import_host

    if not isinstance(source, np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
        raise InvalidError(f"lp.from_host takes a NumPy array; found {type(source).__name__}")
    spelling = spelling_of(source.dtype)
    chosen = resolve_device(device)
    problems = {
        "is read-only": not source.flags.writeable,
        "is not in C order": not source.flags.c_contiguous,
        "has another byte order": not source.dtype.isnative,
        "is empty": not source.nbytes,
    }
    logical = chosen.logical
    alignment = host_alignment(logical)
    address = source.ctypes.data
    problems[f"begins {address % alignment} bytes behind a page of {alignment}"] = address % alignment != 0
    wrong = [text for text, applies in problems.items() if applies]
    if wrong:
        raise InvalidError(
            f"lp.from_host: the array {wrong[0]}; expected a writable array in C order that begins at a multiple of "
            f"{alignment} bytes, as lp.page_aligned makes; lp.asarray copies any array"
        )
    shape = normalise_shape(source.shape or 1)
    with logical.lock:
        buffer = import_host(logical, address, source.nbytes, source)
    return Array(chosen, shape, spelling, buffer)


@user_facing
def page_aligned(shape: int | tuple[int, ...], dtype: object = "f32") -> np.ndarray[Any, Any]:
    """Makes a NumPy array of zeros in pages of its own, which `from_host` takes.

    Args:
        shape: extents, slowest first.
        dtype: ``lp.f32`` or a NumPy dtype.

    Raises:
        InvalidError: shape or dtype that arrays cannot have.
    """
    import mmap

    extents, found = normalise_shape(shape), numpy_dtype(spelling_of(dtype))
    nbytes = math.prod(extents) * found.itemsize
    try:
        memory = mmap.mmap(-1, max(nbytes, 1))
    except (OSError, OverflowError, ValueError) as error:
        raise InvalidError(f"lp.page_aligned: no memory for {nbytes:,} bytes: {error}") from error
    flat = np.frombuffer(memory, np.uint8)[:nbytes].view(found.base)
    return flat.reshape((*extents, *found.shape))


def export(array: Array) -> int:
    """Returns a file descriptor of an array's memory, moving the array first where needed; see `Array.export_fd`."""
    from .external_memory import export_fd

    logical = array.device.logical
    buffer = array.buffer
    if buffer.is_borrowed:
        raise InvalidError(
            "a.export_fd: the array's memory is the host's or the application's, and moving it would part the two; "
            "export a copy, lp.asarray(a.numpy())"
        )
    # VUID-VkMemoryGetFdInfoKHR-handleType-00671; lavapipe gives -1 and says that all is well.
    if buffer.is_imported:
        raise InvalidError(
            "a.export_fd: the array's memory was imported, and only its exporter can export it; hand on a duplicate of "
            "the file descriptor, os.dup(fd) before lp.import_fd, or export a copy, lp.asarray(a.numpy())"
        )
    if not buffer.allocation_bytes:
        buffer = _move(array)
    wait_for_uses(logical, buffer, writes_only=True)
    with logical.lock:
        logical.require_usable()
        return export_fd(logical, buffer)


def _move(array: Array) -> Buffer:
    """Moves an array to memory that can be exported, which is returned.

    Launches and copies of other threads write the old memory before, and are in the copy, or the new one.
    """
    from .external_memory import allocate_exportable
    from .staging import record_copy

    queue, logical = array.device.default_queue, array.device.logical
    logical.require_uninterrupted("a.export_fd")
    with logical.lock:
        buffer = array.buffer
        if buffer.allocation_bytes:  # another thread was faster
            return buffer
        moved = allocate_exportable(logical, array.nbytes)
        if array.nbytes:
            queue.flush()  # not with the copy in it, see `transfer._write`
            record_copy(
                queue, logical, buffer, moved, 0, 0, array.nbytes, "copy", lambda: array.replace_buffer(moved)
            )
        else:
            array.replace_buffer(moved)
        logical.forget_launches()
        queue.flush()
        return moved


@user_facing
def import_fd(
    fd: int,
    shape: int | tuple[int, ...],
    dtype: object = "f32",
    *,
    device: Device | str | None = None,
) -> Array:
    """Makes an array of memory that `Array.export_fd` exported, in this process or another.

    Both see one memory; who writes and who reads is theirs to order.

    Args:
        fd: a file descriptor; belongs to the driver afterwards, and stays open where this raises.
        shape: of the exported array.
        dtype: of the exported array.
        device: of the same driver, and the same hardware, as the exporter's; by default the default device.

    Raises:
        InvalidError: no open file descriptor, too little memory behind it, or a shape or dtype that cannot be.
        FeatureNotSupportedError: the device imports no memory.
        RuntimeFailure: the driver does not take it.
    """
    from .external_memory import import_fd as import_memory

    extents, spelling = normalise_shape(shape), spelling_of(dtype)
    try:
        number = operator.index(fd)
    except TypeError as error:
        raise InvalidError(f"lp.import_fd takes a file descriptor; found {fd!r:.40}") from error
    if number < 0:
        raise InvalidError(f"lp.import_fd takes an open file descriptor; found {number}")
    chosen = resolve_device(device)
    nbytes = math.prod(extents) * numpy_dtype(spelling).itemsize
    logical = chosen.logical
    with logical.lock:
        buffer = import_memory(logical, number, nbytes)
    return Array(chosen, extents, spelling, buffer)
