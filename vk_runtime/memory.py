"""Device memory: blocks, parts of blocks, and the VkBuffers bound to them.

A VkDeviceMemory is expensive to make and a driver may allow only 4096, so small buffers share blocks.  Each
array has a VkBuffer of its own: a descriptor covers all of it, and robustBufferAccess keeps a wrong index
inside it.
"""

from __future__ import annotations

import gc
import itertools
import logging
import weakref
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..ir.errors import MemoryAllocationError
from .constants import (
    VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT,
    VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
    VK_BUFFER_USAGE_TRANSFER_DST_BIT,
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
    VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT,
)
from .headers import NULL, ffi, make
from .memory_block import MemoryBlock
from .memory_plan import MemoryPlan
from .memory_stats import HeapCounts, HeapStats, read_budget
from .physical_device import MemoryType
from .tracked import Tracked

if TYPE_CHECKING:
    from .array import Array
    from .logical_device import LogicalDevice

logger = logging.getLogger(__name__)

BLOCK_BYTES = 32 << 20
"""Size of a shared block; a buffer of more than half of it gets memory of its own."""

SPARE_BYTES = 256 << 20
"""Memory of large arrays that is kept when they go, for the next ones of their size; an eighth of the heap at most."""

BUFFER_USAGE = (
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT
    | VK_BUFFER_USAGE_TRANSFER_DST_BIT
    | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT
    | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
    | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT
)


def _padded(nbytes: int) -> int:
    """Returns the size of a VkBuffer for an array: whole vectors of 16 bytes, which uniform buffers are made of."""
    return (nbytes + 15) & ~15


class Buffer(Tracked):
    """A VkBuffer with its memory, and which launches use it.  Made by `MemoryAllocator.allocate`.

    What lies behind the end of a borrowed one is its owner's.
    """

    def __init__(self, raw: Any, nbytes: int, serial: int, host_address: int) -> None:
        super().__init__(serial, nbytes)
        self.raw = raw
        self.padded_nbytes = nbytes
        """Bytes of the VkBuffer from where it begins, as far as the array may use them."""
        self.host_address = host_address
        """Where the host sees it, 0 where it does not."""
        self.device_address = 0
        """Where kernels see it, 0 on a device without bufferDeviceAddress."""
        self.offset_bytes = 0
        """Where it begins in the VkBuffer: 0 but for a part of a buffer that the application owns."""
        self.is_concurrent = False
        """Whether the queues of every family that the device uses may touch it."""
        self.allocation_bytes = 0
        """Size of the VkDeviceMemory of a buffer that has one of its own to share, else 0."""
        self.memory: Any = None
        """That VkDeviceMemory."""
        self.owner: weakref.ref[Array] | None = None
        """The array that it is the memory of."""

    def host_bytes(self, nbytes: int | None = None) -> Any:
        """Returns the mapped memory as a writable buffer object; valid while this object lives."""
        assert self.host_address, "not visible to the host"
        return ffi.buffer(ffi.cast("char*", self.host_address), self.nbytes if nbytes is None else nbytes)


def shared_view(device: LogicalDevice, buffer: Buffer, nbytes: int) -> Any:
    """Returns the mapped memory as a writable buffer object that keeps `buffer` alive as long as anything uses it.

    It also keeps `device` from being destroyed, which would take the memory from under it.
    """
    address = ffi.cast("char*", buffer.host_address)
    views = device.views
    views.append(None)

    def keep(_: Any, kept: Buffer = buffer) -> None:
        """Holds the buffer for as long as cffi holds this function, and is called when the view goes."""
        views.pop()

    return ffi.buffer(ffi.gc(address, keep), nbytes)


class ImagePlace(NamedTuple):
    """Memory of an image."""

    memory: Any
    """The VkDeviceMemory."""
    offset_bytes: int
    give_back: Callable[[], None]
    """Call it when the image is gone."""


_Made = TypeVar("_Made")


