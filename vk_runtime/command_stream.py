"""CommandStream: what a queue records, and in which order; the lower half of `queue.Queue`.

Commands are recorded into an open command buffer and submitted together when somebody waits, reads an array
back or polls an event, or when `SUBMIT_AFTER` of them are pending: a submission costs ten times a recording.
`flusher` submits them where nothing of that happens soon.
Commands of one queue run in any order, except where they touch the same memory: a barrier goes between.

A barrier splits the commands of a queue into *epochs*.  Each buffer remembers the epoch in which it was
last read and written, so a hazard is one comparison.  A buffer that another queue used last is handed over:
that queue's work is submitted, and this queue's next submission waits for it on the device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from . import profile
from .submitted_commands import MAX_BUSY, SubmittedCommands, is_from_outside

if TYPE_CHECKING:
    from .barriers import Barriers
    from .buffer import Buffer
    from .command_buffer import CommandBuffer
    from .device import Device
    from .event import Event
    from .graph_commands import Batch
    from .timeline import Timeline
    from .tracked import Tracked

SUBMIT_AFTER = 64
"""Launches in one command buffer: enough to make a submission's cost small beside them, few enough that
the device does not idle long before the first."""


class CommandStream(SubmittedCommands):
    """Command buffers of one device in the order of one timeline semaphore.

    Args:
        device: where they run.
        is_in_order: commands run one after the other.
        is_profiling: every command is timed; commands then run one after the other, too.
        family: of the VkQueue; None: the one that computes.
        barriers: that the family can record; None: those of queues that compute.
    """

    def __init__(
        self,
        device: Device,
        *,
        is_in_order: bool = False,
        is_profiling: bool = False,
        family: int | None = None,
        barriers: Barriers | None = None,
    ) -> None:
        logical = device.logical
        self.is_profiling = is_profiling
        self.is_in_order = is_in_order
        self._is_serial = is_profiling or is_in_order
        """Whether its commands run one after the other; also while a profile times them."""
        self.submit_after = SUBMIT_AFTER
        """Commands that make the open command buffer be submitted."""
        self._epoch = 0
        barriers = barriers or logical.barriers
        self._record_barrier, self._between = barriers.record, barriers.between
        super().__init__(device, logical.physical.queue_family_index if family is None else family, barriers)

    @property
    def is_timed(self) -> bool:
        """Whether a command that is recorded now is timed."""
        return self.is_profiling or bool(profile.active)

    def open(self) -> CommandBuffer:
        """Returns the command buffer that is being recorded, beginning one where there is none."""
        if self._logical.half_way is not None:
            self._logical.require_whole()
        recording = self.recording
        if recording is not None:
            return recording
        self._make_room()
        is_timed, logical = self.is_timed, self._logical
        command_buffer: CommandBuffer | None = None
        try:
            logical.half_way = self
            if self.recording is not None:  # a finaliser has begun one just before
                return self.recording
            if not self._free:
                self._add_command_buffer()
            for command_buffer in iter(self._free.pop, None):  # noqa: B007 - noted as it is taken: Ctrl-C may come
                break
            assert command_buffer is not None
            self._is_serial = is_timed or self.is_in_order
            if not logical.flusher.is_awake:
                logical.flusher.wake()
            command_buffer.begin(timed_commands=SUBMIT_AFTER if is_timed else 0)
            command_buffer.value = self._submitted + 1
            logical.busy.add(self)
            self.known, self.latest = {}, None
            self.recording = command_buffer
        except BaseException:
            if command_buffer is not None and self.recording is not command_buffer:
                self._free.append(command_buffer)
            raise
        finally:
            logical.half_way = None
        return command_buffer

    def record(self, encode: Callable[[CommandBuffer], object]) -> int:
        """Has a command recorded into the open command buffer, and counts it; returns its timeline value.

        What Python runs in between leaves the command buffer alone.

        Args:
            encode: records the command.
        """
        logical = self._logical
        logical.require_whole()
        try:
            command_buffer, _ = self.begin_command()
            encode(command_buffer)
        finally:
            logical.half_way = None
        value = command_buffer.value
        self.note_launch(command_buffer)
        return value

    def begin_command(self, block_bytes: int = 0) -> tuple[CommandBuffer, tuple[Buffer, int] | None]:
        """Returns the open command buffer, and memory of it for an argument block of some size, None for 0 bytes.

        Sets `LogicalDevice.half_way`, which the caller resets, also after an exception: from here on what interrupts
        this thread neither records nor submits it.
        """
        logical = self._logical
        while True:
            place = self.argument_block(block_bytes) if block_bytes else None
            command_buffer = self.recording
            if command_buffer is None or logical.half_way is not None:
                command_buffer = self.open()
            logical.half_way = self
            # A finaliser may have submitted it just before.
            is_open = self.recording is command_buffer
            if is_open and (place is None or command_buffer.has_argument_block(place[0])):
                return command_buffer, place
            logical.half_way = None

    def order(self, uses: Sequence[tuple[Tracked, bool]], value: int) -> None:
        """Puts a barrier before the next command where it needs one, and notes what the command uses.

        Args:
            uses: buffers, each with whether the command writes it.
            value: timeline value of the open command buffer.
        """
        self.latest = None
        epoch = self._epoch
        is_hazard = self._is_serial
        for buffer, writes in uses:
            if buffer.queue is not self:
                if buffer.queue is None:  # nothing has used it
                    buffer.queue = self
                else:
                    self._take_over(buffer, value)
            elif buffer.write_epoch == epoch or (writes and buffer.read_epoch == epoch):
                is_hazard = True
        if is_hazard:
            epoch = self.barrier()
        for buffer, writes in uses:
            buffer.last_use = value
            if writes:
                buffer.write_epoch = epoch
                buffer.last_write = value
            else:
                buffer.read_epoch = epoch

    def barrier(self) -> int:
        """Records a barrier between everything before and everything after; returns the new epoch."""
        self.latest = None  # its arrays are marked with the old epoch
        command_buffer = self.recording or self.open()
        self._record_barrier(command_buffer.raw, *self._between)
        self._epoch += 1
        return self._epoch

    def _take_over(self, buffer: Tracked, value: int) -> None:
        """Makes this queue the one that orders the uses of `buffer`, from the submission of `value` on."""
        other = buffer.queue
        if isinstance(other, CommandStream):
            other.latest = None
        if other is not None and buffer.last_use:
            self.wait_on_device(other, buffer.last_use)
        buffer.queue = self
        buffer.read_epoch = buffer.write_epoch = -1
        # Our submission runs after the other queue's writes: who waits for it has waited for them.
        buffer.last_write = value if buffer.last_write else 0
        buffer.last_use = 0

    def wait_on_device(self, other: Timeline, value: int) -> None:
        """Makes what is recorded from here on wait for a timeline, or for earlier commands of this queue."""
        if other is self:
            self.barrier()
            return
        if other.is_closed:  # closing it has waited for all its work
            return
        other.submit_up_to(value)
        self._waits[other] = max(value, self._waits.get(other, 0))

    def wait_for_other_devices(self, events: Sequence[Event]) -> None:
        """Waits on the host for the events that no command of this device can wait for, before anything is recorded.

        Raises:
            InvalidError: one stands for a command of a graph.
        """
        for event in events:
            if event.is_recorded or event.timeline.device is not self._device:
                event.wait()  # raises for an event of a graph

    def wait_for_own_device(self, events: Sequence[Event]) -> None:
        """Makes what is recorded from here on wait for the other events."""
        for event in events:
            if event.timeline.device is self._device:
                self.wait_on_device(event.timeline, event.value)

    def argument_block(self, nbytes: int) -> tuple[Buffer, int]:
        """Returns memory for an argument block of the command buffer that is open after this call."""
        while True:
            command_buffer = self.open()
            block = command_buffer.argument_block(nbytes)
            # Memory that ran out may have made the allocator wait, and so submit the command buffer.
            if command_buffer is self.recording:
                return block

    def note_launch(self, command_buffer: CommandBuffer) -> None:
        """Counts a command, and submits where enough are pending."""
        command_buffer.launch_count += 1
        if command_buffer.launch_count >= self.submit_after:
            self.flush()

    def submit_batch(self, batch: Batch, used: Sequence[Tracked], writes: Sequence[bool]) -> bool:
        """Submits command buffers that are recorded already, behind everything that this queue has recorded.

        Call it with the device's lock held.

        Args:
            batch: begins with a barrier, and ends with one for the host where that reads something.
            used: every buffer that it touches.
            writes: whether it writes each of them.

        Returns:
            Whether it did: not where `Batch.may_follow` says no.

        Raises:
            DeviceLostError: the driver lost the device, or does not take the submission.
        """
        logical = self._logical
        if logical.is_unusable:
            logical.require_usable()
        if logical.half_way is not None:
            logical.require_whole()
        busy = logical.busy
        interrupt: BaseException | None = None
        try:
            while logical.half_way is None:
                if self.recording is not None:
                    self.flush()
                if self.in_flight or self.is_closed or self.is_closing or len(busy) >= MAX_BUSY:
                    self._make_room()
                # A finaliser may have recorded something just before.
                logical.half_way = batch if self.recording is None else None
            if batch.may_follow is not None and not batch.may_follow():
                return False
            batch.submit_result = None
            batch.value = value = self._submitted + 1
            busy.add(self)
            self._epoch = epoch = self._epoch + 1
            is_noted = False
            while not is_noted:
                try:
                    if self._submitted < value:
                        if batch.begin is not None:
                            batch.begin(value)
                        for buffer in used:
                            if buffer.queue is not self:
                                self._take_over(buffer, value)
                        self._hand_over(batch)
                    # While the device is at work; whoever comes in between is refused: `transfer.wait_for_uses`.
                    # A graph may touch thousands: `zip` makes no pair for each.  A keyword costs more than an array.
                    for buffer, is_written in zip(used, writes):  # noqa: B905
                        buffer.last_use = value
                        if is_written:
                            buffer.write_epoch, buffer.last_write = epoch, value
                        else:
                            buffer.read_epoch = epoch
                    is_noted = True
                except BaseException as error:  # nothing may be half submitted: go on first
                    # What another queue has lost, with the device, would be waited for without end.
                    if logical.is_unusable or not is_from_outside(error, interrupt):
                        raise
                    interrupt = error
        finally:
            logical.half_way = None
        if interrupt is not None:
            raise interrupt
        return True
