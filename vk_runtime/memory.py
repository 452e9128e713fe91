"""Device memory: blocks, parts of blocks, and the VkBuffers bound to them.

A VkDeviceMemory is expensive to make and a driver may allow only 4096, so small buffers share blocks.  Each
array has a VkBuffer of its own: a descriptor covers all of it, and robustBufferAccess keeps a wrong index
inside it.
"""

from __future__ import annotations

import gc
import itertools
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..ir.errors import MemoryAllocationError
from ..ir.lazy_logging import logger_of
from .buffer import BUFFER_USAGE, Buffer
from .constants import (
    VK_BUFFER_CREATE_SPARSE_BINDING_BIT,
    VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
)
from .handle import living
from .headers import NULL, ffi, make
from .made import Made
from .memory_block import Place
from .memory_blocks import BlockStore
from .memory_plan import MemoryPlan
from .memory_stats import HeapCounts, HeapStats, read_budget
from .spare_buffers import LARGEST, BufferStorage, SpareBuffers

if TYPE_CHECKING:
    from .logical_device import LogicalDevice

logger = logger_of(__name__)

SPARSE_BLOCK_BYTES = 1 << 16
"""What GPUs bind at least; where a mask sets limits below it, one allocation holds an array all the same."""


def _padded(nbytes: int) -> int:
    """Returns the size of a VkBuffer for an array: whole vectors of 16 bytes, which uniform buffers are made of."""
    return (nbytes + 15) & ~15


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
        self._blocks = BlockStore(device, () if plan.is_unified else plan.host_types)
        self._serials = itertools.count(1)
        self._counts: defaultdict[int, HeapCounts] = defaultdict(HeapCounts)
        self._spares = SpareBuffers(self._destroy)
        self._half_bound: dict[BufferStorage, None] = {}
        """What the driver may still put memory under, and could not be waited for: kept until it can."""
        limits = device.physical.limits
        self._harmless_bytes = min(
            limits.max_buffer_bytes, limits.max_memory_allocation_bytes, self._largest_heap()
        )
        """Bytes of a buffer that are within every limit."""

    @property
    def used_bytes(self) -> int:
        """Bytes that buffers hold, alignment included."""
        return sum(map(self._used_in, living(self._counts)))

    def _used_in(self, heap: int) -> int:
        return self._blocks.used_bytes(heap) - self._spares.bytes_in(heap)

    def stats(self) -> tuple[HeapStats, ...]:
        """Returns the state of every heap that memory can be taken from."""
        physical = self._device.physical
        heaps = {item.heap_index: item for item in physical.memory_types}
        budgets = read_budget(physical, max(heaps, default=-1) + 1)
        found: list[HeapStats] = []
        for index, item in sorted(heaps.items()):
            blocks = self._blocks.of_heap(index)
            counts, (budget, usage) = self._counts[index], budgets[index]
            found.append(
                HeapStats(
                    heap=index,
                    size=item.heap_bytes,
                    is_device_local=item.is_heap_device_local,
                    allocated=sum(block.size_bytes for block in blocks),
                    used=self._used_in(index),
                    peak=counts.peak,
                    blocks=len(blocks),
                    buffers=len(counts.holders),
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
        return self._blocks.reserved_bytes

    def allocate(self, nbytes: int, *, for_host: bool = False) -> Buffer:
        """Makes a buffer of at least `nbytes`, contents undefined.

        Args:
            nbytes: 0 gives a buffer of 4 bytes, so that every array can be bound.
            for_host: whether the host reads or writes it (staging, argument blocks).

        Raises:
            MemoryAllocationError: over the device's limits, or no memory even after a garbage collection.
            DeviceLostError: the device is lost or closed.
        """
        device = self._device
        if device.is_unusable:
            device.require_usable()
        size = max((nbytes + 3) & ~3, 4)
        if device.graveyard.pending:
            device.drain()
        spare = self._spare(size, for_host)
        if spare is not None:
            return spare
        device.collect()
        if size > self._harmless_bytes:
            self._check_limits(size, for_host)
        return self.retried(f"{size:,} bytes more", lambda: self._create(size, for_host))

    def place_image(self, needs: Any, places: list[Place]) -> None:
        """Takes memory for an image.

        Args:
            needs: its VkMemoryRequirements.
            places: gets the one place; `give_back` it when the image is gone, also after Ctrl-C in here.

        Raises:
            MemoryAllocationError: as `allocate`.
        """

        self.retried(
            f"{needs.size:,} bytes more",
            lambda: self._place([needs.size], needs, places, for_host=False, for_images=True),
        )

    def retried(self, what: str, make: Callable[[], _Made], *, waits: bool = True) -> _Made:
        """Returns what `make` makes, after a garbage collection where there is no memory for it at first.

        Args:
            what: that a device cannot hold, for messages.
            make: takes memory of the device or the driver.
            waits: for what is in flight and keeps memory; not in the middle of a launch.

        Raises:
            MemoryAllocationError: there is none, with the sizes of what there is.
        """
        try:
            return make()
        except MemoryAllocationError:
            logger.debug("no memory for %s on %s; collecting garbage", what, self._device.name)
        gc.collect()
        if waits and self._device.half_way is None:  # nothing can be submitted in the middle of a command
            self._device.wait_idle()
        self._device.collect()
        for storage in tuple(self._half_bound):
            self._destroy(storage)
        self._spares.clear()
        self._blocks.release_empty()
        try:
            return make()
        except MemoryAllocationError as error:
            raise MemoryAllocationError(f"{self._describe(what)}: {error}") from error

    def _check_limits(self, size: int, for_host: bool) -> None:
        physical = self._device.physical
        limits = physical.limits
        of_memory = (
            (limits.sparse_address_space_bytes, "sparseAddressSpaceSize, of all such arrays")
            if physical.can_bind_sparse and not for_host
            else (limits.max_memory_allocation_bytes, "maxMemoryAllocationSize, of one array")
        )
        for limit, name in (
            (limits.max_buffer_bytes, "maxBufferSize, of one array"),
            of_memory,
            (self._largest_heap(), "the size of its largest heap"),
        ):
            if size > limit:
                raise MemoryAllocationError(
                    f"{self._describe(f'{size:,} bytes more')}: its limit is {limit:,} bytes ({name}); split the array"
                )

    def _largest_heap(self) -> int:
        return max((item.heap_bytes for item in self.plan.array_types), default=0)

    def _describe(self, what: str) -> str:
        return (
            f"device '{self._device.name}' cannot hold {what} "
            f"(memory {self._largest_heap():,} bytes, arrays of this process {self.used_bytes:,})"
        )

    def _spare(self, size: int, for_host: bool) -> Buffer | None:
        """Returns what another array has let go of; None where there is nothing of this size."""
        buffer, held = self._new_buffer(size)
        if not self._take_spare((size, for_host), held):
            buffer.close()
            return None
        return self._complete(buffer, held[0])

    def _create(self, size: int, for_host: bool) -> Buffer:
        key = (size, for_host)
        buffer, held = self._new_buffer(size)
        if not self._take_spare(key, held):
            storage = BufferStorage(Made(self._device, "Buffer"), key, next(self._serials))
            held.append(storage)
            try:
                self._fill(storage)
            except MemoryAllocationError:
                buffer.close()  # before the next attempt, also where the error's traceback keeps it
                raise
        return self._complete(buffer, held[0])

    def _take_spare(self, key: tuple[int, bool], held: list[BufferStorage]) -> bool:
        if not self._spares.take(key, held):
            return False
        self._note_holder(held[0].heap, held)
        return True

    def _new_buffer(self, size: int) -> tuple[Buffer, list[BufferStorage]]:
        """Returns a buffer, and the list that gets what it is made of."""
        held: list[BufferStorage] = []
        buffer = Buffer(NULL, size, 0, 0)
        buffer._own(self._device.graveyard, partial(self._retire, held))  # pyright: ignore[reportPrivateUsage] - the maker owns
        return buffer, held

    @staticmethod
    def _complete(buffer: Buffer, storage: BufferStorage) -> Buffer:
        buffer.raw, buffer.serial, buffer.padded_nbytes = storage.raw, storage.serial, _padded(buffer.nbytes)
        buffer.host_address, buffer.device_address = storage.host_address, storage.device_address
        buffer.is_concurrent = True
        return buffer

    def _fill(self, storage: BufferStorage) -> None:
        """Makes a VkBuffer with its memory."""
        device, (nbytes, for_host) = self._device, storage.key
        size = _padded(nbytes)
        usage = BUFFER_USAGE | (
            VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT if device.has_buffer_addresses else 0
        )
        # An array within the limit may be beyond it with its padding, which is then the driver's to judge.
        limit = max(device.physical.limits.max_memory_allocation_bytes, SPARSE_BLOCK_BYTES)
        is_sparse = device.physical.can_bind_sparse and not for_host and size > limit
        flags = VK_BUFFER_CREATE_SPARSE_BINDING_BIT if is_sparse else 0
        storage.made.create(make("VkBufferCreateInfo", flags=flags, size=size, usage=usage, **device.sharing))
        raw = storage.raw
        needs = ffi.new("VkMemoryRequirements*")
        device.vk.vkGetBufferMemoryRequirements(device.raw, raw, needs)
        sizes = self._part_sizes(needs) if is_sparse else [needs.size]
        self._place(sizes, needs, storage.places, for_host=for_host)
        block, offset = storage.places[0].block, storage.places[0].offset_bytes
        if is_sparse:
            from . import sparse_memory

            storage.bindings.append(sparse_memory.SparseBinding(device, raw, storage.places))
            storage.bindings[0].begin()
            storage.bindings[0].wait()
            storage.bindings.clear()
        else:
            result = device.vk.vkBindBufferMemory(device.raw, raw, block.raw, offset)
            device.check(result, "vkBindBufferMemory")
        # A GPU may show the host its own memory, but over the bus: arrays there are copied through staging memory.
        if block.host_address and (for_host or self.plan.is_unified) and not is_sparse:
            storage.host_address = block.host_address + offset
        if device.has_buffer_addresses:
            address_info = make("VkBufferDeviceAddressInfo", buffer=raw)
            storage.device_address = device.vk.vkGetBufferDeviceAddress(device.raw, address_info)
        storage.heap, storage.nbytes = block.memory_type.heap_index, sum(sizes)
        storage.may_be_spare = size <= LARGEST and not is_sparse

    def _retire(self, held: list[BufferStorage]) -> None:
        """Keeps what a buffer was made of for another, or destroys it; after Ctrl-C it may be called again."""
        for storage in tuple(held):
            if storage.may_be_spare:
                self._counts[storage.heap].holders.difference_update((id(storage.places), id(held)))
                self._spares.put(storage, held)
            else:
                self._destroy(storage)

    def _destroy(self, storage: BufferStorage) -> None:
        if all(binding.end() for binding in storage.bindings):
            self._destroy_now(storage)
        else:
            self._half_bound[storage] = None

    def _destroy_now(self, storage: BufferStorage) -> None:
        storage.made.destroy()
        self.give_back(storage.places)
        storage.bindings.clear()
        self._half_bound.pop(storage, None)

    def _part_sizes(self, needs: Any) -> list[int]:
        """Returns how a buffer that is too large for one allocation is divided."""
        from .sparse_memory import part_sizes

        largest = self._device.physical.limits.max_memory_allocation_bytes
        return part_sizes(needs.size, needs.alignment, largest)

    def _place(
        self,
        sizes: list[int],
        needs: Any,
        places: list[Place],
        *,
        for_host: bool,
        for_images: bool = False,
    ) -> None:
        """Finds or makes room for the parts of a buffer or image, all in memory of one type; the last type's failure is
        the one reported.  `places` gets each as it is taken."""
        types = self.plan.host_types if for_host else self.plan.array_types
        failure: MemoryAllocationError | None = None
        for memory_type in types:
            if not needs.memoryTypeBits >> memory_type.index & 1:
                continue
            try:
                self._blocks.place(memory_type, sizes, needs.alignment, places, for_images=for_images)
            except MemoryAllocationError as error:
                failure = error
                continue
            self._note_holder(memory_type.heap_index, places)
            return
        raise failure or MemoryAllocationError("no memory type suits it")

    def _note_holder(self, heap: int, holder: list[Any]) -> None:
        counts = self._counts[heap]
        counts.holders.add(id(holder))
        if self._blocks.used_bytes(heap) > counts.peak:  # with the spare buffers, which are many
            counts.peak = max(counts.peak, self._used_in(heap))

    def give_back(self, places: list[Place]) -> None:
        """Takes back the memory of a buffer or image, and empties the list; after Ctrl-C it may be called again."""
        self._blocks.free(places)
        for counts in living(self._counts.values()):
            counts.holders.discard(id(places))

    def close(self) -> None:
        """Frees every block; call it after the buffers are gone, when nothing runs any more."""
        for storage in tuple(self._half_bound):
            self._destroy_now(storage)
        self._spares.clear()
        self._blocks.close()
