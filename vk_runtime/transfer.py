"""Copies between the host and a buffer: through its mapping where it has one, else through staging memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from . import graph_recording, profile
from .buffer import Buffer
from .command_buffer import CommandBuffer
from .event import Event
from .graph_commands import Batch
from .graph_recording import refuse
from .logical_device import LogicalDevice
from .queue import Queue
from .tracked import Tracked

if TYPE_CHECKING:
    from .array import Array

_T = TypeVar("_T")

LARGEST_KEPT = 1 << 20
"""Bytes of the largest download that `small_copies` keeps."""


def mapped(buffer: Buffer, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Returns the beginning of mapped memory as an array, valid while `buffer` and its device live."""
    nbytes = math.prod(shape) * dtype.itemsize
    return np.frombuffer(buffer.host_bytes(nbytes), dtype).reshape(shape)


def wait_for_uses(device: LogicalDevice, buffer: Tracked, *, writes_only: bool) -> None:
    """Waits until no command uses `buffer`, or none writes it; for kernels that check or print either way."""
    with device.lock:
        if isinstance(device.half_way, Batch):  # what it uses is noted behind its submission
            device.require_whole()
        queue = buffer.queue
        waits_for_all = not writes_only or (queue is not None and queue.has_reports)
        value = buffer.last_use if waits_for_all else buffer.last_write
    if queue is not None and value:
        queue.wait_for(value)
    device.require_usable()


def upload(queue: Queue, device: LogicalDevice, buffer: Buffer, source: np.ndarray[Any, Any]) -> Event | None:
    """Copies `source` into `buffer`, in C order.

    Args:
        queue: records the copies where memory is staged; they may still run on return, in order with later
            commands that use `buffer`.
        device: that of `buffer`.
        buffer: as large as `source` at least.
        source: any strides, the dtype of the array.

    Returns:
        The copy's event where it runs beside the queue, else None.
    """
    refuse("a copy from host memory")
    if not source.nbytes:
        return None
    if buffer.host_address:
        wait_for_uses(device, buffer, writes_only=False)
        with profile.span("copy", "upload", device=queue.device.selector, nbytes=source.nbytes):
            device.visit(lambda: np.copyto(mapped(buffer, source.dtype, source.shape), source))
        return None
    from .small_copies import can_update, record_update
    from .staging import stream_for, upload_pieces
    from .transfer_stream import TransferEvent, TransferStream

    flat = np.ascontiguousarray(source).reshape(-1).view(np.uint8)
    stream = stream_for(queue, device, buffer, flat.size)
    if not isinstance(stream, TransferStream):
        if can_update(buffer, flat.size):
            record_update(queue, device, buffer, flat)
        else:
            upload_pieces(stream, device, buffer, flat)
        return None
    queue.flush()  # what was launched before runs meanwhile
    value = upload_pieces(stream, device, buffer, flat)
    queue.transfers = stream, value
    return TransferEvent(queue, stream, value)


def download(queue: Queue, device: LogicalDevice, buffer: Buffer, out: np.ndarray[Any, Any]) -> None:
    """Copies `buffer` into `out`, any strides and byte order, and waits for what writes it first."""
    refuse("reading an array on the host")
    if not out.nbytes:
        return
    native = out.dtype if out.dtype.isnative else out.dtype.newbyteorder("=")
    if buffer.host_address:
        wait_for_uses(device, buffer, writes_only=True)
        with profile.span("copy", "download", device=queue.device.selector, nbytes=out.nbytes):
            device.visit(lambda: np.copyto(out, mapped(buffer, native, out.shape)))
        return
    is_direct = native is out.dtype and out.flags.c_contiguous
    target = out if is_direct else np.empty(out.shape, native)
    flat = target.reshape(-1).view(np.uint8)
    if flat.size <= LARGEST_KEPT and not queue.is_timed:
        if buffer.queue is not queue:
            wait_for_uses(device, buffer, writes_only=True)
        if queue.downloads.download(queue, buffer, flat):
            if target is not out:
                np.copyto(out, target)
            return
    from .staging import download_pieces, stream_for

    stream = stream_for(queue, device, buffer, flat.size)
    if buffer.queue is not stream or stream is not queue:
        # The copy would wait on the device, but what the other queue's kernels report is for whoever reads.
        wait_for_uses(device, buffer, writes_only=True)
    download_pieces(stream, device, buffer, flat)
    if target is not out:
        np.copyto(out, target)


