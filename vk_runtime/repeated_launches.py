"""Launches that come again and again, each waited for before the next: their command buffers stay recorded.

``kernel[n](x).wait()`` in a loop records the same few commands each time, which takes the host longer than submitting
them does.  Once a queue sees that pattern it keeps such a recording and submits it at once instead of lazily: the
device starts while Python is still on its way to the wait.

A recording is found again by its launch record, its arrays and the bytes of its argument block, so a launch with
anything else in it is recorded anew.  It keeps no array alive between two submissions.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .graph_commands import Batch, CommandPool

if TYPE_CHECKING:
    from .arguments import Uses
    from .launch_record import LaunchRecord
    from .logical_device import LogicalDevice

ENOUGH = 2
"""Submissions in a row that held one command and were waited for, before recordings are kept."""

PATIENCE = 8
"""How many more it takes after a launch that was not waited for: it cost a submission of its own."""

KEPT = 16
"""Recordings of a queue that are kept: a few kernels in turn, each with a few arrays."""


class RepeatedLaunches:
    """The kept recordings of one queue.  Use it with the device's lock held."""

    def __init__(self, device: LogicalDevice) -> None:
        self._device = device
        self._pool: CommandPool | None = None
        self._kept: OrderedDict[tuple[int, ...], _Recording] = OrderedDict()
        self._newest: _Recording | None = None
        """The last of `_kept`."""
        self._streak = 0
        self.is_expected = False
        """Whether the next launch is likely to be waited for alone."""

    def note_submission(self, command_count: int) -> None:
        """Notes that a command buffer has run that was recorded for once."""
        self._streak = self._streak + 1 if command_count == 1 else 0
        self.is_expected = self._streak >= ENOUGH

    def note_haste(self) -> None:
        """Notes a launch while the one before it still runs: the pattern is another."""
        self._streak, self.is_expected = -PATIENCE, False

    def find(self, record: LaunchRecord, args: Sequence[object], uses: Uses, block: bytes) -> Batch | None:
        """Returns what submits a launch that came before, ready for `CommandStream.submit_batch`; else notes it.

        Args:
            record: of the launch.
            args: checked.
            uses: the memory of its arrays.
            block: its packed argument block; empty where it is always the same.
        """
        kept = self._kept
        key = (record.serial, *[memory.serial for memory, _ in uses])
        found = kept.get(key)
        if found is None or found.block != block:
            kept[key] = self._newest = _Recording(block)
            kept.move_to_end(key)
            if len(kept) > KEPT:
                kept.popitem(last=False)
            return None
        if found is not self._newest:
            kept.move_to_end(key)
            self._newest = found
        batch = found.batch
        if batch is None:
            batch = found.batch = self._record(found, record, args)
        batch.keep = [found, record, uses]
        del batch.results[1:]
        return batch

    def _record(self, owner: _Recording, record: LaunchRecord, args: Sequence[object]) -> Batch:
        device, barriers = self._device, self._device.barriers
        device.require_usable()
        pool = self._pool
        if pool is None:
            pool = self._pool = CommandPool(device)
        command_buffer = pool.take()
        pool.return_with(owner, command_buffer)
        command_buffer.begin(is_reusable=True)
        try:
            # What ran before may have touched the same memory.
            barriers.record(command_buffer.raw, *barriers.between)
            record.encode(command_buffer, args, ())
            barriers.record(command_buffer.raw, *barriers.for_host)
        finally:
            # Also after an exception: a command buffer that is being recorded cannot be begun again.
            result = device.vk.vkEndCommandBuffer(command_buffer.raw)
        device.check(result, "vkEndCommandBuffer")
        owner.keep = [*command_buffer.keep]
        return Batch(command_buffer.submitted, 1, (), (record.kernel.name,))

    def clear(self) -> None:
        """Lets go of all; for the queue's end."""
        self._kept.clear()
        self._newest = None


class _Recording:
    """A launch that may come again; its command buffer is recorded when it does."""

    def __init__(self, block: bytes) -> None:
        self.block = block
        self.batch: Batch | None = None
        self.keep: list[object] = []
        """Pipeline and descriptor set of the commands."""
