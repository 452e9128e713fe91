"""Copies between the host and a buffer: through its mapping where it has one, else through staging memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import graph_recording, profile
from .graph_recording import refuse
from .headers import make
from .logical_device import LogicalDevice
from .memory import Buffer
from .queue import Queue
from .tracked import Tracked

STAGING_BYTES = 64 << 20
"""Largest staging buffer; larger copies go in pieces."""


def wait_for_uses(device: LogicalDevice, buffer: Tracked, *, writes_only: bool) -> None:
    """Waits until no command uses `buffer`, or none writes it."""
    with device.lock:
        queue = buffer.queue
        value = buffer.last_write if writes_only else buffer.last_use
    if queue is not None and value:
        queue.wait_for(value)
    device.require_usable()


def upload(queue: Queue, device: LogicalDevice, buffer: Buffer, source: np.ndarray[Any, Any]) -> None:
    """Copies `source` into `buffer`, in C order.

    Args:
        queue: records the copies where memory is staged; they may still run on return, in order with later
            commands that use `buffer`.
        device: that of `buffer`.
        buffer: as large as `source` at least.
        source: any strides, the dtype of the array.
    """
    refuse("a copy from host memory")
    if not source.nbytes:
        return
    if buffer.host_address:
        wait_for_uses(device, buffer, writes_only=False)
        mapped = np.frombuffer(buffer.host_bytes(source.nbytes), dtype=source.dtype)
        with profile.span("copy", "upload", device=queue.device.selector, nbytes=source.nbytes):
            np.copyto(mapped.reshape(source.shape), source)
        return
    flat = np.ascontiguousarray(source).reshape(-1).view(np.uint8)
    for start in range(0, flat.size, STAGING_BYTES):
        piece = flat[start : start + STAGING_BYTES]
        with device.lock:
            device.require_usable()
            staging = device.memory.allocate(piece.size, for_host=True)
            with profile.span("copy", "to staging", device=queue.device.selector, nbytes=piece.size):
                np.frombuffer(staging.host_bytes(piece.size), np.uint8)[:] = piece
            _record_copy(queue, device, staging, buffer, 0, start, piece.size, "upload")
        if flat.size > STAGING_BYTES:
            queue.wait()


def download(queue: Queue, device: LogicalDevice, buffer: Buffer, out: np.ndarray[Any, Any]) -> None:
    """Copies `buffer` into `out`, any strides and byte order, and waits for what writes it first."""
    refuse("reading an array on the host")
    if not out.nbytes:
        return
    native = out.dtype.newbyteorder("=")
    if buffer.host_address:
        wait_for_uses(device, buffer, writes_only=True)
        mapped = np.frombuffer(buffer.host_bytes(out.nbytes), dtype=native)
        with profile.span("copy", "download", device=queue.device.selector, nbytes=out.nbytes):
            np.copyto(out, mapped.reshape(out.shape))
        return
    if buffer.queue is not queue:
        # The copy would wait on the device, but what the other queue's kernels report is for whoever reads.
        wait_for_uses(device, buffer, writes_only=True)
    is_direct = out.flags.c_contiguous and out.dtype == native
    target = out if is_direct else np.empty(out.shape, native)
    flat = target.reshape(-1).view(np.uint8)
    for start in range(0, flat.size, STAGING_BYTES):
        piece = flat[start : start + STAGING_BYTES]
        with device.lock:
            device.require_usable()
            staging = device.memory.allocate(piece.size, for_host=True)
            _record_copy(queue, device, buffer, staging, start, 0, piece.size, "download")
            value = staging.last_write
        queue.wait_for(value)
        with profile.span("copy", "from staging", device=queue.device.selector, nbytes=piece.size):
            piece[:] = np.frombuffer(staging.host_bytes(piece.size), np.uint8)
    if target is not out:
        np.copyto(out, target)


def fill(
    queue: Queue, device: LogicalDevice, buffer: Buffer, pattern: np.ndarray[Any, Any], count: int
) -> None:
    """Sets the first `count` elements of `buffer` to `pattern`, an array of one element."""
    if not count:
        return
    if graph_recording.active and (graph := graph_recording.recorder()) is not None:
        graph.add_fill(queue, buffer, pattern, count)
        return
    if buffer.host_address:
        wait_for_uses(device, buffer, writes_only=False)
        nbytes = count * pattern.itemsize
        with profile.span("copy", "fill", device=queue.device.selector, nbytes=nbytes):
            np.frombuffer(buffer.host_bytes(nbytes), dtype=pattern.dtype)[:] = pattern
        return
    if pattern.itemsize not in (1, 2, 4, 8):
        upload(queue, device, buffer, np.broadcast_to(pattern.reshape(1), (count,)))
        return
    repeats = 4 // pattern.itemsize
    word = np.repeat(pattern.reshape(1), repeats) if repeats else pattern.reshape(1)
    words = np.frombuffer(word.tobytes(), np.uint32)
    is_repeated = len(words) == 1 or words[0] == words[1]
    # A fill is in whole words: behind the end of a borrowed buffer lies what is not ours.
    fits = not buffer.is_borrowed or (count * pattern.itemsize % 4 == 0 and buffer.offset_bytes % 4 == 0)
    if is_repeated and fits:
        with device.lock:
            command_buffer = queue.open()
            queue.order(((buffer, True),), command_buffer.value)
            size = (count * pattern.itemsize + 3) & ~3
            if command_buffer.is_timed:
                command = profile.command("copy", "fill", queue, command_buffer.value, size)
                command_buffer.begin_timing(None, command)
            device.vk.vkCmdFillBuffer(
                command_buffer.raw, buffer.raw, buffer.offset_bytes, size, int(words[0])
            )
            if command_buffer.is_timed:
                command_buffer.end_timing()
            command_buffer.keep.append(buffer)
            queue.note_launch(command_buffer)
        return
    upload(queue, device, buffer, np.broadcast_to(pattern.reshape(1), (count,)))


def _record_copy(
    queue: Queue,
    device: LogicalDevice,
    source: Buffer,
    target: Buffer,
    source_offset: int,
    target_offset: int,
    nbytes: int,
    name: str,
) -> None:
    command_buffer = queue.open()
    queue.order(((source, False), (target, True)), command_buffer.value)
    region = make(
        "VkBufferCopy",
        srcOffset=source.offset_bytes + source_offset,
        dstOffset=target.offset_bytes + target_offset,
        size=nbytes,
    )
    if command_buffer.is_timed:
        command_buffer.begin_timing(None, profile.command("copy", name, queue, command_buffer.value, nbytes))
    device.vk.vkCmdCopyBuffer(command_buffer.raw, source.raw, target.raw, 1, region)
    if command_buffer.is_timed:
        command_buffer.end_timing()
    command_buffer.keep.append((source, target))
    queue.note_launch(command_buffer)


def copy_buffer(queue: Queue, device: LogicalDevice, source: Buffer, target: Buffer, nbytes: int) -> None:
    """Copies between two buffers of one device, on the device."""
    if not nbytes:
        return
    if graph_recording.active and (graph := graph_recording.recorder()) is not None:
        graph.add_copy(queue, source, target, nbytes)
        return
    with device.lock:
        _record_copy(queue, device, source, target, 0, 0, nbytes, "copy")
