"""Copies through staging memory, for arrays that the host does not see.

A copy goes in pieces through a few staging buffers, which `spare_buffers` keeps for the next copy: while the device
copies one piece, the host fills or empties the next.  Each piece is submitted at once where there are several.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from . import profile
from .headers import make
from .transfer import mapped
from .transfer_stream import LEAST_BYTES, TransferStream

if TYPE_CHECKING:
    from .buffer import Buffer
    from .command_buffer import CommandBuffer
    from .command_stream import CommandStream
    from .logical_device import LogicalDevice
    from .queue import Queue

PIECE_BYTES = 8 << 20
"""Bytes of a staging buffer: long enough for the copy to hide the hand-over, and four share a block of memory."""

PIECES = 4
"""Staging buffers of one copy that are in use at a time."""

LEAST_ROOM_BYTES = 1 << 16
"""Bytes of the smallest staging buffer."""

_Bytes = np.ndarray[Any, np.dtype[np.uint8]]


def stream_for(queue: Queue, device: LogicalDevice, buffer: Buffer, nbytes: int) -> CommandStream:
    """Returns what a copy is recorded on: the device's queue for copies where it has one and the copy gains by it,
    else the queue that was asked.

    Copies of a queue that is in order or timed stay in it; so do those of memory that another family may not touch.
    """
    is_own = nbytes < LEAST_BYTES or queue.is_in_order or queue.is_timed or not buffer.is_concurrent
    if is_own or not device.has_transfer_queue:
        return queue
    with device.lock:
        return device.transfer_stream(queue.device)


def upload_pieces(stream: CommandStream, device: LogicalDevice, buffer: Buffer, source: _Bytes) -> int:
    """Copies host memory into `buffer`; returns the timeline value of the last piece.

    The copies may still run on return; `source` is no longer needed.
    """
    values: deque[int] = deque()
    selector, value = stream.device.selector, 0
    is_whole = source.size <= PIECE_BYTES and not isinstance(stream, TransferStream)
    for start in range(0, source.size, PIECE_BYTES):
        piece = source[start : start + PIECE_BYTES]
        if len(values) == PIECES:
            stream.block_until(values.popleft())
        with device.lock:
            device.require_usable()
            staging = device.memory.allocate(_room(device, piece.size), for_host=True)
        with profile.span("copy", "to staging", device=selector, nbytes=piece.size):
            device.visit(partial(_fill_piece, staging, piece))
        with device.lock:
            value = record_copy(stream, device, staging, buffer, 0, start, piece.size, "upload")
            if not is_whole:
                stream.flush()
        values.append(value)
    return value


def _fill_piece(staging: Buffer, piece: _Bytes) -> None:
    np.copyto(mapped(staging, piece.dtype, piece.shape), piece)


def download_pieces(stream: CommandStream, device: LogicalDevice, buffer: Buffer, target: _Bytes) -> None:
    """Copies `buffer` into host memory and waits for it."""
    waiting: deque[tuple[_Bytes, Buffer, int]] = deque()
    for start in range(0, target.size, PIECE_BYTES):
        if len(waiting) == PIECES:
            _take_piece(stream, *waiting.popleft())
        piece = target[start : start + PIECE_BYTES]
        with device.lock:
            device.require_usable()
            staging = device.memory.allocate(_room(device, piece.size), for_host=True)
            value = record_copy(stream, device, buffer, staging, start, 0, piece.size, "download")
            if target.size > PIECE_BYTES:
                stream.flush()
        waiting.append((piece, staging, value))
    while waiting:
        _take_piece(stream, *waiting.popleft())


def _room(device: LogicalDevice, nbytes: int) -> int:
    """Returns the size of the staging buffer of a piece: of few sizes, so that one that was used before fits."""
    room = max(1 << (nbytes - 1).bit_length(), LEAST_ROOM_BYTES)
    limits = device.physical.limits
    largest = min(limits.max_buffer_bytes, limits.max_memory_allocation_bytes)
    return max(nbytes, min(room, largest))


def _take_piece(stream: CommandStream, piece: _Bytes, staging: Buffer, value: int) -> None:
    stream.wait_for(value)
    span = profile.span("copy", "from staging", device=stream.device.selector, nbytes=piece.size)
    with span:
        stream.device.logical.visit(lambda: np.copyto(piece, mapped(staging, piece.dtype, piece.shape)))


def record_copy(
    stream: CommandStream,
    device: LogicalDevice,
    source: Buffer,
    target: Buffer,
    source_offset: int,
    target_offset: int,
    nbytes: int,
    name: str,
) -> int:
    """Records a copy between two buffers, in order with what uses them; returns its timeline value.

    Call it with the device's lock held.  Profiles call it `name`.
    """

    def encode(command_buffer: CommandBuffer) -> None:
        value = command_buffer.value
        uses = ((source, False), (target, True))
        stream.order(uses, value)
        command_buffer.keep.append(uses)  # before the command: Ctrl-C may come in between
        if target.host_address:
            command_buffer.is_read_by_host = True
        region = make(
            "VkBufferCopy",
            srcOffset=source.offset_bytes + source_offset,
            dstOffset=target.offset_bytes + target_offset,
            size=nbytes,
        )
        if command_buffer.is_timed:
            command_buffer.begin_timing(None, profile.command("copy", name, stream, value, nbytes))
        device.vk.vkCmdCopyBuffer(command_buffer.raw, source.raw, target.raw, 1, region)
        if command_buffer.is_timed:
            command_buffer.end_timing()

    return stream.record(encode)
