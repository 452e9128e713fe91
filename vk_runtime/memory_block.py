"""MemoryBlock: one VkDeviceMemory, which buffers and images share or have for themselves."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .constants import VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT
from .free_list import FreeList
from .headers import NULL, WHOLE_SIZE, address_of, ffi, make

if TYPE_CHECKING:
    from .logical_device import LogicalDevice
    from .physical_device import MemoryType

_HUGE_PAGES_FROM = 4 << 20
"""Bytes from which large pages are asked for, as NumPy does: fewer page faults when memory is first touched."""

_PAGE = 4096
_MADV_DONTNEED = 4
_MADV_HUGEPAGE = 14


class MemoryBlock:
    """A VkDeviceMemory once `take` was called, mapped for as long as it lives where its type allows.

    Args:
        device: borrowed; `MemoryAllocator` frees the memory.
        memory_type: what to take it from.
        size_bytes: its size.
        for_images: images have blocks of their own: beside buffers they would need bufferImageGranularity.
    """

    def __init__(
        self, device: LogicalDevice, memory_type: MemoryType, size_bytes: int, *, for_images: bool
    ) -> None:
        self.memory_type = memory_type
        self.for_images = for_images
        self.size_bytes = size_bytes
        self.free_list = FreeList(size_bytes)
        self.host_address = 0
        self._device = device
        self._memory = ffi.new("VkDeviceMemory*")

    @property
    def raw(self) -> Any:
        """The VkDeviceMemory."""
        return self._memory[0]

    def take(self) -> None:
        """Takes the memory; after an exception call `give_back`.

        Raises:
            MemoryAllocationError: the driver has none.
        """
        device, memory_type = self._device, self.memory_type
        flags = NULL
        if device.has_buffer_addresses:
            flags = make("VkMemoryAllocateFlagsInfo", flags=VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT)
        info = make(
            "VkMemoryAllocateInfo",
            pNext=flags,
            allocationSize=self.size_bytes,
            memoryTypeIndex=memory_type.index,
        )
        result = device.vk.vkAllocateMemory(device.raw, info, NULL, self._memory)
        if result < 0:
            self._memory[0] = NULL  # else undefined
            device.check(result, "vkAllocateMemory")
        if memory_type.properties & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT:
            pointer = ffi.new("void**")
            result = device.vk.vkMapMemory(device.raw, self.raw, 0, WHOLE_SIZE, 0, pointer)
            device.check(result, "vkMapMemory")
            self.host_address = address_of(pointer[0])
            if device.is_cpu and self.size_bytes >= _HUGE_PAGES_FROM:
                _ask_for_huge_pages(self.host_address, self.size_bytes)

    def give_back(self) -> None:
        """Frees the memory, if there is any."""
        memory, device, free = self._memory, self._device, self._device.vk.vkFreeMemory
        raw, memory[0] = memory[0], NULL  # as `Made`
        free(device.raw, raw, NULL)

    def allocate(self, size_bytes: int, alignment: int, places: list[Place]) -> bool:
        """Takes a part of it, which `places` gets as it is taken; returns whether there is room."""
        return self.free_list.allocate(
            size_bytes, alignment, lambda offset: Place(self, offset, size_bytes), places
        )

    def is_like(self, other: MemoryBlock) -> bool:
        """Whether what lies in one may lie in the other."""
        return self.memory_type is other.memory_type and self.for_images == other.for_images

    @property
    def is_empty(self) -> bool:
        """Whether nothing lies in it."""
        return self.free_list.is_empty


@dataclass(slots=True, eq=False)
class Place:
    """A part of a block."""

    block: MemoryBlock
    offset_bytes: int
    nbytes: int


def _ask_for_huge_pages(address: int, size_bytes: int) -> None:
    """Tells the system that memory of a software driver may have large pages.  Only advice: it may refuse.

    SwiftShader writes to all that it allocates, so small pages are there already.  They are given back, with what is in
    them, which nobody has written yet: 64 MiB are copied 1.1 to 1.2 times as fast then.
    """
    start = -(-address // _PAGE) * _PAGE
    length = (address + size_bytes - start) // _PAGE * _PAGE
    advise = _madvise()
    if advise is not None and length > 0:
        advise(start, length, _MADV_HUGEPAGE)
        advise(start, length, _MADV_DONTNEED)


@functools.cache
def _madvise() -> Callable[[int, int, int], int] | None:
    """Returns the system's madvise, None where there is none."""
    if sys.platform != "linux":
        return None
    import ctypes  # only programs with large arrays need it

    found = getattr(ctypes.CDLL(None), "madvise", None)
    if found is not None:
        found.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return found