class MemoryAllocator:
    """All memory of one VkDevice.

    Callers hold the device's lock; it is kept even while memory that ran out makes `allocate` wait.

    Args:
        device: borrowed; destroys the blocks by `close`.
        plan: memory types in order of preference.
    """

    def __init__(self, device: LogicalDevice, plan: MemoryPlan) -> None:
        self._device = device
        self.plan = plan
        self._blocks: list[MemoryBlock] = []
        self._serials = itertools.count(1)
        self._counts: defaultdict[int, HeapCounts] = defaultdict(HeapCounts)

    @property
    def used_bytes(self) -> int:
        """Bytes that buffers hold, alignment included."""
        return sum(counts.used for counts in self._counts.values())

    def stats(self) -> tuple[HeapStats, ...]:
        """Returns the state of every heap that memory can be taken from."""
        physical = self._device.physical
        heaps = {item.heap_index: item for item in physical.memory_types}
        budgets = read_budget(physical, max(heaps, default=-1) + 1)
        found: list[HeapStats] = []
        for index, item in sorted(heaps.items()):
            blocks = [block for block in self._blocks if block.memory_type.heap_index == index]
            counts, (budget, usage) = self._counts[index], budgets[index]
            found.append(
                HeapStats(
                    heap=index,
                    size=item.heap_bytes,
                    is_device_local=item.is_heap_device_local,
                    allocated=sum(block.size_bytes for block in blocks),
                    used=counts.used,
                    peak=counts.peak,
                    blocks=len(blocks),
                    buffers=counts.buffers,
                    budget=budget,
                    driver_usage=usage,
                )
            )
        return tuple(found)

    def next_serial(self) -> int:
        """Returns a number that names a buffer in caches."""
        return next(self._serials)

    @property
    def reserved_bytes(self) -> int:
        """Bytes taken from the driver."""
        return sum(block.size_bytes for block in self._blocks)

    def allocate(self, nbytes: int, *, for_host: bool = False) -> Buffer:
        """Makes a buffer of at least `nbytes`, contents undefined.

        Args:
            nbytes: 0 gives a buffer of 4 bytes, so that every array can be bound.
            for_host: whether the host reads or writes it (staging, argument blocks).

        Raises:
            MemoryAllocationError: over the device's limits, or no memory even after a garbage collection.
            DeviceLostError: the device is lost or closed.
        """
        self._device.require_usable()
        self._device.collect()
        size = max((nbytes + 3) & ~3, 4)
        self._check_limits(size)
        return self._with_garbage_collected(size, lambda: self._create(size, for_host))

    def place_image(self, needs: Any) -> ImagePlace:
        """Takes memory for an image.

        Args:
            needs: its VkMemoryRequirements.

        Raises:
            MemoryAllocationError: as `allocate`.
        """

        def place() -> ImagePlace:
            block, offset = self._place(needs, for_host=False, for_images=True)
            length = needs.size
            self._counts[block.memory_type.heap_index].add(length)
            return ImagePlace(block.raw, offset, lambda: self._give_back(block, offset, length))

        return self._with_garbage_collected(needs.size, place)

    def _with_garbage_collected(self, size: int, make: Callable[[], _Made]) -> _Made:
        """Returns what `make` makes, after a garbage collection where there is no memory for it at first."""
        try:
            return make()
        except MemoryAllocationError:
            logger.debug("no memory for %d bytes on %s; collecting garbage", size, self._device.name)
        gc.collect()
        self._device.wait_idle()
        self._device.collect()
        self._release_empty_blocks()
        try:
            return make()
        except MemoryAllocationError as error:
            raise MemoryAllocationError(f"{self._describe(size)}: {error}") from error

    def _check_limits(self, size: int) -> None:
        limits = self._device.physical.limits
        heap = max((item.heap_bytes for item in self.plan.array_types), default=0)
        for limit, name in (
            (limits.max_buffer_bytes, "maxBufferSize, of one array"),
            (limits.max_memory_allocation_bytes, "maxMemoryAllocationSize, of one array"),
            (heap, "the size of its largest heap"),
        ):
            if size > limit:
                raise MemoryAllocationError(
                    f"{self._describe(size)}: its limit is {limit:,} bytes ({name}); split the array"
                )

    def _describe(self, size: int) -> str:
        heap = max((item.heap_bytes for item in self.plan.array_types), default=0)
        return (
            f"device '{self._device.name}' cannot hold {size:,} bytes more "
            f"(memory {heap:,} bytes, arrays of this process {self.used_bytes:,})"
        )

    def _create(self, size: int, for_host: bool) -> Buffer:
        device = self._device
        usage = BUFFER_USAGE | (
            VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT if device.has_buffer_addresses else 0
        )
        info = make("VkBufferCreateInfo", size=_padded(size), usage=usage, **device.sharing)
        out = ffi.new("VkBuffer*")
        device.check(device.vk.vkCreateBuffer(device.raw, info, NULL, out), "vkCreateBuffer")
        raw = out[0]
        needs = ffi.new("VkMemoryRequirements*")
        device.vk.vkGetBufferMemoryRequirements(device.raw, raw, needs)
        try:
            block, offset = self._place(needs, for_host)
        except BaseException:
            device.vk.vkDestroyBuffer(device.raw, raw, NULL)
            raise
        length = needs.size
        result = device.vk.vkBindBufferMemory(device.raw, raw, block.raw, offset)
        # A GPU may show the host its own memory, but over the bus: arrays there are copied through staging memory.
        is_mapped = block.host_address and (for_host or self.plan.is_unified)
        buffer = Buffer(raw, size, next(self._serials), block.host_address + offset if is_mapped else 0)
        buffer.padded_nbytes = _padded(size)
        buffer.is_concurrent = True
        counts = self._counts[block.memory_type.heap_index]
        counts.add(length)

        def destroy() -> None:
            device.vk.vkDestroyBuffer(device.raw, raw, NULL)
            self._give_back(block, offset, length)

        buffer._own(device.graveyard, destroy)  # pyright: ignore[reportPrivateUsage] - the maker owns
        device.check(result, "vkBindBufferMemory")
        if device.has_buffer_addresses:
            address_info = make("VkBufferDeviceAddressInfo", buffer=raw)
            buffer.device_address = device.vk.vkGetBufferDeviceAddress(device.raw, address_info)
        return buffer

    def _place(self, needs: Any, for_host: bool, *, for_images: bool = False) -> tuple[MemoryBlock, int]:
        """Finds or makes room; the last memory type's failure is the one reported."""
        types = self.plan.host_types if for_host else self.plan.array_types
        failure: MemoryAllocationError | None = None
        for memory_type in types:
            if not needs.memoryTypeBits >> memory_type.index & 1:
                continue
            try:
                return self._place_in(memory_type, needs.size, needs.alignment, for_images=for_images)
            except MemoryAllocationError as error:
                failure = error
        raise failure or MemoryAllocationError("no memory type suits it")

    def _place_in(
        self, memory_type: MemoryType, size: int, alignment: int, *, for_images: bool
    ) -> tuple[MemoryBlock, int]:
        block_bytes = min(BLOCK_BYTES, memory_type.heap_bytes // 8)
        if size <= block_bytes // 2:
            for block in self._blocks:
                is_shared = block.size_bytes <= BLOCK_BYTES and block.for_images == for_images
                if is_shared and block.memory_type is memory_type:
                    offset = block.free_list.allocate(size, alignment)
                    if offset is not None:
                        return block, offset
        else:
            for block in self._blocks:
                fits = size <= block.size_bytes <= size + size // 4 and block.is_empty
                if fits and block.memory_type is memory_type and block.for_images == for_images:
                    block.free_list.allocate(size, 1)
                    return block, 0
        wanted = block_bytes if size <= block_bytes // 2 else size
        in_heap = self._bytes_in_heap(memory_type)
        if in_heap + wanted > memory_type.heap_bytes:
            self._release_empty_blocks()
            in_heap = self._bytes_in_heap(memory_type)
        # Software drivers hand out more than their heap and the system then ends the process.
        if in_heap + wanted > memory_type.heap_bytes:
            raise MemoryAllocationError(
                f"heap {memory_type.heap_index}, of {memory_type.heap_bytes:,} bytes, has "
                f"{memory_type.heap_bytes - in_heap:,} left"
            )
        block = MemoryBlock(self._device, memory_type, wanted, for_images=for_images)
        self._blocks.append(block)
        logger.debug("took %d bytes of heap %d on %s", wanted, memory_type.heap_index, self._device.name)
        offset = block.free_list.allocate(size, 1)
        assert offset == 0, "a new block starts empty"
        return block, offset

    def _bytes_in_heap(self, memory_type: MemoryType) -> int:
        """Returns what was taken from the heap of a memory type."""
        heap = memory_type.heap_index
        return sum(block.size_bytes for block in self._blocks if block.memory_type.heap_index == heap)

    def _give_back(self, block: MemoryBlock, offset: int, size: int) -> None:
        self._counts[block.memory_type.heap_index].remove(size)
        block.free_list.free(offset, size)
        if not block.is_empty:
            return
        # Empty blocks are kept, so that a loop that makes and drops arrays does not allocate each time: one of those
        # that small arrays share, and of larger ones as much as `SPARE_BYTES`, the latest first.
        spare = [b for b in self._blocks if b.is_empty and b is not block]
        if block.size_bytes <= BLOCK_BYTES:
            if any(b.size_bytes <= BLOCK_BYTES for b in spare):
                self._free_block(block)
            return
        room = min(SPARE_BYTES, block.memory_type.heap_bytes // 8) - block.size_bytes
        for other in reversed([b for b in spare if b.size_bytes > BLOCK_BYTES]):
            room -= other.size_bytes
            if room < 0:
                self._free_block(other)
        if block.size_bytes > min(SPARE_BYTES, block.memory_type.heap_bytes // 8):
            self._free_block(block)
        else:
            self._blocks.remove(block)  # to the end: it is the latest
            self._blocks.append(block)

    def _release_empty_blocks(self) -> None:
        for block in [b for b in self._blocks if b.is_empty]:
            self._free_block(block)

    def _free_block(self, block: MemoryBlock) -> None:
        self._blocks.remove(block)
        logger.debug("gave back %d bytes on %s", block.size_bytes, self._device.name)
        self._device.vk.vkFreeMemory(self._device.raw, block.raw, NULL)

    def close(self) -> None:
        """Frees every block; call it after the buffers are gone."""
        for block in list(self._blocks):
            self._free_block(block)
