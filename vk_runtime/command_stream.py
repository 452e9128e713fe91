"""CommandStream: what a queue records, orders, submits and recycles; the lower half of `queue.Queue`.

Commands are recorded into an open command buffer and submitted together when somebody waits, reads an array
back or polls an event, or when `SUBMIT_AFTER` of them are pending: a submission costs ten times a recording.
Commands of one queue run in any order, except where they touch the same memory: a barrier goes between.

A barrier splits the commands of a queue into *epochs*.  Each buffer remembers the epoch in which it was
last read and written, so a hazard is one comparison.  A buffer that another queue used last is handed over:
that queue's work is submitted, and this queue's next submission waits for it on the device.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..ir.errors import Error, InvalidError
from . import profile
from .command_buffer import CommandBuffer
from .constants import VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT
from .handle import Handle
from .headers import ffi, make
from .repeated_launches import RepeatedLaunches
from .submitter import Submitter
from .timeline_semaphore import TimelineSemaphore

if TYPE_CHECKING:
    from .barriers import Barriers
    from .device import Device
    from .graph_commands import Batch
    from .launch_record import LaunchRecord
    from .memory import Buffer
    from .recorded_launch import RecordedLaunch
    from .repeated_launches import KeptLaunch
    from .timeline import Timeline
    from .tracked import Tracked
    from .watcher import Watcher

SUBMIT_AFTER = 64
"""Launches in one command buffer: enough to make a submission's cost small beside them, few enough that
the device does not idle long before the first."""

MAX_BUSY = 32
"""Queues of a device that may hold recorded work: one more makes all submit, so that queues that nobody waits
for run, and go, in the end."""

MAX_IN_FLIGHT = 64
"""Submissions that may wait for the device; more make the host wait, so that memory stays bounded."""


class CommandStream(Handle):
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
        self._device = device
        self._logical = logical
        self._lock = logical.lock
        self.is_profiling = is_profiling
        self.is_in_order = is_in_order
        self._is_serial = is_profiling or is_in_order
        """Whether its commands run one after the other; also while a profile times them."""
        self.submit_after = SUBMIT_AFTER
        """Commands that make the open command buffer be submitted."""
        self.recording: CommandBuffer | None = None
        """The open command buffer, of whoever holds the device's lock; `open` begins one."""
        self.latest: RecordedLaunch | None = None
        """The last command of the open command buffer, where it is a launch that may be repeated."""
        self.known: dict[LaunchRecord, RecordedLaunch | KeptLaunch] = {}
        """The last launch of each record since the open command buffer was begun; where none is open, the last one
        that was kept.  Another dictionary when that changes."""
        self.repeated = RepeatedLaunches(logical)
        """Launches that are waited for one at a time, again and again."""
        self.in_flight: deque[CommandBuffer | Batch] = deque()
        """What was submitted and is not known to have run."""
        self._free: list[CommandBuffer] = []
        self._submitted = 0
        self._epoch = 0
        self._waits: dict[Timeline, int] = {}
        self.is_closing = False
        """Whether somebody waits for its last work, to give it up then."""
        with self._lock:
            logical.require_usable()  # under the lock: nothing may be made on a VkDevice that is gone
            # Closing the queue leaves the semaphore: submissions of other queues may still wait for it.
            self._clock = TimelineSemaphore(logical)
            index = logical.physical.queue_family_index if family is None else family
            info = make(
                "VkCommandPoolCreateInfo",
                flags=VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                queueFamilyIndex=index,
            )
            # A queue with work in flight is in `LogicalDevice.busy` and so alive: nothing is pending where it goes.
            self._pool = self._make(logical, "CommandPool", info, "one queue more")
        barriers = barriers or logical.barriers
        self._submitter = Submitter(logical, self._clock, barriers)
        self._record_barrier, self._between = barriers.record, barriers.between
        self._watcher: Watcher | None = None

    @property
    def device(self) -> Device:
        """The device that it runs on."""
        return self._device

    @property
    def vk_queue(self) -> Any:
        """The VkQueue that it submits to; queues of a device mostly share one."""
        return self._submitter.vk_queue

    @vk_queue.setter
    def vk_queue(self, vk_queue: Any) -> None:
        self._submitter.vk_queue = vk_queue

    @property
    def semaphore(self) -> Any:
        """The VkSemaphore that counts up as its submissions end."""
        return self._clock.raw

    @property
    def is_timed(self) -> bool:
        """Whether a command that is recorded now is timed."""
        return self.is_profiling or bool(profile.active)

    @property
    def progress(self) -> int:
        """How many submissions have ended, as the driver says it now; may be asked without the lock, in a visit."""
        return self._clock.ask()

    def running(self) -> list[str]:
        """Returns the names of the kernels that are submitted and have not ended.  Call it with the lock held."""
        completed = self._clock.completed
        submitted = [item for item in self.in_flight if item.value > completed]
        return [name for item in submitted for name in item.kernel_names()]

    @abstractmethod
    def wait_for(self, value: int) -> None:
        """Waits until the timeline reaches `value`."""

    @abstractmethod
    def wait(self) -> None:
        """Submits what is recorded and waits for everything in it."""

    # ---- recording; the caller holds the device's lock ----

    def open(self) -> CommandBuffer:
        """Returns the command buffer that is being recorded, beginning one where there is none."""
        if self._logical.half_way is not None:
            self._logical.require_whole()
        recording = self.recording
        if recording is not None:
            return recording
        self._make_room()
        command_buffer = self._free.pop() if self._free else self._new_command_buffer()
        is_timed, logical = self.is_timed, self._logical
        try:
            logical.half_way = self
            if self.recording is not None:  # a finaliser has begun one just before
                self._free.append(command_buffer)
                return self.recording
            self._is_serial = is_timed or self.is_in_order
            command_buffer.begin(timed_commands=SUBMIT_AFTER if is_timed else 0)
            command_buffer.value = self._submitted + 1
            logical.busy.add(self)
            self.known, self.latest = {}, None
            self.recording = command_buffer
        except Error:
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
            command_buffer = self.open()
            logical.half_way = self
            # A finaliser may have submitted it just before.
            is_open = self.recording is command_buffer
            if is_open and (place is None or command_buffer.has_argument_block(place[0])):
                return command_buffer, place
            logical.half_way = None

    def require_open(self) -> None:
        """Raises InvalidError where the queue was closed, DeviceLostError where its device is gone."""
        self._logical.require_usable()
        if self.is_closed or self.is_closing:
            raise InvalidError("this queue was closed; make another with lp.Queue()")

    def _make_room(self) -> None:
        """Makes sure that one more submission may follow; waits where too many are in flight."""
        self.require_open()
        if self.in_flight:
            self.retire()
            if len(self.in_flight) >= MAX_IN_FLIGHT:
                self._clock.block_until(self.in_flight[0].value)
                self.retire()
        busy = self._logical.busy
        if self not in busy and len(busy) >= MAX_BUSY:
            self._logical.submit_everything()

    def _new_command_buffer(self) -> CommandBuffer:
        logical = self._logical
        info = make("VkCommandBufferAllocateInfo", commandPool=self._pool, commandBufferCount=1)
        out = ffi.new("VkCommandBuffer*")
        result = logical.vk.vkAllocateCommandBuffers(logical.raw, info, out)
        logical.check(result, "vkAllocateCommandBuffers")
        return CommandBuffer(logical, out[0])

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
        if other.is_closed:  # it waited for all its work
            return
        other.submit_up_to(value)
        self._waits[other] = max(value, self._waits.get(other, 0))

    def points(self, value: int) -> tuple[tuple[Any, int]]:
        """Returns the semaphore and value that say when `value` is reached."""
        return ((self._clock.raw, value),)

    @property
    def last_value(self) -> int:
        """The timeline value of the last command, submitted or not."""
        recording = self.recording
        return self._submitted if recording is None else recording.value

    def block_until(self, value: int) -> None:
        """Waits until the timeline reaches `value`, and shows nothing of what kernels reported."""
        if value > self._clock.completed:
            self.submit_up_to(value)
            self._clock.block_until(value)

    def submit_up_to(self, value: int) -> None:
        """Submits what is recorded towards `value`."""
        if value > self._submitted:
            self.flush()

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

    # ---- submission and retirement ----

    def flush(self) -> None:
        """Submits what is recorded, without waiting for it.

        Raises:
            DeviceLostError: the driver lost the device, or does not take the submission.
        """
        interrupt: KeyboardInterrupt | None = None
        with self._lock:
            logical = self._logical
            before = logical.half_way
            if before is self and self.recording is not None:
                logical.require_whole()
            try:
                logical.half_way = self
                while self.recording is not None:
                    try:
                        self._submit(self.recording)
                    except KeyboardInterrupt as error:  # nothing may be half submitted: go on first
                        interrupt = error
            finally:
                logical.half_way = before
        if interrupt is not None:
            raise interrupt

    def submit_batch(self, batch: Batch, used: Sequence[Tracked], writes: Sequence[bool]) -> None:
        """Submits command buffers that are recorded already, behind everything that this queue has recorded.

        Call it with the device's lock held.

        Args:
            batch: begins with a barrier, and ends with one for the host where that reads something.
            used: every buffer that it touches.
            writes: whether it writes each of them.

        Raises:
            DeviceLostError: the driver lost the device, or does not take the submission.
        """
        logical = self._logical
        if logical.is_unusable:
            logical.require_usable()
        if logical.half_way is not None:
            logical.require_whole()
        busy = logical.busy
        interrupt: KeyboardInterrupt | None = None
        try:
            while logical.half_way is None:
                if self.recording is not None:
                    self.flush()
                if self.in_flight or self.is_closed or self.is_closing or len(busy) >= MAX_BUSY:
                    self._make_room()
                # A finaliser may have recorded something just before.
                logical.half_way = self if self.recording is None else None
            batch.submit_result = None
            batch.value = value = self._submitted + 1
            while True:
                try:
                    if self._submitted < value:
                        for buffer in used:
                            if buffer.queue is not self:
                                self._take_over(buffer, value)
                        self._hand_over(batch)
                    # The rest while the device is at work.
                    busy.add(self)
                    self._epoch = epoch = self._epoch + 1
                    # A graph may touch thousands; `zip` makes no pair for each.
                    for buffer, is_written in zip(used, writes, strict=True):
                        buffer.last_use = value
                        if is_written:
                            buffer.write_epoch, buffer.last_write = epoch, value
                        else:
                            buffer.read_epoch = epoch
                    break
                except KeyboardInterrupt as error:  # nothing may be half submitted: go on first
                    interrupt = error
        finally:
            logical.half_way = None
        if interrupt is not None:
            raise interrupt

    def _submit(self, command_buffer: CommandBuffer) -> None:
        """Ends and submits the open command buffer.  Ctrl-C may stop it anywhere; a second call goes on there."""
        logical = self._logical
        logical.require_usable()
        if command_buffer.end_result is None:
            self._submitter.end(command_buffer)
        ended = command_buffer.end_result
        if ended is not None and ended < 0:
            self._stop_recording()
            logical.fail(ended, "vkEndCommandBuffer")
        self._hand_over(command_buffer)
        self._stop_recording()

    def _hand_over(self, submission: CommandBuffer | Batch) -> None:
        """Submits what has been ended; as `_submit`."""
        if submission.submit_result is None:
            if profile.active:
                profile.note_submission(submission)
            submitter, waits = self._submitter, self._waits
            if submission.submitted is not submitter.submitted or waits or submitter.has_waits:
                submitter.prepare(submission, waits)
            submitter.value[0] = submission.value
            for submission.submit_result in submitter.submitting:
                break  # one call, whose result is noted already
        result = submission.submit_result
        if result is not None and result < 0:
            self._stop_recording()
            self._logical.fail(result, "vkQueueSubmit")
        if not self.in_flight or self.in_flight[-1] is not submission:
            self.in_flight.append(submission)
        if self._waits:
            self._waits = {}
        self._submitted = submission.value

    def _stop_recording(self) -> None:
        self.recording = self.latest = None
        self.known = {}

    def retire(self) -> None:
        """Recycles the command buffers that the device has run.  Call it with the lock held."""
        in_flight, clock = self.in_flight, self._clock
        if in_flight:
            completed = clock.completed
            if in_flight[-1].value > completed:  # else a wait has just told
                completed = clock.read()
            while in_flight and in_flight[0].value <= completed:
                ended = in_flight.popleft()
                if isinstance(ended, CommandBuffer):
                    self._recycle(ended)
                else:
                    ended.keep.clear()
        if not in_flight and self.recording is None:
            self._logical.busy.discard(self)

    def _recycle(self, command_buffer: CommandBuffer) -> None:
        self.repeated.note_submission(command_buffer.launch_count)
        try:
            command_buffer.retire()
        except Error:  # its times could not be read; it can be used again all the same
            self._free.append(command_buffer)
            raise
        # After Ctrl-C in there it is half cleared, and not used again.
        self._free.append(command_buffer)

    def poll(self, value: int) -> bool:
        """Returns whether the timeline has reached `value`; submits what is recorded towards it."""
        if value <= self._clock.completed:
            return True
        with self._lock:
            self._logical.require_usable()
            if value > self._submitted:
                self.flush()
            if self._clock.read() < value:
                return False
            self.retire()
            return True

    def drop_recording(self) -> None:
        """Forgets what is recorded and will never be submitted.  Call it with the lock held."""
        if self.recording is not None:
            self.recording.forget()
        self._stop_recording()

    def wait_slice(self, value: int) -> bool:
        """Waits until the timeline reaches `value`, or a fifth of a second; returns whether it has.

        What leads there must have been submitted.
        """
        return self._clock.wait_slice(value)

    def watch(self, value: int, function: Callable[[], object]) -> None:
        """Calls `function` once the timeline has reached `value`: in a thread, or here where it has already.

        Raises:
            DeviceLostError: the driver lost the device.
        """
        from .watcher import Watcher, call

        if self.poll(value):
            call(function)
            return
        with self._lock:
            if self._watcher is None:
                self._watcher = Watcher()
        self._watcher.add(self, value, function)

    def stop_watching(self) -> None:
        """Ends the thread of `watch`; for the device's end."""
        if self._watcher is not None:
            self._watcher.stop()

    def abandon(self) -> None:
        """Lets go of everything, run or not: the device is going away."""
        for command_buffer in (*self.in_flight, *([self.recording] if self.recording else [])):
            command_buffer.forget()
        self.in_flight.clear()
        self._free.clear()
        self.repeated.clear()
        self._stop_recording()
        self._waits.clear()
