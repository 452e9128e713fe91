"""Small copies to and from arrays that the host does not see, with fewer steps than `staging` takes.

Up: the bytes travel in the command buffer.  Down: an array that is read again and again has its command buffer, and the
staging memory that this fills, kept, as `repeated_launches` keeps launches.  Where a kept launch writes it each time
before, the copy is submitted together with the launch, and the read finds it done.

An H200 takes 16 µs for a submission with a copy of 16 KiB and its wait; staging memory, a recording and what follows
took 60 more, and a second submission takes 15.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from . import profile
from .graph_commands import Batch, CommandPool
from .handle import living
from .headers import ffi, make
from .repeated_launches import KeptLaunch
from .staging import allocate_staging

if TYPE_CHECKING:
    from .buffer import Buffer
    from .command_buffer import CommandBuffer
    from .logical_device import LogicalDevice
    from .queue import Queue

LARGEST_UPDATE = 16 << 10
"""Bytes that a command buffer takes along at most; Vulkan allows 64 KiB."""

KEPT = 16
"""Downloads of a queue that are kept."""

_Bytes = np.ndarray[Any, np.dtype[np.uint8]]


def can_update(buffer: Buffer, nbytes: int) -> bool:
    """Whether `record_update` may copy that many bytes, as whole words."""
    return nbytes <= LARGEST_UPDATE and buffer.takes_words(nbytes)


def record_update(queue: Queue, device: LogicalDevice, buffer: Buffer, source: _Bytes) -> None:
    """Records a copy of host memory into the beginning of `buffer`; `source` is no longer needed then."""
    padding = -source.size % 4
    data = np.pad(source, (0, padding)) if padding else source

    def encode(command_buffer: CommandBuffer) -> None:
        queue.order(((buffer, True),), command_buffer.value)
        command_buffer.keep.append(buffer)  # before the command: Ctrl-C may come in between
        if command_buffer.is_timed:
            command = profile.command("copy", "upload", queue, command_buffer.value, source.size)
            command_buffer.begin_timing(None, command)
        memory = ffi.from_buffer(data)
        device.vk.vkCmdUpdateBuffer(command_buffer.raw, buffer.raw, buffer.offset_bytes, data.size, memory)
        if command_buffer.is_timed:
            command_buffer.end_timing()

    with device.lock:
        queue.record(encode)


class KeptDownloads:
    """The kept downloads of one queue.

    Args:
        device: its own.
    """

    def __init__(self, device: LogicalDevice) -> None:
        self._device = device
        self._pool: CommandPool | None = None
        self._kept: dict[int, KeptDownload] = {}
        """By the serial of the memory that they read, the latest at the end."""

    def download(self, queue: Queue, buffer: Buffer, target: _Bytes) -> bool:
        """Copies `buffer` into host memory and waits for it; returns False where that is not kept yet, or in use.

        Args:
            queue: its own; it does not hold it, so that queues go with their last reference.
            buffer: what its queue's kernels report is shown.
            target: its beginning.
        """
        device = self._device
        kept: KeptDownload | None = None
        try:
            with device.lock:
                device.require_usable()
                found = self._find(buffer, target.size)
                if found is None:
                    return False
                kept = found  # from here on it is this thread's
                kept.is_in_use = True
                is_latest = kept.value == buffer.last_write and buffer.queue is queue
                if not (kept.is_unread and is_latest) or device.has_shared_queues:
                    if not queue.poll(kept.value):  # nobody has read what it copied, or Ctrl-C came
                        return False
                    self._submit(queue, kept, buffer)
                kept.is_unread = False
                # Kernels that only read it may have something to tell, too, and follow the launch that it came with.
                value = buffer.last_use if queue.has_reports and buffer.queue is queue else kept.value
            queue.wait_for(value)
            visits = device.visits
            try:
                visits.append(None)  # as `LogicalDevice.visit`
                device.require_usable()
                np.copyto(target, kept.bytes)
            finally:
                visits.pop()
        finally:
            if kept is not None:
                kept.is_in_use = False
        return True

    def _find(self, buffer: Buffer, nbytes: int) -> KeptDownload | None:
        """Returns the recording of a download that came before, ready to be submitted; else notes it."""
        if not buffer.was_read:
            buffer.was_read = True
            return None
        kept, serial = self._kept, buffer.serial
        found = kept.pop(serial, None)
        if found is None or found.bytes.size != nbytes:
            found = self._record(buffer, nbytes)
        kept[serial] = found  # at the end
        if len(kept) > KEPT:
            kept.pop(living(kept)[0], None)  # arrays of other threads may go meanwhile
        return None if found.is_in_use else found

    def _submit(self, queue: Queue, kept: KeptDownload, buffer: Buffer) -> None:
        """Submits a download by itself; where a kept launch wrote the array, it is submitted with that from now on."""
        # Memory that others see may change unseen between the launch and the read.
        if buffer.queue is queue and not (buffer.is_shared or self._device.has_shared_queues):
            for launch in living(queue.known.values()):
                if isinstance(launch, KeptLaunch) and launch.value == buffer.last_write:
                    launch.follow_with(kept)
        queue.retire()  # Ctrl-C may have left it in flight, and whoever takes it from there clears what it keeps
        kept.keep = [buffer]
        queue.submit_batch(kept, (buffer,), (False,))

    def _record(self, buffer: Buffer, nbytes: int) -> KeptDownload:
        device, barriers = self._device, self._device.barriers
        if self._pool is None:
            pool = CommandPool(device)
            # A finaliser in between may have made one, whose command buffers go with it.
            self._pool = self._pool or pool
        pool = self._pool
        staging = allocate_staging(device, nbytes)
        command_buffer = pool.take()
        made = KeptDownload(command_buffer, staging, nbytes)
        pool.return_with(made, command_buffer)
        # It goes with the memory that it reads, whose serial another array may get.
        kept, serial = self._kept, buffer.serial
        made.source = weakref.ref(buffer, lambda _: kept.pop(serial, None))
        region = make("VkBufferCopy", srcOffset=buffer.offset_bytes, size=nbytes)
        source, copy = buffer.raw, device.vk.vkCmdCopyBuffer
        command_buffer.begin(is_reusable=True)
        # What ran before may have written it.
        barriers.record(command_buffer.raw, *barriers.between)
        device.undisturbed(
            lambda commands: copy(commands.raw, source, staging.raw, 1, region), command_buffer
        )
        barriers.record(command_buffer.raw, *barriers.for_host)
        device.check(command_buffer.end(), "vkEndCommandBuffer")
        return made


class KeptDownload(Batch):
    """A recorded download, to be submitted again and again, each time after the time before has ended.

    Args:
        command_buffer: is or will be recorded; `CommandPool.return_with` keeps it.
        staging: memory of the host that it fills.
        nbytes: of it.
    """

    def __init__(self, command_buffer: CommandBuffer, staging: Buffer, nbytes: int) -> None:
        super().__init__(command_buffer.submitted, 1, ())
        self._staging = staging
        self.bytes: _Bytes = np.frombuffer(staging.host_bytes(nbytes), np.uint8)
        """What it has filled; valid while the device lives."""
        self.is_in_use = False
        """Whether somebody submits it, waits for it or reads what it filled."""
        self.is_unread = False
        """Whether it was submitted behind a launch, and nobody has asked for the array since."""
        self.source: weakref.ref[Buffer] | None = None
        """What it reads."""
