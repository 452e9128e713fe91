"""Launches that come again and again, each waited for before the next: their command buffers stay recorded.

``kernel[n](x).wait()`` in a loop records the same few commands each time, which takes the host longer than submitting
them does.  Once a queue sees that pattern it keeps such a recording and submits it at once instead of lazily: the
device starts while Python is still on its way to the wait.

A recording is found again by its launch record, its arrays and the bytes of its argument block, so a launch with
anything else in it is recorded anew.  It keeps no array alive between two submissions.

Where the host reads what such a launch writes, each time, the copy that it reads is part of the submission: see
`small_copies`.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from . import graph_recording, profile, trace
from .event import Event
from .graph_commands import Batch, CommandPool
from .headers import ffi

if TYPE_CHECKING:
    from .arguments import Uses
    from .array import Array
    from .command_buffer import CommandBuffer
    from .launch_record import LaunchRecord
    from .logical_device import LogicalDevice
    from .queue import Queue
    from .reports import KernelReport, QueueReports
    from .small_copies import KeptDownload
    from .tracked import Tracked

ENOUGH = 2
"""Submissions in a row that held one command and were waited for, before recordings are kept."""

PATIENCE = 8
"""How many more it takes after a launch that was not waited for: it cost a submission of its own."""

KEPT = 16
"""Recordings of a queue that are kept: a few kernels in turn, each with a few arrays."""

_new_event: Any = Event.__new__


class RepeatedLaunches:
    """The kept recordings of one queue.  Use it with the device's lock held."""

    def __init__(self, device: LogicalDevice) -> None:
        self._device = device
        self._pool: CommandPool | None = None
        self._kept: OrderedDict[tuple[int, ...], KeptLaunch | bytes] = OrderedDict()
        """Of a launch that has come once, only the argument block."""
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

    def find(
        self, record: LaunchRecord, queue: Queue, args: Sequence[object], uses: Uses, block: bytes
    ) -> KeptLaunch | None:
        """Returns the recording of a launch that came before, ready to be submitted; else notes it.

        Args:
            record: of the launch.
            queue: whose recordings these are.
            args: checked.
            uses: the memory of its arrays.
            block: its packed argument block; empty where it is always the same.
        """
        kept = self._kept
        key = (record.serial, *[memory.serial for memory, _ in uses])
        found = kept.get(key)
        if found == block:
            found = kept[key] = self._record(record, queue, args, block)
        elif not isinstance(found, KeptLaunch) or found.block != block:
            kept[key] = block
            kept.move_to_end(key)
            if len(kept) > KEPT:
                kept.popitem(last=False)
            return None
        kept.move_to_end(key)
        return found

    def _record(self, record: LaunchRecord, queue: Queue, args: Sequence[object], block: bytes) -> KeptLaunch:
        device, barriers = self._device, self._device.barriers
        device.require_usable()
        report = record.report_of(queue, args)
        if self._pool is None:
            pool = CommandPool(device)
            # A finaliser in between may have made one, whose command buffers go with it.
            self._pool = self._pool or pool
        pool = self._pool
        command_buffer = pool.take()
        made = KeptLaunch(command_buffer, record, block)
        if report is not None:
            made.tell(queue.reports, report)
        pool.return_with(made, command_buffer)
        command_buffer.begin(is_reusable=True)
        reports = () if report is None else (report,)
        try:
            # What ran before may have touched the same memory.
            barriers.record(command_buffer.raw, *barriers.between)
            device.undisturbed(lambda commands: record.encode(commands, args, reports), command_buffer)
            if device.host_reads:
                barriers.record(command_buffer.raw, *barriers.for_host)
        finally:
            # Also after an exception: a command buffer that is being recorded cannot be begun again.
            result = command_buffer.end()
        device.check(result, "vkEndCommandBuffer")
        return made

    def clear(self) -> None:
        """Lets go of all; for the queue's end."""
        self._kept.clear()


def _note(reports: QueueReports, report: weakref.ref[KernelReport], value: int) -> None:
    found = report()
    assert found is not None, "whoever launches the kernel holds it"
    reports.note_repeated(found, value)


def _goes_on(reports: QueueReports, report: weakref.ref[KernelReport]) -> bool:
    found = report()
    return found is not None and reports.order.goes_on_with(found)


