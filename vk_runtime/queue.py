"""Queue: lazily submitted command buffers, ordered by one timeline semaphore.

Commands are recorded into an open command buffer and submitted together when somebody waits, reads an array
back or polls an event, or when `SUBMIT_AFTER` of them are pending: a submission costs ten times a recording.
Commands of one queue run in any order, except where they touch the same memory: a barrier goes between.

A barrier splits the commands of a queue into *epochs*.  Each buffer remembers the epoch in which it was
last read and written, so a hazard is one comparison.  A buffer that another queue used last is handed over:
that queue's work is submitted, and this queue's next submission waits for it on the device.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from ..ir.errors import DeviceLostError, Error, FeatureNotSupportedError, InvalidError, KernelTrap
from . import graph_recording, profile
from .backend import Backend
from .command_buffer import CommandBuffer
from .constants import (
    VK_ACCESS_HOST_READ_BIT,
    VK_ACCESS_SHADER_READ_BIT,
    VK_ACCESS_SHADER_WRITE_BIT,
    VK_ACCESS_TRANSFER_READ_BIT,
    VK_ACCESS_TRANSFER_WRITE_BIT,
    VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
    VK_PIPELINE_STAGE_HOST_BIT,
    VK_PIPELINE_STAGE_TRANSFER_BIT,
    VK_SEMAPHORE_TYPE_TIMELINE,
    VK_TIMEOUT,
)
from .event import Event
from .handle import Handle
from .headers import NULL, ffi, make
from .info_descriptors import answer
from .object_info import QueueInfo, queue_info
from .reports import QueueReports, is_quiet, show
from .timeline import Timeline
from .watcher import Watcher, call

if TYPE_CHECKING:
    import numpy as np

    from .array import Array
    from .context import AsyncHandler, Context
    from .device import Device
    from .graph_commands import Batch
    from .handler import CommandGroup, Handler
    from .logical_device import LogicalDevice
    from .memory import Buffer
    from .reports import HostReport
    from .tracked import Tracked

logger = logging.getLogger(__name__)

SUBMIT_AFTER = 64
"""Launches in one command buffer: enough to make a submission's cost small beside them, few enough that
the device does not idle long before the first."""

MAX_BUSY = 32
"""Queues of a device that may hold recorded work: one more makes all submit, so that queues that nobody waits
for run, and go, in the end."""

MAX_IN_FLIGHT = 64
"""Submissions that may wait for the device; more make the host wait, so that memory stays bounded."""

_WAIT_SLICE_NS = 200_000_000
"""A wait returns to Python this often, for Ctrl-C."""

_SPIN_NS = 50_000
"""How long a wait for a GPU polls before it blocks: an H200 answers a poll in 14 µs, a wait in 47 µs."""

_SHADER = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT
_TRANSFER = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT
_STAGES = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT
_WRITES = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT

_EPOCH_BARRIER: Any = make("VkMemoryBarrier", srcAccessMask=_WRITES, dstAccessMask=_SHADER | _TRANSFER)
_HOST_BARRIER: Any = make("VkMemoryBarrier", srcAccessMask=_WRITES, dstAccessMask=VK_ACCESS_HOST_READ_BIT)


def record_barrier(device: LogicalDevice, command_buffer: CommandBuffer) -> None:
    """Records a barrier between everything before and everything after, as `Queue.barrier` does."""
    device.vk.vkCmdPipelineBarrier(
        command_buffer.raw, _STAGES, _STAGES, 0, 1, _EPOCH_BARRIER, 0, NULL, 0, NULL
    )


def record_host_barrier(device: LogicalDevice, command_buffer: CommandBuffer) -> None:
    """Records what lets the host read the results: the timeline alone does not (Vulkan 1.3, 7.6)."""
    device.vk.vkCmdPipelineBarrier(
        command_buffer.raw, _STAGES, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, _HOST_BARRIER, 0, NULL, 0, NULL
    )


class Queue(Handle):
    """A queue of one device.  Threads may share it.

    Args:
        device: a `Device`, a selector string, or None: the first of `context`, else the default device.
        context: what its kernel bundles must belong to; None: the device's default context.
        in_order: commands run one after the other, in the order in which they were submitted.
        profiling: time every command, for `Event.elapsed_ns`; commands then run one after the other, too.
        async_handler: gets the list of errors that commands met while they ran, at the next wait or read; without
            one there, and none of the context, that raises the first.

    Raises:
        InvalidError: `device` is none of `context`, or `async_handler` is no function.
        FeatureNotSupportedError: `profiling` on a device without timestamps.
        RuntimeFailure: no usable device.
    """

    def __init__(
        self,
        device: Device | str | None = None,
        *,
        context: Context | None = None,
        in_order: bool = False,
        profiling: bool = False,
        async_handler: AsyncHandler | None = None,
    ) -> None:
        from .device import resolve_device

        if device is None and context is not None:
            device = context.devices[0]
        self._device = resolve_device(device)
        if context is not None and self._device not in context.devices:
            names = ", ".join(f"'{member.selector}'" for member in context.devices)
            raise InvalidError(
                f"lp.Queue: device '{self._device.selector}' is none of the context's: {names}; make a context with it"
            )
        if async_handler is not None and not callable(async_handler):  # pyright: ignore[reportUnnecessaryComparison]
            raise InvalidError(f"lp.Queue(async_handler=…) expects a function, found {async_handler!r}")
        self._context = context
        self._async_handler = async_handler
        self._asynchronous: list[Error] = []
        logical = self._device.logical
        if profiling and not logical.physical.timestamp_valid_bits:
            raise FeatureNotSupportedError(
                f"device '{logical.name}' has no timestamps (aspect queue_profiling); "
                "make the queue without profiling=True"
            )
        self._logical = logical
        self._lock = logical.lock
        self.is_profiling = profiling
        self.is_in_order = in_order
        self._is_serial = profiling or in_order
        """Whether its commands run one after the other; also while a profile times them."""
        self.submit_after = SUBMIT_AFTER
        """Commands that make the open command buffer be submitted."""
        self.timestamp_period_ns = logical.physical.limits.timestamp_period_ns
        self.recording: CommandBuffer | None = None
        """The open command buffer, of whoever holds the device's lock; `open` begins one."""
        self.latest: tuple[object, object] | None = None
        """The launch record of the last command of the open command buffer, and the memory that it uses."""
        self._in_flight: deque[CommandBuffer | Batch] = deque()
        self._free: list[CommandBuffer] = []
        self._submitted = 0
        self._completed = 0
        self._epoch = 0
        self._waits: dict[Timeline, int] = {}
        self.vk_queue: Any = logical.vk_queue
        """The VkQueue that it submits to; queues of a device mostly share one."""
        self._watcher: Watcher | None = None
        self.reports = QueueReports()
        """What its kernels tell the host."""
        self._create_objects()
        self._prepare_structs()
        logical.queues.add(self)

    def _create_objects(self) -> None:
        logical = self._logical
        vk, raw = logical.vk, logical.raw
        logical.require_usable()
        pool_info = make(
            "VkCommandPoolCreateInfo",
            flags=VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
            queueFamilyIndex=logical.physical.queue_family_index,
        )
        pool = ffi.new("VkCommandPool*")
        semaphore_info = make(
            "VkSemaphoreCreateInfo",
            pNext=make("VkSemaphoreTypeCreateInfo", semaphoreType=VK_SEMAPHORE_TYPE_TIMELINE),
        )
        semaphore = ffi.new("VkSemaphore*")
        with self._lock:
            logical.check(vk.vkCreateCommandPool(raw, pool_info, NULL, pool), "vkCreateCommandPool")
            result = vk.vkCreateSemaphore(raw, semaphore_info, NULL, semaphore)
            if result < 0:
                vk.vkDestroyCommandPool(raw, pool[0], NULL)
            logical.check(result, "vkCreateSemaphore")
        self._pool, self.semaphore = pool[0], semaphore[0]
        pool_raw, semaphore_raw = pool[0], semaphore[0]

        def destroy() -> None:
            # A queue with work in flight is in `LogicalDevice.busy` and so alive: nothing is pending here.
            vk.vkDestroyCommandPool(raw, pool_raw, NULL)
            vk.vkDestroySemaphore(raw, semaphore_raw, NULL)

        self._own(logical.graveyard, destroy)

    def _prepare_structs(self) -> None:
        """Looks up and allocates what every submission and every wait needs, once."""
        vk = self._logical.vk
        self._record_barrier, self._wait_semaphores = vk.vkCmdPipelineBarrier, vk.vkWaitSemaphores
        self._end, self._submit_to_driver = vk.vkEndCommandBuffer, vk.vkQueueSubmit
        self._semaphores = ffi.new("VkSemaphore[]", [self.semaphore])
        self._signal_value = ffi.new("uint64_t[]", 1)
        self._wait_structs: list[tuple[Any, Any]] = []
        self._counter = ffi.new("uint64_t*")
        self._timeline = make(
            "VkTimelineSemaphoreSubmitInfo",
            signalSemaphoreValueCount=1,
            pSignalSemaphoreValues=self._signal_value,
        )
        self._submit_info = make(
            "VkSubmitInfo",
            pNext=self._timeline,
            commandBufferCount=1,
            signalSemaphoreCount=1,
            pSignalSemaphores=self._semaphores,
        )

    @property
    def device(self) -> Device:
        """The device that it runs on."""
        return self._device

    @property
    def context(self) -> Context:
        """The context that its kernel bundles must belong to."""
        if self._context is None:
            self._context = self._device.default_context
        return self._context

    def get_device(self) -> Device:
        """Returns `device`."""
        return self._device

    def get_context(self) -> Context:
        """Returns `context`."""
        return self.context

    @property
    def backend(self) -> Backend:
        """What drives it."""
        return Backend.VULKAN

    def get_backend(self) -> Backend:
        """Returns `backend`."""
        return Backend.VULKAN

    @property
    def info(self) -> QueueInfo:
        """What it belongs to, under the names of SYCL's ``info::queue``."""
        return queue_info(self)

    def get_info(self, descriptor: object) -> Any:
        """Returns what ``lp.info.queue.x`` asks for, the same as ``info.x``; TypeError for other descriptors."""
        return answer("Queue", "queue", self.info, descriptor)

    # ---- command groups ----

    @overload
    def submit(self) -> CommandGroup: ...

    @overload
    def submit(self, group: Callable[[Handler], object]) -> Event: ...

    def submit(self, group: Callable[[Handler], object] | None = None) -> Event | CommandGroup:
        """Submits a command group: ``queue.submit(lambda h: h.parallel_for(n, k, x))``, or a ``with`` block.

        Args:
            group: is called at once with a `Handler`; without it the result is a context manager that gives one.

        Returns:
            The event of the group's command; of a group without command, of what it depends on.

        Raises:
            Error: whatever the group raises, or its command; nothing was submitted then.
        """
        from .handler import CommandGroup, run_group

        return CommandGroup(self) if group is None else run_group(self, group)

    def parallel_for(
        self,
        range_: object,
        kernel: object,
        *args: object,
        spec: Mapping[Any, object] | None = None,
        **kwargs: object,
    ) -> Event:
        """Launches a kernel over a range: a command group of this one command; see `Handler.parallel_for`."""
        return self.submit(lambda h: h.parallel_for(range_, kernel, *args, spec=spec, **kwargs))

    def single_task(
        self, kernel: object, *args: object, spec: Mapping[Any, object] | None = None, **kwargs: object
    ) -> Event:
        """Launches a kernel with one work-item; see `Handler.single_task`."""
        return self.submit(lambda h: h.single_task(kernel, *args, spec=spec, **kwargs))

    def copy(self, source: Array | np.ndarray[Any, Any], target: Array | np.ndarray[Any, Any]) -> Event:
        """Copies all elements of `source` to `target`; see `Handler.copy`."""
        return self.submit(lambda h: h.copy(source, target))

    def fill(self, target: Array, value: object) -> Event:
        """Sets every element of `target`; see `Handler.fill`."""
        return self.submit(lambda h: h.fill(target, value))

    def marker(self, events: Sequence[Event] = ()) -> Event:
        """Makes later commands wait for events; returns an event that is done once they, and all before, are."""
        if graph_recording.active and (graph := graph_recording.recorder()) is not None:
            return graph.add_marker(self, events)
        for event in events:
            if event.is_recorded or event.timeline.device is not self._device:
                event.wait()
        with self._lock:
            command_buffer = self.open()
            for event in events:
                if event.timeline.device is self._device:
                    self.wait_on_device(event.timeline, event.value)
            event = Event(self, command_buffer.value)
            self.note_launch(command_buffer)
        return event

    # ---- recording; the caller holds the device's lock ----

    def open(self) -> CommandBuffer:
        """Returns the command buffer that is being recorded, beginning one where there is none."""
        recording = self.recording
        if recording is not None:
            return recording
        self._make_room()
        command_buffer = self._free.pop() if self._free else self._new_command_buffer()
        is_timed = self.is_profiling or bool(profile.active)
        self._is_serial = is_timed or self.is_in_order
        command_buffer.begin(timed_commands=SUBMIT_AFTER if is_timed else 0)
        command_buffer.value = self._submitted + 1
        self._logical.busy.add(self)
        self.recording = command_buffer
        return command_buffer

    def _make_room(self) -> None:
        """Makes sure that one more submission may follow; waits where too many are in flight."""
        self._logical.require_usable()
        if self.is_closed:
            raise InvalidError("this queue was closed; make another with lp.Queue()")
        if self._in_flight:
            self.retire()
            if len(self._in_flight) >= MAX_IN_FLIGHT:
                self._block_until(self._in_flight[0].value)
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
                self._take_over(buffer)
            elif buffer.write_epoch == epoch or (writes and buffer.read_epoch == epoch):
                is_hazard = True
        if is_hazard:
            epoch = self.barrier()
        self._note_uses(uses, value, epoch)

    def _note_uses(self, uses: Sequence[tuple[Tracked, bool]], value: int, epoch: int) -> None:
        for buffer, writes in uses:
            buffer.last_use = value
            if writes:
                buffer.write_epoch = epoch
                buffer.last_write = value
            else:
                buffer.read_epoch = epoch

    def barrier(self) -> int:
        """Records a barrier between everything before and everything after; returns the new epoch."""
        command_buffer = self.recording or self.open()
        self._record_barrier(command_buffer.raw, _STAGES, _STAGES, 0, 1, _EPOCH_BARRIER, 0, NULL, 0, NULL)
        self._epoch += 1
        return self._epoch

    def order_again(self, uses: Sequence[tuple[Tracked, bool]]) -> None:
        """Does what `order` does for a command that uses what the last one uses, and writes some of it."""
        epoch = self.barrier()
        for buffer, writes in uses:
            if writes:
                buffer.write_epoch = epoch
            else:
                buffer.read_epoch = epoch

    def _take_over(self, buffer: Tracked) -> None:
        """Makes this queue the one that orders the uses of `buffer`."""
        other = buffer.queue
        if isinstance(other, Queue):
            other.latest = None
        if other is not None and buffer.last_use:
            self.wait_on_device(other, buffer.last_use)
        buffer.queue = self
        buffer.read_epoch = buffer.write_epoch = -1
        buffer.last_write = buffer.last_use = 0

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
        return ((self.semaphore, value),)

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
            while self.recording is not None:
                try:
                    self._submit(self.recording)
                except KeyboardInterrupt as error:  # a command buffer cannot stay half submitted: go on first
                    interrupt = error
        if interrupt is not None:
            raise interrupt

    def submit_batch(self, batch: Batch, uses: Sequence[tuple[Tracked, bool]]) -> None:
        """Submits command buffers that are recorded already, behind everything that this queue has recorded.

        Call it with the device's lock held.

        Args:
            batch: begins with a barrier and ends with one for the host.
            uses: every buffer that it touches, and whether it writes it.

        Raises:
            DeviceLostError: the driver lost the device, or does not take the submission.
        """
        self.flush()
        self._make_room()
        self._logical.busy.add(self)
        batch.value = self._submitted + 1
        self._epoch += 1
        interrupt: KeyboardInterrupt | None = None
        while self._submitted < batch.value:
            try:
                for buffer, _ in uses:
                    if buffer.queue is not self:
                        self._take_over(buffer)
                self._submit(batch)
            except KeyboardInterrupt as error:  # nothing may be half submitted: go on first
                interrupt = error
        self._note_uses(uses, batch.value, self._epoch)
        if interrupt is not None:
            raise interrupt

    def _submit(self, command_buffer: CommandBuffer | Batch) -> None:
        """Ends and submits the open command buffer.  Ctrl-C may stop it anywhere; a second call goes on there.

        So each of the two driver calls is made by `map`, which notes its result before Python looks for signals.
        """
        logical, results = self._logical, command_buffer.results
        logical.require_usable()
        info = self._submit_info
        if not results:
            # The timeline alone does not make device writes visible to the host (Vulkan 1.3, 7.6).
            self._record_barrier(
                command_buffer.raw,
                _STAGES,
                VK_PIPELINE_STAGE_HOST_BIT,
                0,
                1,
                _HOST_BARRIER,
                0,
                NULL,
                0,
                NULL,
            )
            results.extend(map(self._end, (command_buffer.raw,)))
        if results[0] >= 0 and len(results) == 1:
            if profile.active:
                profile.note_submission(self, command_buffer)
            info.pCommandBuffers, info.commandBufferCount = command_buffer.submitted, command_buffer.count
            self._signal_value[0] = command_buffer.value
            if self._waits or info.waitSemaphoreCount:
                command_buffer.keep.append(self._set_waits())
            results.extend(map(self._submit_to_driver, (self.vk_queue,), (1,), (info,), (NULL,)))
        if results[-1] < 0:
            self.recording = self.latest = None
            logical.fail(results[-1], "vkEndCommandBuffer" if len(results) == 1 else "vkQueueSubmit")
        if not self._in_flight or self._in_flight[-1] is not command_buffer:
            self._in_flight.append(command_buffer)
        if self._waits:
            self._waits = {}
        self._submitted = command_buffer.value
        self.recording = self.latest = None

    def _set_waits(self) -> tuple[object, ...]:
        """Fills in the semaphores that the submission waits for; returns what must live until it has run."""
        info, timeline = self._submit_info, self._timeline
        waits = self._waits
        points = [point for other, value in waits.items() for point in other.points(value)] if waits else []
        count = len(points)
        if not count:
            info.waitSemaphoreCount = timeline.waitSemaphoreValueCount = 0
            return ()
        info.waitSemaphoreCount = timeline.waitSemaphoreValueCount = count
        semaphores = ffi.new("VkSemaphore[]", [semaphore for semaphore, _ in points])
        values = ffi.new("uint64_t[]", [value for _, value in points])
        stages = ffi.new("VkPipelineStageFlags[]", [_STAGES] * count)
        info.pWaitSemaphores, info.pWaitDstStageMask = semaphores, stages
        timeline.pWaitSemaphoreValues = values
        return semaphores, values, stages, *waits

    def retire(self) -> None:
        """Recycles the command buffers that the device has run.  Call it with the lock held."""
        if self._in_flight:
            if self._in_flight[-1].value > self._completed:  # else a wait has just told
                self._read_counter()
            while self._in_flight and self._in_flight[0].value <= self._completed:
                command_buffer = self._in_flight.popleft()
                command_buffer.retire()
                if isinstance(command_buffer, CommandBuffer):
                    self._free.append(command_buffer)
        if not self._in_flight and self.recording is None:
            self._logical.busy.discard(self)

    def _read_counter(self) -> int:
        logical = self._logical
        counter = self._counter
        result = logical.vk.vkGetSemaphoreCounterValue(logical.raw, self.semaphore, counter)
        logical.check(result, "vkGetSemaphoreCounterValue")
        self._completed = max(self._completed, counter[0])
        return self._completed

    def poll(self, value: int) -> bool:
        """Returns whether the timeline has reached `value`; submits what is recorded towards it."""
        if value <= self._completed:
            return True
        with self._lock:
            self._logical.require_usable()
            if value > self._submitted:
                self.flush()
            if self._read_counter() < value:
                return False
            self.retire()
            return True

    def wait_for(self, value: int) -> None:
        """Waits until the timeline reaches `value`; prints what kernels printed.

        Raises:
            KernelTrap: a kernel of this queue failed, and there is no ``async_handler``; once.
            DeviceLostError: the driver lost the device.
        """
        if value > self._completed:
            if value > self._submitted:
                self.flush()
            if profile.active:
                with profile.span("wait", "queue", device=self._device.selector):
                    self._block_until(value)
            else:
                self._block_until(value)
        if self._in_flight:
            with self._lock:
                self.retire()
                self._logical.graveyard.drain()
        if self.reports.pending and not is_quiet():
            self._read_reports()

    def note_host_launch(self, report: HostReport, uses: Sequence[tuple[Tracked, bool]]) -> Event:
        """Notes a launch that ran on the host, so that the next wait, or read of what it wrote, shows its report.

        Args:
            report: what it has to tell.
            uses: its buffers, each with whether it wrote them.
        """
        with self._lock:
            command_buffer = self.open()
            self.order(uses, command_buffer.value)
            self.reports.note_launch(report, command_buffer.value)
            event = Event(self, command_buffer.value)
            event.elapsed_ticks = 0
            self.note_launch(command_buffer)
        return event

    def _read_reports(self) -> None:
        """Shows what kernels that have ended reported.  A buffer in use is read when its last launch has ended."""
        with self._lock:
            last = self.reports.unfinished(self._completed)
        if last:
            if last > self._submitted:
                self.flush()
            self._block_until(last)
        with self._lock:
            text, traps = self.reports.take(self._completed)
        show(text)
        for trap in traps:
            self.note_error(trap)
        self.throw_asynchronous()

    def _block_until(self, value: int) -> None:
        logical = self._logical
        logical.require_usable()
        if not logical.is_cpu and self._spin_until(value):
            return
        while not self.wait_slice(value):
            pass

    def wait_slice(self, value: int) -> bool:
        """Waits until the timeline reaches `value`, or a fifth of a second; returns whether it has.

        Other threads run meanwhile.  What leads there must have been submitted.
        """
        logical = self._logical
        logical.require_usable()
        # Threads wait at the same time: each takes a struct of its own, made at most once per waiting thread.
        info, target = self._wait_structs.pop() if self._wait_structs else self._new_wait_struct()
        target[0] = value
        result = self._wait_semaphores(logical.raw, info, _WAIT_SLICE_NS)
        self._wait_structs.append((info, target))
        if result == VK_TIMEOUT:
            return False
        logical.check(result, "vkWaitSemaphores")
        self._completed = max(self._completed, value)
        return True

    def watch(self, value: int, function: Callable[[], object]) -> None:
        """Calls `function` once the timeline has reached `value`: in a thread, or here where it has already.

        Raises:
            DeviceLostError: the driver lost the device.
        """
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

    def _new_wait_struct(self) -> tuple[Any, Any]:
        target = ffi.new("uint64_t[]", 1)
        info = make("VkSemaphoreWaitInfo", semaphoreCount=1, pSemaphores=self._semaphores, pValues=target)
        return info, target

    def _spin_until(self, value: int) -> bool:
        end = time.perf_counter_ns() + _SPIN_NS
        counter = ffi.new("uint64_t*")
        logical = self._logical
        read = logical.vk.vkGetSemaphoreCounterValue
        while time.perf_counter_ns() < end:
            logical.check(read(logical.raw, self.semaphore, counter), "vkGetSemaphoreCounterValue")
            if counter[0] >= value:
                self._completed = max(self._completed, counter[0])
                return True
        return False

    def note_error(self, error: Error) -> None:
        """Keeps an error that a command met while it ran, for `throw_asynchronous`."""
        self._asynchronous.append(error)

    def throw_asynchronous(self) -> None:
        """Hands the errors of commands that have run to the handler of the queue or its context.

        Raises:
            Error: the first of them, where there is no handler; the others are logged.
        """
        errors, self._asynchronous = self._asynchronous, []
        if not errors:
            return
        handler = self._handler()
        if handler is not None:
            handler(errors)
            return
        for error in errors[1:]:  # only one can be raised
            logger.error("%s", error)
        raise errors[0]

    def _handler(self) -> AsyncHandler | None:
        """Returns what gets the errors of commands that have run: the queue's own, else the context's."""
        if self._async_handler is not None or self._context is None:
            return self._async_handler
        return self._context.async_handler

    def wait_and_throw(self) -> None:
        """Does what `wait` does; SYCL's name."""
        self.wait()

    def wait(self) -> None:
        """Submits what is recorded and waits for everything in this queue.

        Raises:
            Error: a command failed while it ran, and there is no ``async_handler``.
        """
        try:
            self._wait_for_all()
        except DeviceLostError as error:
            self.note_error(error)
        self.throw_asynchronous()

    def _wait_for_all(self) -> None:
        with self._lock:
            recording = self.recording
            value = self._submitted if recording is None else recording.value
        self.wait_for(value)

    def event(self) -> Event:
        """Returns an event for everything recorded so far; while a graph is recorded, for its last command."""
        if graph_recording.active and (graph := graph_recording.recorder()) is not None:
            return graph.last_event(self)
        recording = self.recording
        return Event(self, self._submitted if recording is None else recording.value)

    def end_reports(self) -> None:
        """Shows what kernels reported that nobody has waited for; the device is idle."""
        text, traps = self.reports.take(self._submitted)
        show(text)
        for trap in traps:
            self.note_error(trap)
        try:
            self.throw_asynchronous()
        except Exception as error:  # nobody waits any more: a handler's own error goes to the log, too
            logger.error("%s", error)

    def abandon(self) -> None:
        """Lets go of everything, run or not: the device is going away."""
        for command_buffer in (*self._in_flight, *([self.recording] if self.recording else [])):
            command_buffer.forget()
        self._in_flight.clear()
        self._free.clear()
        self.recording = self.latest = None
        self._waits.clear()

    def close(self) -> None:
        """Waits for the queue's work and gives it up; later use raises."""
        try:
            if not self.is_closed and not self._logical.is_lost and not self._logical.is_closed:
                self._wait_for_all()
        except DeviceLostError:
            self.abandon()
        except KernelTrap as trap:  # nobody waits here for what a kernel did
            logger.error("%s", trap)
        finally:
            super().close()

    def __repr__(self) -> str:
        return f"<lapilli.Queue of {self._device!r}>"
