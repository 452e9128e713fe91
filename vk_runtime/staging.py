"""Copies through staging memory, for arrays that the host does not see.

A copy goes in pieces through staging buffers, which `spare_buffers` keeps for the next copy: while the device copies
some pieces, threads of the host fill or empty others.  Each piece is submitted at once where there are several.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
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
    from .copy_threads import Copy
    from .logical_device import LogicalDevice
    from .queue import Queue

PIECE_BYTES = 8 << 20
"""Bytes of the largest staging buffer: long enough for the copy to hide the hand-over."""

LEAST_PIECE_BYTES = 2 << 20
"""Bytes of a piece of a copy that has several, at least."""

ENOUGH_PIECES = 4
"""Pieces of a short copy, at least, which has smaller ones."""

PIECES = 4
"""Pieces that the device has got at a time."""

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
        found = device.transfer_stream(queue.device)
    return found  # noqa: RET504 - as in `allocate_staging`


def upload_pieces(stream: CommandStream, device: LogicalDevice, buffer: Buffer, source: _Bytes) -> int:
    """Copies host memory into `buffer`; returns the timeline value of the last piece.

    The copies may still run on return; `source` is no longer needed.
    """
    piece_bytes = _piece_bytes(device, source.size)
    if source.size <= piece_bytes:
        staging = allocate_staging(device, source.size)
        _fill_piece(stream, staging, source)
        with device.lock:
            value = record_copy(stream, device, staging, buffer, 0, 0, source.size, "upload")
            if isinstance(stream, TransferStream):
                stream.flush()
        return value
    from .copy_threads import CopyThreads

    filling: deque[tuple[Copy, Buffer, int, int]] = deque()
    values: deque[int] = deque()

    def submit_first() -> None:
        filled, staging, start, nbytes = filling.popleft()
        filled.result()
        if len(values) == PIECES:
            stream.block_until(values.popleft())
        with device.lock:
            values.append(record_copy(stream, device, staging, buffer, 0, start, nbytes, "upload"))
            stream.flush()

    with CopyThreads() as threads:
        for start in range(0, source.size, piece_bytes):
            if len(filling) == threads.count:
                submit_first()
            piece = source[start : start + piece_bytes]
            staging = allocate_staging(device, piece.size)
            started = threads.start(partial(_fill_piece, stream, staging, piece))
            filling.append((started, staging, start, piece.size))
        while filling:
            submit_first()
    return values[-1]


def download_pieces(stream: CommandStream, device: LogicalDevice, buffer: Buffer, target: _Bytes) -> None:
    """Copies `buffer` into host memory and waits for it."""
    piece_bytes = _piece_bytes(device, target.size)
    if target.size <= piece_bytes:
        staging = allocate_staging(device, target.size)
        with device.lock:
            value = record_copy(stream, device, buffer, staging, 0, 0, target.size, "download")
        stream.wait_for(value)
        _take_piece(stream, staging, target)
        return
    from .copy_threads import CopyThreads

    waiting: deque[tuple[int, Buffer, _Bytes]] = deque()

    with CopyThreads() as threads:

        def take_first() -> None:
            value, staging, piece = waiting.popleft()
            stream.wait_for(value)
            threads.start(partial(_take_piece, stream, staging, piece))

        for start in range(0, target.size, piece_bytes):
            if len(waiting) == PIECES:
                take_first()
            piece = target[start : start + piece_bytes]
            staging = allocate_staging(device, piece.size)
            with device.lock:
                value = record_copy(stream, device, buffer, staging, start, 0, piece.size, "download")
                stream.flush()
            waiting.append((value, staging, piece))
        while waiting:
            take_first()


def _piece_bytes(device: LogicalDevice, nbytes: int) -> int:
    """Returns the bytes of the pieces of a copy."""
    part = max(nbytes // ENOUGH_PIECES, LEAST_PIECE_BYTES)
    return min(PIECE_BYTES, 1 << part.bit_length() - 1, _largest(device))


def _largest(device: LogicalDevice) -> int:
    """Returns the bytes that a staging buffer can have."""
    limits = device.physical.limits
    return min(limits.max_buffer_bytes, limits.max_memory_allocation_bytes)


def allocate_staging(device: LogicalDevice, nbytes: int) -> Buffer:
    """Returns a staging buffer: of few sizes, so that one that was used before fits."""
    room = max(1 << (nbytes - 1).bit_length(), LEAST_ROOM_BYTES)
    with device.lock:
        device.require_usable()
        made = device.memory.allocate(max(nbytes, min(room, _largest(device))), for_host=True)
    return made  # noqa: RET504 - Ctrl-C may come behind the call, where `return` has left the block already


def _fill_piece(stream: CommandStream, staging: Buffer, piece: _Bytes) -> None:
    device = stream.device
    with profile.span("copy", "to staging", device=device.selector, nbytes=piece.size):
        device.logical.visit(lambda: np.copyto(mapped(staging, piece.dtype, piece.shape), piece))


def _take_piece(stream: CommandStream, staging: Buffer, piece: _Bytes) -> None:
    device = stream.device
    with profile.span("copy", "from staging", device=device.selector, nbytes=piece.size):
        device.logical.visit(lambda: np.copyto(piece, mapped(staging, piece.dtype, piece.shape)))


def record_copy(
    stream: CommandStream,
    device: LogicalDevice,
    source: Buffer,
    target: Buffer,
    source_offset: int,
    target_offset: int,
    nbytes: int,
    name: str,
    then: Callable[[], object] | None = None,
) -> int:
    """Records a copy between two buffers, in order with what uses them; returns its timeline value.

    Call it with the device's lock held.  Profiles call it `name`.  `then` is called behind the command, before anything
    that interrupts this thread can record another.
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
        if then is not None:
            then()

    return stream.record(encode)