class KeptLaunch(Batch):
    """A recorded launch, to be submitted again and again, each time after the time before has ended.

    Args:
        command_buffer: is or will be recorded; `CommandPool.return_with` keeps it.
        record: of the launch.
        block: its packed argument block.
    """

    def __init__(self, command_buffer: CommandBuffer, record: LaunchRecord, block: bytes) -> None:
        super().__init__(command_buffer.submitted, 1, (), (record.kernel.name,))
        self.block = block
        self._record = weakref.ref(record)
        """A recording keeps no kernel alive."""
        self._count = -1
        """The number of arguments where they are known."""
        self._arrays: Sequence[tuple[int, weakref.ref[Array], int]] = ()
        """Position, array, serial of its memory."""
        self._writes: Sequence[bool] = ()
        """Whether the kernel writes each of them."""
        self._scalars: Sequence[tuple[int, object]] = ()
        self._alone = self.submitted
        self._download: weakref.ref[KeptDownload] | None = None
        """What is submitted with it."""
        self._doubts = 0
        """How many downloads of what it wrote are not taken for a pattern, since one was in vain."""
        self._is_underway = False
        """Whether `submit` is in the middle of it."""

    def tell(self, reports: QueueReports, report: KernelReport) -> None:
        """Has the queue's reports hear of each submission.

        Args:
            reports: of the queue where it was recorded.
            report: what the kernel writes.  It goes with the kernel, which a kept recording does not keep alive.
        """
        found = weakref.ref(report)
        self.begin = partial(_note, reports, found)
        if report.prints:
            self.may_follow = partial(_goes_on, reports, found)

    def follow_with(self, download: KeptDownload) -> None:
        """Has a download of what it writes submitted together with it, from the next time on.

        Call it with the device's lock held, where the host reads that right behind it.
        """
        if self._is_underway:  # a finaliser reads in the midst of the next launch
            return
        if self._doubts:
            self._doubts -= 1
        else:
            self._download = weakref.ref(download)
            self.submitted, self.count = (
                ffi.new("VkCommandBuffer[]", [self._alone[0], download.submitted[0]]),
                2,
            )

    def submit(self, queue: Queue, memory: Sequence[Tracked], writes: Sequence[bool]) -> bool:
        """Submits it once more, unless it or something else of the queue runs, or what it prints would come in another
        order; returns whether it did.

        Call it with the device's lock held.

        Args:
            queue: where it was recorded.
            memory: of its arrays.
            writes: whether the kernel writes each of them.
        """
        if self._is_underway or queue.in_flight:  # by a finaliser, or in the midst of us for a finaliser
            return False
        taken: KeptDownload | None = None
        try:
            self._is_underway = True
            if self._download is not None:
                download, completed = self._download(), queue.completed
                # No call from looking to taking: a finaliser in between could take it, too.
                if download is not None and not (
                    download.is_in_use or download.is_unread or download.value > completed
                ):
                    download.is_in_use, taken = True, download
                else:  # nobody has read what one copied
                    self._doubts = PATIENCE
                    self._download, self.submitted, self.count = None, self._alone, 1
            self.keep = [memory, taken]
            if not queue.submit_batch(self, memory, writes):
                self.keep = []
                return False
            if taken is not None:
                taken.value, taken.is_unread = self.value, True
        finally:
            self._is_underway = False
            if taken is not None:
                # Also after Ctrl-C, which may come behind the submission: before this value it may run.
                taken.value, taken.is_in_use = self.value, False
        return True

    def remember(self, args: Sequence[Any], uses: Uses) -> None:
        """Lets `launch` know arguments that it was recorded with.  Arrays are not kept alive.

        Args:
            args: `recorded_launch.are_fixed`.
            uses: the memory of the arrays among them.
        """
        positions = [i for i, arg in enumerate(args) if not isinstance(arg, bool | int | float)]
        self._count = -1  # if Ctrl-C comes in between, nothing is known
        self._arrays = [
            (i, weakref.ref(args[i]), memory.serial) for i, (memory, _) in zip(positions, uses, strict=True)
        ]
        self._writes = [writes for _, writes in uses]
        self._scalars = [(i, arg) for i, arg in enumerate(args) if i not in positions]
        self._count = len(args)

    def launch(self, queue: Queue, args: Sequence[Any], known: object) -> Event | None:
        """Submits the launch once more; see `RecordedLaunch.launch`."""
        if len(args) != self._count or graph_recording.active or profile.active:
            return None
        used: list[Tracked] = []
        for position, array, serial in self._arrays:
            arg: Any = array()
            if arg is None or arg is not args[position]:
                return None
            memory = arg._buffer
            if memory is None or memory.serial != serial:
                return None
            used.append(memory)
        for position, scalar in self._scalars:
            if args[position] is not scalar:
                return None
        record, is_locked = self._record(), False
        if record is None:
            return None
        try:
            for is_locked in record.locking:  # noqa: B007 - read in `finally`
                break
            if queue.known is not known or not self.submit(queue, used, self._writes):
                return None
            event = _new_event(Event)  # while the device is at work
            event.timeline, event.value, event.timing = queue, self.value, None
            if trace.active:
                record.note_launch()
        finally:
            if is_locked:
                record.lock.release()
        return event
