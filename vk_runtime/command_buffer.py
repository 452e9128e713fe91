"""One VkCommandBuffer with what its commands need until the device has run them.

Made and recycled by a `Queue`, which holds the device's lock around every call here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import profile
from .constants import (
    VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT,
    VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
    VK_QUERY_RESULT_64_BIT,
    VK_QUERY_RESULT_WAIT_BIT,
    VK_QUERY_TYPE_TIMESTAMP,
)
from .handle import Handle
from .headers import ffi, make
from .pipeline import Pipeline

if TYPE_CHECKING:
    from .buffer import Buffer
    from .event import Event
    from .event_times import Timing
    from .logical_device import LogicalDevice
    from .profile import Command

ARGUMENT_CHUNK_BYTES = 64 << 10
"""Host-visible memory taken at a time for argument blocks that do not fit into push constants."""

_BEGIN: Any = make("VkCommandBufferBeginInfo", flags=VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)
_BEGIN_REUSABLE: Any = make("VkCommandBufferBeginInfo")
_BEGIN_SIMULTANEOUS: Any = make(
    "VkCommandBufferBeginInfo", flags=VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT
)


class TimestampPool(Handle):
    """A VkQueryPool of timestamps, two for each timed command."""

    def __init__(self, device: LogicalDevice, timed_commands: int) -> None:
        self._device = device
        self.query_count = 2 * timed_commands
        info = make("VkQueryPoolCreateInfo", queryType=VK_QUERY_TYPE_TIMESTAMP, queryCount=self.query_count)
        self.raw = self._make(device, "QueryPool", info)
        self._ticks = ffi.new("uint64_t[]", self.query_count)

    def read(self, commands: range) -> list[tuple[int, int]]:
        """Returns when commands began and ended, by number, which must have: a driver waits for what is not there."""
        device = self._device
        flags = VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT
        first, count, ticks = 2 * commands.start, 2 * len(commands), self._ticks
        result = device.vk.vkGetQueryPoolResults(
            device.raw, self.raw, first, count, 8 * count, ticks, 8, flags
        )
        device.check(result, "vkGetQueryPoolResults")
        return [(ticks[i], ticks[i + 1]) for i in range(0, count, 2)]


class CommandBuffer:
    """A recording, and after that what it must keep alive.

    Args:
        device: borrowed.
        raw: a VkCommandBuffer of a pool that allows resetting it alone.
    """

    def __init__(self, device: LogicalDevice, raw: Any) -> None:
        self._device = device
        self.raw = raw
        self.between: tuple[Any, ...] = (raw, *device.barriers.between)
        """What records a barrier between two launches; for queues that compute."""
        self.submitted = ffi.new("VkCommandBuffer[]", [raw])
        self.count = 1
        """Elements of `submitted`."""
        self.keep: list[object] = []
        """Buffers, pipelines and descriptor sets that the commands use."""
        self.is_clean = True
        """Whether it may be begun again: not where Ctrl-C has cut the last recording short, or what followed it."""
        self.launch_count = 0
        self.is_read_by_host = False
        """Whether it fills a staging buffer that the host reads."""
        self.end_result: int | None = None
        """What ending it returned; None before that."""
        self.submit_result: int | None = None
        """What submitting it returned; None before that."""
        self.value = 0
        """Timeline value that its submission signals."""
        self.pipeline: object = None
        """What vkCmdBindPipeline bound last, so that it is not bound again; the same for layout and set."""
        self.layout: object = None
        self.descriptor_set: object = None
        self.pushed: bytes | None = None
        """The push constants, for `layout`; None where nothing is known of them."""
        self.is_timed = False
        """Whether `begin_timing` and `end_timing` are to be called around each command."""
        self.submitted_ns = 0
        """When it was submitted, by `profile.now`; set while a profile runs."""
        self._timestamps: TimestampPool | None = None
        self._timed: list[tuple[Timing | None, Command | None]] = []
        self._whole: list[range] = []
        """Which of them have both timestamps, in runs: not those that Ctrl-C has cut short."""
        self._arguments: list[Buffer] = []
        self._argument_chunk = 0
        self._argument_bytes = 0

    def begin(
        self, *, is_reusable: bool = False, is_simultaneous: bool = False, timed_commands: int = 0
    ) -> None:
        """Starts a new recording; what was recorded before has run.

        Args:
            is_reusable: it may be submitted many times, one after the other.
            is_simultaneous: it may be submitted while an earlier submission of it runs.
            timed_commands: how many timed commands it must hold; 0: timing is off.
        """
        device = self._device
        info = _BEGIN_SIMULTANEOUS if is_simultaneous else _BEGIN_REUSABLE if is_reusable else _BEGIN
        if not self.is_clean:
            self.forget()
            device.check(device.vk.vkResetCommandBuffer(self.raw, 0), "vkResetCommandBuffer")
        self.is_clean = False
        self.is_timed = timed_commands > 0
        if self.is_timed and self._timestamps is None and device.physical.timestamp_valid_bits:
            # Before the recording: what may fail must not leave the command buffer half recorded.
            self._timestamps = TimestampPool(device, timed_commands)
        device.check(device.vk.vkBeginCommandBuffer(self.raw, info), "vkBeginCommandBuffer")
        if self.is_timed and self._timestamps is not None:
            pool = self._timestamps
            device.vk.vkCmdResetQueryPool(self.raw, pool.raw, 0, pool.query_count)

    def begin_timing(self, event: Event | None, command: Command | None) -> None:
        """Writes the first timestamp of a command, where the device has timestamps; only where `is_timed`.

        Args:
            event: gets the time that the command takes.
            command: what profiles are told.
        """
        from .event_times import timing_to_fill

        index = 2 * len(self._timed)
        self._timed.append((timing_to_fill(event), command))
        if self._timestamps is None or index >= self._timestamps.query_count:  # Ctrl-C has wasted some
            return
        # COMPUTE_SHADER, not TOP_OF_PIPE: the clock starts when the commands before have made way.
        self._device.vk.vkCmdWriteTimestamp(
            self.raw, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, self._timestamps.raw, index
        )

    def end_timing(self) -> None:
        """Writes the last timestamp of the command that `begin_timing` was called for."""
        index = 2 * len(self._timed) - 1
        if self._timestamps is None or index >= self._timestamps.query_count:
            return
        self._device.vk.vkCmdWriteTimestamp(
            self.raw, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, self._timestamps.raw, index
        )
        number, whole = index // 2, self._whole
        if whole and whole[-1].stop == number:
            whole[-1] = range(whole[-1].start, number + 1)
        else:
            whole.append(range(number, number + 1))

    def end(self) -> int:
        """Ends a recording that is no queue's own; returns the VkResult."""
        result = self._device.vk.vkEndCommandBuffer(self.raw)
        self.is_clean = result >= 0
        return result

    def argument_block(self, nbytes: int) -> tuple[Buffer, int]:
        """Returns host-visible memory for an argument block: a buffer, and a byte offset in it.

        The memory is this command buffer's until it has run.
        """
        limits = self._device.physical.limits
        alignment = max(
            limits.min_storage_buffer_offset_alignment, limits.min_uniform_buffer_offset_alignment, 16
        )
        offset = (self._argument_bytes + alignment - 1) & -alignment
        if self._arguments and offset + nbytes > self._arguments[self._argument_chunk].nbytes:
            self._argument_chunk += 1
            offset = 0
        if self._argument_chunk == len(self._arguments):
            size = max(ARGUMENT_CHUNK_BYTES, nbytes)
            self._arguments.append(self._device.memory.allocate(size, for_host=True))
        self._argument_bytes = offset + nbytes
        return self._arguments[self._argument_chunk], offset

    def has_argument_block(self, memory: Buffer) -> bool:
        """Returns whether `argument_block` gave out this buffer."""
        return any(memory is chunk for chunk in self._arguments)

    def retire(self) -> None:
        """Lets go of everything; the device has run the commands."""
        try:
            if self._timed:
                self._tell_times()
        finally:
            self.forget()
            self.is_clean = True

    def kernel_names(self) -> list[str]:
        """Returns the kernels that it launches, each once."""
        return [item.kernel_name for item in self.keep if isinstance(item, Pipeline)]

    def _tell_times(self) -> None:
        """Hands the times of the commands to events and profiles."""
        if self._timestamps is None:
            for _, command in self._timed:
                if command is not None:
                    profile.note_command(command, self.submitted_ns, None)
            return
        ticks = [pair for commands in self._whole for pair in self._timestamps.read(commands)]
        timed = [self._timed[number] for commands in self._whole for number in commands]
        mask = (1 << self._device.physical.timestamp_valid_bits) - 1  # the counter wraps
        for (timing, command), (start, end) in zip(timed, ticks, strict=True):
            elapsed = (end - start) & mask
            if timing is not None:
                timing.add(start, elapsed, mask)
                self._device.event_clock.note(timing)
            if command is not None:
                profile.note_command(command, self.submitted_ns, (start, elapsed))

    def forget(self) -> None:
        """Lets go of everything without reading timestamps."""
        self._timed.clear()
        self._whole.clear()
        self.keep.clear()
        self.end_result = self.submit_result = None
        self.launch_count = 0
        self.is_read_by_host = False
        self.pipeline = self.layout = self.descriptor_set = self.pushed = None
        self._argument_chunk = self._argument_bytes = 0
