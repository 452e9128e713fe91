"""Buffers: VkBuffer as lp.Array."""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex, cast

from ...ir.errors import InvalidError
from ..array import Array
from ..buffer import Buffer
from ..bundle_errors import ConstraintError, type_name
from ..context import Context
from ..device import Device
from ..dtypes import numpy_dtype, spelling_of
from ..event import Event
from ..headers import ffi
from ..logical_device import LogicalDevice
from .handle_refs import given_out, share
from .natives import Native, handle, native_int, require_own
from .queues import require_context


def native_array(array: Array) -> list[Native]:
    """Returns the VkBuffer of each device that has one; launches that are recorded on it are submitted."""
    buffer = array.buffer
    if buffer.queue is not None:
        buffer.queue.submit_up_to(buffer.last_use)
    return [given_out("VkBuffer", buffer.raw, array, buffer, array.device.logical)]


def make_buffer(
    vk_buffer: object,
    ctx: Context,
    *,
    dtype: object,
    size: int,
    offset: int = 0,
    available_event: Event | None = None,
    device: Device | None = None,
) -> Array:
    """Returns a one-dimensional array of a VkBuffer, which stays the application's.

    Kernels use the memory where it is.  The buffer needs STORAGE_BUFFER usage, and TRANSFER_SRC and TRANSFER_DST for
    reading and writing it from the host.

    Args:
        vk_buffer: of the context's VkDevice, bound to memory.
        ctx: a context; of several devices, `device` says which.
        dtype: element type.
        size: elements.
        offset: bytes from the start of the buffer; a multiple of the device's minStorageBufferOffsetAlignment.
        available_event: the array is used only after it.
        device: of `ctx`.

    Raises:
        InvalidError: no handle, one of another VkDevice, a size or offset that cannot be or leads behind the buffer's
            memory, or a device that is not the context's.
        TypeError: more than one dimension, or an argument of the wrong kind.
    """
    what = "make_buffer"
    require_context(what, ctx)
    number = native_int(what, vk_buffer, "VkBuffer")
    chosen = chosen_device(what, ctx, device)
    require_own(what, vk_buffer, chosen)
    spelling = spelling_of(dtype)
    count, start = _size(what, size), _offset(what, offset, chosen)
    if available_event is not None and not isinstance(available_event, Event):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConstraintError(
            f"{what}(available_event=…) takes an lp.Event, found {type_name(available_event)}"
        )
    logical = chosen.logical
    logical.require_usable()
    raw, nbytes = handle("VkBuffer", number), count * numpy_dtype(spelling).itemsize
    _require_room(what, logical, raw, start + nbytes)
    with logical.lock:
        buffer = Buffer(raw, nbytes, logical.memory.next_serial(), 0)
        logical.host_reads = True  # the application may have mapped it
    buffer.offset_bytes, buffer.is_borrowed = start, True
    buffer.lender = vk_buffer
    if available_event is not None:
        if available_event.timeline.device is chosen:
            buffer.queue = available_event.timeline
            buffer.last_use = buffer.last_write = available_event.value
        else:
            available_event.wait()
    array = Array(chosen, (count,), spelling, buffer)
    share("VkBuffer", number, array)
    return array


def chosen_device(what: str, ctx: Context, device: Device | None) -> Device:
    """Returns the device of a context that ``device=`` means; InvalidError where it means none."""
    if device is None:
        first, *others = ctx.devices
        if others:
            raise InvalidError(f"{what}: the context has {len(ctx.devices)} devices; say which with device=")
        return first
    if device not in ctx.devices:
        raise InvalidError(f"{what}: device '{device.selector}' is none of the context's")
    return device


def _require_room(what: str, logical: LogicalDevice, raw: Any, end: int) -> None:
    """Refuses what ends behind the memory of a buffer, which Vulkan tells; of the buffer itself, it tells no size."""
    needs = ffi.new("VkMemoryRequirements*")
    logical.visit(lambda: logical.vk.vkGetBufferMemoryRequirements(logical.raw, raw, needs))
    if end > needs.size:
        raise InvalidError(
            f"{what}(size=…): the array would end at byte {end} of a VkBuffer whose memory has {needs.size} bytes"
        )


def _size(what: str, size: object) -> int:
    if isinstance(size, tuple | list):
        extents = list(cast("tuple[object, ...]", size))
        if len(extents) != 1:
            raise ConstraintError(
                f"{what}: native buffers have one dimension; expected size=, the number of elements, found {size!r}"
            )
        size = extents[0]
    try:
        if isinstance(size, bool):
            raise TypeError
        count = operator.index(cast("SupportsIndex", size))
    except TypeError as error:
        raise ConstraintError(f"{what}(size=…) takes the number of elements, found {size!r:.60}") from error
    if not 0 < count < 1 << 40:
        raise InvalidError(f"{what}(size=…): expected 1 or more elements, found {count}")
    return count


def _offset(what: str, offset: object, device: Device) -> int:
    try:
        start = operator.index(cast("SupportsIndex", offset))
    except TypeError as error:
        raise ConstraintError(f"{what}(offset=…) takes bytes, found {offset!r:.60}") from error
    alignment = device.physical.limits.min_storage_buffer_offset_alignment
    if start < 0 or start % alignment or start >= 1 << 63:
        raise InvalidError(
            f"{what}(offset=…): expected a multiple of {alignment} bytes (minStorageBufferOffsetAlignment), "
            f"found {start}"
        )
    return start
