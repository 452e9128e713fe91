"""Ending and submitting command buffers: the two driver calls, with structs that are made once.

Ctrl-C may stop Python between any two steps, and a submission cannot be taken back or made twice.  Python looks for
signals after calls and jumps back, so each of the two calls is made by an iterator and its result goes right to where
it is noted: nothing is in between.  Calling again goes on behind them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from .headers import NULL, ffi, make

if TYPE_CHECKING:
    from .barriers import Barriers
    from .command_buffer import CommandBuffer
    from .graph_commands import Batch
    from .logical_device import LogicalDevice
    from .timeline import Timeline
    from .timeline_semaphore import TimelineSemaphore


_NO_RESULT = 1 << 40
"""No VkResult: an iterator that calls until it gets this never ends."""


class Submitter:
    """Submits command buffers that signal one timeline semaphore.  Use it with the device's lock held.

    Args:
        device: borrowed.
        semaphore: gets the value of each command buffer when it has run.
        barriers: of the queue's family.
    """

    def __init__(self, device: LogicalDevice, semaphore: TimelineSemaphore, barriers: Barriers) -> None:
        vk = device.vk
        self._device = device
        self._host_barrier, self._wait_stages = barriers.for_host, barriers.wait_stages
        self._record_barrier = barriers.record
        self._end, self._submit_to_driver = vk.vkEndCommandBuffer, vk.vkQueueSubmit
        self.value = ffi.new("uint64_t[]", 1)
        """The value of the semaphore that a submission signals, uint64_t[]."""
        self._timeline = make(
            "VkTimelineSemaphoreSubmitInfo",
            signalSemaphoreValueCount=1,
            pSignalSemaphoreValues=self.value,
        )
        self._info = make(
            "VkSubmitInfo",
            pNext=self._timeline,
            commandBufferCount=1,
            signalSemaphoreCount=1,
            pSignalSemaphores=semaphore.raw_array,
        )
        self.submitted: Any = None
        """What is ready to be submitted: VkCommandBuffer[]."""
        self.has_waits = False
        """Whether submissions wait for semaphores as they are now."""
        self.vk_queue = device.vk_queue

    @property
    def vk_queue(self) -> Any:
        """The VkQueue."""
        return self._vk_queue

    @vk_queue.setter
    def vk_queue(self, vk_queue: Any) -> None:
        self._vk_queue = vk_queue
        submit: Any = partial(self._submit_to_driver, vk_queue, 1, self._info, NULL)
        self.submitting: Iterator[int] = iter(submit, _NO_RESULT)
        """Each of its items is the VkResult of one more submission."""

    def end(self, command_buffer: CommandBuffer) -> None:
        """Ends a command buffer; its `end_result` says how that went."""
        if command_buffer.is_read_by_host or self._device.host_reads:
            # The timeline alone does not make device writes visible to the host (Vulkan 1.3, 7.6).
            self._record_barrier(command_buffer.raw, *self._host_barrier)
        ending = map(self._end, (command_buffer.raw,))
        (command_buffer.end_result,) = ending

    def prepare(self, command_buffer: CommandBuffer | Batch, waits: Mapping[Timeline, int]) -> None:
        """Makes `submitting` submit what has been ended.

        Args:
            command_buffer: keeps alive what the submission waits for.
            waits: timelines, each with the value that it must have reached first.
        """
        info, submitted = self._info, command_buffer.submitted
        info.pCommandBuffers, info.commandBufferCount = submitted, command_buffer.count
        self.submitted = submitted
        if waits or self.has_waits:
            command_buffer.keep.append(self._set_waits(waits))

    def _set_waits(self, waits: Mapping[Timeline, int]) -> tuple[object, ...]:
        """Fills in the semaphores that the submission waits for; returns what must live until it has run."""
        info, timeline = self._info, self._timeline
        self.has_waits = True
        points = [point for other, value in waits.items() for point in other.points(value)]
        count = len(points)
        if not count:
            info.waitSemaphoreCount = timeline.waitSemaphoreValueCount = 0
            self.has_waits = False
            return ()
        info.waitSemaphoreCount = timeline.waitSemaphoreValueCount = count
        semaphores = ffi.new("VkSemaphore[]", [semaphore for semaphore, _ in points])
        values = ffi.new("uint64_t[]", [value for _, value in points])
        stages = ffi.new("VkPipelineStageFlags[]", [self._wait_stages] * count)
        info.pWaitSemaphores, info.pWaitDstStageMask = semaphores, stages
        timeline.pWaitSemaphoreValues = values
        return semaphores, values, stages, *waits
