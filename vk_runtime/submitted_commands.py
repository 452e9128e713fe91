"""SubmittedCommands: what a queue has recorded is submitted, waited for and recycled; below `command_stream`.

Everything of one queue is in the order of one timeline semaphore: a submission signals the next value of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..ir.errors import DeviceLostError, Error, InvalidError
from . import profile
from .command_buffer import CommandBuffer
from .constants import VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT
from .handle import Handle
from .headers import NULL, ffi, make
from .repeated_launches import RepeatedLaunches
from .submitter import Submitter
from .timeline_semaphore import TimelineSemaphore

if TYPE_CHECKING:
    from .barriers import Barriers
    from .device import Device
    from .graph_commands import Batch
    from .launch_record import LaunchRecord
    from .recorded_launch import RecordedLaunch
    from .repeated_launches import KeptLaunch
    from .timeline import Timeline
    from .watchdog import Watchdog
    from .watcher import Watcher

MAX_BUSY = 32
"""Queues of a device that may hold recorded work: one more makes all submit, so that queues that nobody waits
for run, and go, in the end."""

MAX_IN_FLIGHT = 64
"""Submissions that may wait for the device; more make the host wait, so that memory stays bounded."""


def is_from_outside(error: BaseException, before: BaseException | None) -> bool:
    """Whether Ctrl-C or another signal handler raised an exception, so that what was begun can be ended first.

    Args:
        error: not of the driver; whatever comes again is no signal's, but for Ctrl-C.
        before: what came before, None: nothing.
    """
    return isinstance(error, KeyboardInterrupt) or (before is None and not isinstance(error, Error))


class SubmittedCommands(Handle):
    """The open command buffer of a queue, and those that the device has got.

    Args:
        device: where they run.
        family: of the VkQueue.
        barriers: that the family can record.
    """

    def __init__(self, device: Device, family: int, barriers: Barriers) -> None:
        logical = device.logical
        self._device = device
        self._logical = logical
        self._lock = logical.lock
        self.recording: CommandBuffer | None = None
        """The open command buffer, of whoever holds the device's lock; `CommandStream.open` begins one."""
        self.latest: RecordedLaunch | None = None
        """The last command of the open command buffer, where it is a launch that may be repeated."""
        self.known: dict[LaunchRecord, RecordedLaunch | KeptLaunch] = {}
        """The last launch of each record since the open command buffer was begun; where none is open, the last one
        that was kept.  Another dictionary when that changes."""
        self.repeated = RepeatedLaunches(logical)
        """Launches that are waited for one at a time, again and again."""
        self.in_flight: dict[int, CommandBuffer | Batch] = {}
        """What was submitted and is not known to have run, by timeline value, which come one after the other.

        A value names one submission only, so that whoever takes it takes no other: finalisers may have retired it, and
        submitted the same command buffer again, between any two steps.
        """
        self._free: list[CommandBuffer] = []
        self._allocated = ffi.new("VkCommandBuffer*")
        """One that is not in `_free` yet: Ctrl-C came behind the call that made it."""
        self._submitted: int
        self._waits: dict[Timeline, int] = {}
        """What the next submission waits for on the device."""
        self.is_closing = False
        """Whether somebody waits for its last work, to give it up then."""
        with self._lock:
            logical.require_usable()  # under the lock: nothing may be made on a VkDevice that is gone
            # Closing the queue leaves the semaphore: submissions of other queues may still wait for it.
            self._clock = TimelineSemaphore(logical)
            self._submitted = self._clock.completed
            info = make(
                "VkCommandPoolCreateInfo",
                flags=VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                queueFamilyIndex=family,
            )
            # A queue with work in flight is in `LogicalDevice.busy` and so alive: nothing is pending where it goes.
            self._pool = self._make(logical, "CommandPool", info, "one queue more")
        self._submitter = Submitter(logical, self._clock, barriers)
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
    def progress(self) -> int:
        """How many submissions have ended, as the driver says it now; may be asked without the lock, in a visit."""
        return self._clock.ask()

    def running(self) -> list[str]:
        """Returns the names of the kernels that are submitted and have not ended.  Call it with the lock held."""
        completed = self._clock.completed
        submitted = [item for item in [*self.in_flight.values()] if item.value > completed]
        return [name for item in submitted for name in item.kernel_names()]

    @property
    def has_reports(self) -> bool:
        """Whether kernels that end may have something to tell those who wait."""
        return False

    def read_reports(self) -> int:
        """Returns 0: there is none; as `Queue.read_reports`, where kernels run."""
        return 0

    def show_ended(self) -> None:
        """Does nothing, as there is nothing to show."""

    @abstractmethod
    def wait_for(self, value: int) -> None:
        """Waits until the timeline reaches `value`."""

    @abstractmethod
    def drain(self) -> None:
        """Submits what is recorded and waits for everything in it."""

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
                self._clock.block_until(self._submitted - MAX_IN_FLIGHT + 1)  # the oldest of so many
                self.retire()
        busy = self._logical.busy
        if self not in busy and len(busy) >= MAX_BUSY:
            self._logical.submit_everything()

    def _add_command_buffer(self) -> None:
        logical, out = self._logical, self._allocated
        if out[0] == NULL:
            info = make("VkCommandBufferAllocateInfo", commandPool=self._pool, commandBufferCount=1)
            result = logical.vk.vkAllocateCommandBuffers(logical.raw, info, out)
            if result < 0:
                out[0] = NULL
            logical.check(result, "vkAllocateCommandBuffers")
        made, free = CommandBuffer(logical, out[0]), self._free
        out[0] = NULL  # Python does not look for signals between these two
        free.append(made)

    def points(self, value: int) -> tuple[tuple[Any, int]]:
        """Returns the semaphore and value that say when `value` is reached."""
        return ((self._clock.raw, value),)

    @property
    def completed(self) -> int:
        """The timeline value up to which everything is known to have run."""
        return self._clock.completed

    @property
    def last_value(self) -> int:
        """The timeline value of the last command, submitted or not."""
        recording = self.recording
        return self._submitted if recording is None else recording.value

    def is_busy(self) -> bool:
        """Returns whether the device has not done all that was submitted yet; a lost one does nothing more."""
        with self._lock:
            try:
                return not self._logical.is_unusable and self._clock.ask() < self._submitted
            except DeviceLostError:  # whoever waits is told
                return False

    def block_until(self, value: int) -> None:
        """Waits until the timeline reaches `value`, and shows nothing of what kernels reported."""
        if value > self._clock.completed:
            self.submit_up_to(value)
            self._clock.block_until(value)

    def submit_up_to(self, value: int) -> None:
        """Submits what is recorded towards `value`."""
        if value > self._submitted:
            self.flush()

    def flush(self) -> None:
        """Submits what is recorded, without waiting for it.

        Raises:
            DeviceLostError: the driver lost the device, or does not take the submission.
        """
        interrupt: BaseException | None = None
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
                    except BaseException as error:  # nothing may be half submitted: go on first
                        if not is_from_outside(error, interrupt):
                            raise
                        interrupt = error
            finally:
                logical.half_way = before
        if interrupt is not None:
            raise interrupt

    def _submit(self, command_buffer: CommandBuffer) -> None:
        """Ends and submits the open command buffer.  Ctrl-C may stop it anywhere; a second call goes on there."""
        logical = self._logical
        if logical.is_unusable:
            self._stop_recording()
            logical.require_usable()
        if command_buffer.end_result is None:
            self._submitter.end(command_buffer)
        ended = command_buffer.end_result
        if ended is not None and ended < 0:
            logical.fail(ended, "vkEndCommandBuffer")  # which drops what is recorded
        self._hand_over(command_buffer)

    def _hand_over(self, submission: CommandBuffer | Batch) -> None:
        """Submits what has been ended; nothing is recorded then.  As `_submit`."""
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
            self._logical.fail(result, "vkQueueSubmit")
        value = submission.value
        self.in_flight[value] = submission
        if self._waits:
            self._waits = {}
        if self.recording is not None:  # else a kept one, which stays known
            self.latest, self.known = None, {}
        # Python runs nothing between these two: once `retire` takes it, nobody finds it half submitted.
        self._submitted, self.recording = value, None

    def _stop_recording(self) -> None:
        self.recording = self.latest = None
        self.known = {}

    def retire(self) -> None:
        """Recycles the command buffers that the device has run.  Call it with the lock held."""
        in_flight, clock = self.in_flight, self._clock
        if in_flight:
            completed, submitted = clock.completed, self._submitted
            if submitted > completed:  # else a wait has just told
                completed = clock.read()
            # What a finaliser submits meanwhile is newer, and what is half submitted belongs to whoever does that.
            last = min(completed, submitted)
            for value in [*in_flight]:
                if value > last:
                    break
                self._retire(value)
        if not in_flight and self.recording is None:
            self._logical.busy.discard(self)

    def _retire(self, value: int) -> None:
        """Recycles what was submitted with a timeline value that is reached, unless a finaliser has done so."""
        ended: CommandBuffer | Batch | None = None
        try:
            for ended in map(self.in_flight.pop, (value,), (None,)):  # noqa: B007 - noted as it is taken, owned by the
                break  # `try` then: Ctrl-C may come
            if isinstance(ended, CommandBuffer):
                self.repeated.note_submission(ended.launch_count)
                ended.retire()
            elif ended is not None and ended.value == value:  # unless a finaliser has submitted it again
                ended.keep.clear()
        finally:  # also where its times cannot be read
            if ended.__class__ is CommandBuffer:
                self._free.append(ended)  # pyright: ignore[reportArgumentType] - its class was asked for

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

    def new_watchdog(self) -> Watchdog:
        """Returns what notices, during a wait that begins now, that the device gets nowhere."""
        from .watchdog import Watchdog

        return Watchdog(self._logical)

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
        for command_buffer in (*self.in_flight.values(), *([self.recording] if self.recording else [])):
            command_buffer.forget()
        self.in_flight.clear()
        self._free.clear()
        self.repeated.clear()
        self._stop_recording()
        self._waits.clear()
