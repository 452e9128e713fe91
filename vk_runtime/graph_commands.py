"""Command buffers that are recorded once and submitted again and again, and a submission of them."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from .command_buffer import CommandBuffer
from .constants import VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT
from .handle import Handle
from .headers import ffi, make

if TYPE_CHECKING:
    from .graph_nodes import Node
    from .logical_device import LogicalDevice
    from .tracked import Tracked


class CommandPool(Handle):
    """A VkCommandPool whose command buffers come back when their segment goes.  Hold the device's lock."""

    def __init__(self, device: LogicalDevice) -> None:
        self._device = device
        self._free: deque[CommandBuffer] = deque()
        info = make(
            "VkCommandPoolCreateInfo",
            flags=VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
            queueFamilyIndex=device.physical.queue_family_index,
        )
        self.raw = self._make(device, "CommandPool", info, "one graph more")

    def take(self) -> CommandBuffer:
        """Returns a command buffer that nothing uses."""
        if self._free:
            found = self._free.popleft()
            found.forget()
            return found
        device = self._device
        info = make("VkCommandBufferAllocateInfo", commandPool=self.raw, commandBufferCount=1)
        out = ffi.new("VkCommandBuffer*")
        device.check(device.vk.vkAllocateCommandBuffers(device.raw, info, out), "vkAllocateCommandBuffers")
        return CommandBuffer(device, out[0])

    def return_with(self, owner: object, command_buffer: CommandBuffer) -> None:
        """Arranges that a command buffer comes back when `owner` goes: no submission uses it then."""
        # deque.append is atomic, so this is safe wherever the last reference goes.
        weakref.finalize(owner, self._free.append, command_buffer).atexit = False


Step = tuple["Node", bool]
"""A command, and whether a barrier goes before it."""


def content_of(device: LogicalDevice, steps: Sequence[Step], is_last: bool) -> tuple[object, ...]:
    """Returns what a segment consists of: the commands, the serials of the memory that they use now, and whether the
    host may read behind it what the graph wrote."""
    serials = [cast("Tracked", memory).serial for node, _ in steps for memory, _ in node.uses()]
    return tuple(steps), tuple(serials), is_last and device.host_reads


class Segment:
    """Some commands of a graph in one command buffer.  Submissions hold it while the device runs it.

    Args:
        device: borrowed.
        pool: gives the command buffer.
        steps: what it holds.
        is_last: whether it ends the graph.
    """

    def __init__(
        self, device: LogicalDevice, pool: CommandPool, steps: Sequence[Step], is_last: bool
    ) -> None:
        self._pool, barriers = pool, device.barriers
        self._command_buffer = command_buffer = pool.take()
        pool.return_with(self, command_buffer)
        command_buffer.begin(is_simultaneous=True)
        try:
            for node, has_barrier in steps:
                if has_barrier:
                    barriers.record(command_buffer.raw, *barriers.between)
                device.undisturbed(node.encode, command_buffer)
            if is_last and device.host_reads:
                barriers.record(command_buffer.raw, *barriers.for_host)
        finally:
            # Also after an exception: a command buffer that is being recorded cannot be begun again.
            result = command_buffer.end()
        device.check(result, "vkEndCommandBuffer")
        self.content = content_of(device, steps, is_last)
        """What was recorded: an equal one need not be recorded again."""

    @property
    def raw(self) -> Any:
        """The VkCommandBuffer."""
        return self._command_buffer.raw


class Batch:
    """One submission of command buffers that are recorded already; to a queue, what its own command buffer is."""

    def __init__(
        self, submitted: Any, count: int, keep: Sequence[object], kernel_names: Sequence[str] = ()
    ) -> None:
        self.raw: Any = None
        """The VkCommandBuffer to end; there is none."""
        self.submitted: Any = submitted
        """VkCommandBuffer[]."""
        self.count = count
        """How many."""
        self._kernel_names = kernel_names
        self.keep: list[object] = [*keep]
        """What must live until the device has run them."""
        self.end_result: int | None = 0
        self.submit_result: int | None = None
        """As of a command buffer that has been ended."""
        self.value = 0
        """Timeline value that its submission signals."""
        self.submitted_ns = 0
        """As of a command buffer."""
        self.begin: Callable[[int], object] | None = None
        """Is called with its value in front of the submission, where finalisers can neither launch nor wait."""
        self.may_follow: Callable[[], bool] | None = None
        """Is called before, where they cannot either: whether it may follow what the queue has submitted."""

    def kernel_names(self) -> Sequence[str]:
        """Returns the kernels that it launches."""
        return self._kernel_names

    def forget(self) -> None:
        """Lets go of what must live until the device has run the commands."""
        self.keep.clear()
