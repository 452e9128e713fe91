"""The memory of a device in blocks, and where in them there is room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..ir.errors import MemoryAllocationError
from ..ir.lazy_logging import logger_of
from .headers import NULL
from .memory_block import MemoryBlock
from .physical_device import MemoryType

if TYPE_CHECKING:
    from .logical_device import LogicalDevice

logger = logger_of(__name__)

BLOCK_BYTES = 32 << 20
"""Size of a shared block; a buffer of more than half of it gets memory of its own."""

FIRST_PINNED_BYTES = 1 << 20
"""Size of the first shared block of host memory that a GPU reads over a bus: an H200's driver takes 9 ms to pin
32 MiB of it, and many programs copy little."""

SPARE_BYTES = 256 << 20
"""Memory of large arrays that is kept when they go, for the next ones of their size; an eighth of the heap at most."""


class Place(NamedTuple):
    """A part of a block."""

    block: MemoryBlock
    offset_bytes: int
    nbytes: int


class BlockStore:
    """All blocks of one VkDevice.  Use it with the device's lock held.

    Args:
        device: borrowed; its owner calls `close`.
        pinned: types of host memory whose first block is small.
    """

    def __init__(self, device: LogicalDevice, pinned: Sequence[MemoryType] = ()) -> None:
        self._device = device
        self._pinned = pinned
        self._blocks: list[MemoryBlock] = []

    @property
    def reserved_bytes(self) -> int:
        """Bytes taken from the driver."""
        return sum(block.size_bytes for block in self._blocks)

    def of_heap(self, heap: int) -> list[MemoryBlock]:
        """Returns the blocks of a heap."""
        return [block for block in self._blocks if block.memory_type.heap_index == heap]

    def place(
        self, memory_type: MemoryType, sizes: Sequence[int], alignment: int, *, for_images: bool
    ) -> list[Place]:
        """Finds or makes room for each of `sizes` in memory of one type.

        Raises:
            MemoryAllocationError: there is none for all of them; nothing was taken.
        """
        places: list[Place] = []
        try:
            for size in sizes:
                places.append(self._place_part(memory_type, size, alignment, for_images=for_images))
        except BaseException:
            self.free(places)
            raise
        return places

    def _place_part(self, memory_type: MemoryType, size: int, alignment: int, *, for_images: bool) -> Place:
        largest = self._device.physical.limits.max_memory_allocation_bytes
        block_bytes = min(BLOCK_BYTES, memory_type.heap_bytes // 8, largest)
        if size <= block_bytes // 2:
            for block in self._blocks:
                is_shared = block.size_bytes <= BLOCK_BYTES and block.for_images == for_images
                if is_shared and block.memory_type is memory_type:
                    offset = block.free_list.allocate(size, alignment)
                    if offset is not None:
                        return Place(block, offset, size)
        else:
            for block in self._blocks:
                fits = size <= block.size_bytes <= size + size // 4 and block.is_empty
                if fits and block.memory_type is memory_type and block.for_images == for_images:
                    block.free_list.allocate(size, 1)
                    return Place(block, 0, size)
        wanted = block_bytes if size <= block_bytes // 2 else size
        if size <= FIRST_PINNED_BYTES // 2 and memory_type in self._pinned:
            is_first = not any(block.memory_type is memory_type for block in self._blocks)
            wanted = min(wanted, FIRST_PINNED_BYTES) if is_first else wanted
        in_heap = self._bytes_in_heap(memory_type)
        if in_heap + wanted > memory_type.heap_bytes:
            self.release_empty()
            in_heap = self._bytes_in_heap(memory_type)
        # Software drivers hand out more than their heap and the system then ends the process.
        if in_heap + wanted > memory_type.heap_bytes:
            raise MemoryAllocationError(
                f"heap {memory_type.heap_index}, of {memory_type.heap_bytes:,} bytes, has "
                f"{memory_type.heap_bytes - in_heap:,} left"
            )
        block = MemoryBlock(self._device, memory_type, wanted, for_images=for_images)
        try:
            block.take()
            self._blocks.append(block)
        except BaseException:  # Ctrl-C may come behind either call
            if block not in self._blocks:
                block.give_back()
            raise
        logger.debug("took %d bytes of heap %d on %s", wanted, memory_type.heap_index, self._device.name)
        offset = block.free_list.allocate(size, 1)
        assert offset == 0, "a new block starts empty"
        return Place(block, 0, size)

    def _bytes_in_heap(self, memory_type: MemoryType) -> int:
        """Returns what was taken from the heap of a memory type."""
        return sum(block.size_bytes for block in self.of_heap(memory_type.heap_index))

    def free(self, places: Sequence[Place]) -> None:
        """Takes back what `place` returned."""
        for place in places:
            place.block.free_list.free(place.offset_bytes, place.nbytes)
            self._keep_or_free(place.block)

    def _keep_or_free(self, block: MemoryBlock) -> None:
        if not block.is_empty:
            return
        # Empty blocks are kept, so that a loop that makes and drops arrays does not allocate each time: the largest of
        # each kind that small arrays share, and of larger ones as much as `SPARE_BYTES`, the latest first.
        spare = [b for b in self._blocks if b.is_empty and b is not block]
        if block.size_bytes <= BLOCK_BYTES:
            alike = [b for b in spare if b.size_bytes <= BLOCK_BYTES and b.is_like(block)]
            for smaller in sorted([block, *alike], key=lambda b: b.size_bytes)[:-1]:
                self._free_block(smaller)
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

    def release_empty(self) -> None:
        """Gives empty blocks back to the driver."""
        for block in [b for b in self._blocks if b.is_empty]:
            self._free_block(block)

    def _free_block(self, block: MemoryBlock) -> None:
        try:
            block.give_back()
        finally:  # Ctrl-C may come behind the call: nothing may be placed in memory that is gone
            if block.raw == NULL:
                self._blocks.remove(block)
        logger.debug("gave back %d bytes on %s", block.size_bytes, self._device.name)

    def close(self) -> None:
        """Frees every block; call it after the buffers are gone."""
        for block in list(self._blocks):
            self._free_block(block)