def upload_array(queue: Queue, target: Array, source: np.ndarray[Any, Any]) -> Event | None:
    """Does what `upload` does, with the memory that an array has in the end."""
    return _write(target, lambda buffer: upload(queue, queue.device.logical, buffer, source))


def _write(target: Array, write: Callable[[Buffer], _T]) -> _T:
    """Has the memory of an array written, once more where another thread moves the array meanwhile.

    `Array.export_fd` moves it before the copy of its contents is submitted, so what is written to memory that is
    still the array's afterwards is a part of that copy.
    """
    while True:
        buffer = target.buffer
        result = write(buffer)
        if not target.has_moved_from(buffer):
            return result


def fill(queue: Queue, target: Array, pattern: np.ndarray[Any, Any]) -> None:
    """Sets the elements of `target` to `pattern`, an array of one element."""
    if not target.size:
        _ = target.buffer  # raises where it was released
    elif graph_recording.active and (graph := graph_recording.recorder()) is not None:
        graph.add_fill(queue, target, pattern)
    else:
        _write(target, lambda buffer: _fill(queue, buffer, target.size, pattern))


def _fill(queue: Queue, buffer: Buffer, count: int, pattern: np.ndarray[Any, Any]) -> None:
    device = queue.device.logical
    if buffer.host_address:
        wait_for_uses(device, buffer, writes_only=False)
        nbytes = count * pattern.itemsize
        with profile.span("copy", "fill", device=queue.device.selector, nbytes=nbytes):
            device.visit(lambda: np.copyto(mapped(buffer, pattern.dtype, (count,)), pattern))
        return
    if pattern.itemsize not in (1, 2, 4, 8):
        upload(queue, device, buffer, np.broadcast_to(pattern.reshape(1), (count,)))
        return
    repeats = 4 // pattern.itemsize
    word = np.repeat(pattern.reshape(1), repeats) if repeats else pattern.reshape(1)
    words = np.frombuffer(word.tobytes(), np.uint32)
    is_repeated = len(words) == 1 or words[0] == words[1]
    if is_repeated and buffer.takes_words(count * pattern.itemsize):

        def encode(command_buffer: CommandBuffer) -> None:
            queue.order(((buffer, True),), command_buffer.value)
            command_buffer.keep.append(buffer)  # before the command: Ctrl-C may come in between
            size = (count * pattern.itemsize + 3) & ~3
            if command_buffer.is_timed:
                command = profile.command("copy", "fill", queue, command_buffer.value, size)
                command_buffer.begin_timing(None, command)
            device.vk.vkCmdFillBuffer(
                command_buffer.raw, buffer.raw, buffer.offset_bytes, size, int(words[0])
            )
            if command_buffer.is_timed:
                command_buffer.end_timing()

        with device.lock:
            queue.record(encode)
        return
    upload(queue, device, buffer, np.broadcast_to(pattern.reshape(1), (count,)))


def copy_array(queue: Queue, source: Array, target: Array) -> None:
    """Copies all elements between two arrays of one device, on the device."""
    from .staging import record_copy

    device = queue.device.logical
    with device.lock:  # nobody moves them meanwhile
        read, written = source.buffer, target.buffer
        if not target.nbytes:
            return
        if graph_recording.active and (graph := graph_recording.recorder()) is not None:
            graph.add_copy(queue, source, target)
        elif read is not written:  # else two views of the same elements
            record_copy(queue, device, read, written, 0, 0, target.nbytes, "copy")
