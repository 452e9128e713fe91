"""One VkBuffer over several VkDeviceMemory: arrays beyond maxMemoryAllocationSize (sparse binding, Vulkan 1.3, 34).

All of a buffer is bound before anybody sees it, and stays so: afterwards it is a buffer like any other, but the host
does not see it, since each of its parts would be mapped elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import starmap
from typing import TYPE_CHECKING, Any

from ..ir.errors import DeviceLostError, MemoryAllocationError
from .headers import NULL, ffi, make
from .timeline_semaphore import TimelineSemaphore

if TYPE_CHECKING:
    from .logical_device import LogicalDevice
    from .memory_block import Place


def part_sizes(nbytes: int, alignment: int, max_allocation_bytes: int) -> list[int]:
    """Returns the sizes of the parts of a buffer, in order: as few as can be.

    Args:
        nbytes: of the buffer as the driver wants it, a multiple of `alignment`.
        alignment: of the driver's sparse blocks.
        max_allocation_bytes: of one VkDeviceMemory.
    """
    largest = max(max_allocation_bytes // alignment, 1) * alignment
    whole, rest = divmod(nbytes, largest)
    return [largest] * whole + ([rest] if rest else [])


class SparseBinding:
    """Memory that is to be put under a buffer.  Use it with the device's lock held.

    Ctrl-C may come at any point of `begin` and `wait`; `end` knows what the driver has been told.

    Args:
        device: borrowed.
        buffer: a VkBuffer made for sparse binding.
        places: what lies under it, in order.

    Raises:
        MemoryAllocationError: the driver has no memory for a semaphore.
    """

    def __init__(self, device: LogicalDevice, buffer: Any, places: Sequence[Place]) -> None:
        self._device = device
        self._semaphore = TimelineSemaphore(device)
        self._value = self._semaphore.completed + 1
        self._results: list[int] = []
        """What vkQueueBindSparse returned, once it was called."""
        binds = ffi.new("VkSparseMemoryBind[]", len(places))
        start = 0
        for bind, place in zip(binds, places, strict=True):
            bind.resourceOffset, bind.size = start, place.nbytes
            bind.memory, bind.memoryOffset = place.block.raw, place.offset_bytes
            start += place.nbytes
        timeline = make(
            "VkTimelineSemaphoreSubmitInfo",
            signalSemaphoreValueCount=1,
            pSignalSemaphoreValues=ffi.new("uint64_t[]", [self._value]),
        )
        of_buffer = make("VkSparseBufferMemoryBindInfo", buffer=buffer, bindCount=len(places), pBinds=binds)
        self._info = make(
            "VkBindSparseInfo",
            pNext=timeline,
            bufferBindCount=1,
            pBufferBinds=of_buffer,
            signalSemaphoreCount=1,
            pSignalSemaphores=self._semaphore.raw_array,
        )

    def begin(self) -> None:
        """Tells the driver.

        Raises:
            MemoryAllocationError: the driver has no memory for its tables.
            DeviceLostError: the device is lost.
        """
        device = self._device
        arguments = (device.vk_queue, 1, self._info, NULL)
        # `starmap` notes the result before Python looks for signals, as in `submitter`.
        self._results.extend(starmap(device.vk.vkQueueBindSparse, (arguments,)))
        device.check(self._results[0], "vkQueueBindSparse")

    def wait(self) -> None:
        """Waits until the memory is there.

        Raises:
            DeviceLostError: the device is lost, or hangs.
        """
        if self._semaphore.completed < self._value:
            self._semaphore.block_until(self._value)

    def end(self) -> bool:
        """Waits where Ctrl-C or a lack of memory kept `wait` from it; on a lost device nothing waits.

        Returns:
            Whether the buffer may go, and this with its semaphore; not where memory ran out again.
        """
        if self._results and self._results[0] >= 0:
            try:
                self.wait()
            except DeviceLostError:
                pass
            except MemoryAllocationError:
                return False
        return True
