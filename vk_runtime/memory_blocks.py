"""The memory of a device in blocks, and where in them there is room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..ir.errors import MemoryAllocationError
from ..ir.lazy_logging import logger_of
from .headers import NULL
from .memory_block import MemoryBlock, Place
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

    def used_bytes(self, heap: int) -> int:
        """Returns how many bytes of a heap buffers and images hold."""
        used = 0
        for block in self._blocks:  # every array asks
            if block.memory_type.heap_index == heap:
                used += block.free_list.used_bytes
        return used

    def of_heap(self, heap: int) -> list[MemoryBlock]:
        """Returns the blocks of a heap."""
        return [block for block in self._blocks if block.memory_type.heap_index == heap]

    def place(
        self,
        memory_type: MemoryType,
        sizes: Sequence[int],
        alignment: int,
        places: list[Place],
        *,
        for_images: bool,
    ) -> None:
        """Finds or makes room for each of `sizes` in memory of one type.

        Args:
            memory_type: where.
            sizes: in bytes.
            alignment: of each.
            places: an empty list of whoever frees what is in it, also after Ctrl-C: it gets each part as it is taken.
            for_images: or for buffers.

        Raises:
            MemoryAllocationError: there is none for all of them; nothing was taken.
        """
        try:
            for size in sizes:
                self._place_part(memory_type, size, alignment, places, for_images=for_images)
        except MemoryAllocationError:
            self.free(places)
            raise

    def _place_part(
        self, memory_type: MemoryType, size: int, alignment: int, places: list[Place], *, for_images: bool
    ) -> None:
        largest = self._device.physical.limits.max_memory_allocation_bytes
        block_bytes = min(BLOCK_BYTES, memory_type.heap_bytes // 8, largest)
        if size <= block_bytes // 2:
            for block in self._blocks:
                is_shared = block.size_bytes <= BLOCK_BYTES and block.for_images == for_images
                is_alike = is_shared and block.memory_type is memory_type
                if is_alike and block.allocate(size, alignment, places):
                    return
        else:
            for block in self._blocks:
                fits = size <= block.size_bytes <= size + size // 4 and block.is_empty
                is_alike = fits and block.memory_type is memory_type and block.for_images == for_images
                if is_alike and block.allocate(size, 1, places):
                    return
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
        is_placed = block.allocate(size, 1, places)
        assert is_placed, "a new block is empty"

    def _bytes_in_heap(self, memory_type: MemoryType) -> int:
        """Returns what was taken from the heap of a memory type."""
        return sum(block.size_bytes for block in self.of_heap(memory_type.heap_index))

    def free(self, places: list[Place]) -> None:
        """Takes back what `place` took, and empties the list; after Ctrl-C it may be called again."""
        while places:
            last = places[-1]
            block, offset, nbytes = last.block, last.offset_bytes, last.nbytes
            block.free_list.free(offset, nbytes, places.pop)
            self._keep_or_free(block)

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
