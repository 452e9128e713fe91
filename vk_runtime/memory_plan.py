"""Choosing memory types, before any is allocated.  Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .constants import (
    VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
    VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
    VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
    VK_PHYSICAL_DEVICE_TYPE_CPU,
    VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
)
from .physical_device import MemoryType

_HOST = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
_UNIFIED = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | _HOST

# LAZILY_ALLOCATED, PROTECTED, DEVICE_COHERENT_AMD, DEVICE_UNCACHED_AMD and RDMA_CAPABLE_NV: not for buffers.
_UNSUITABLE = 0x10 | 0x20 | 0x40 | 0x80 | 0x100


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """Memory types to use, best first; which of them a buffer accepts is known only once it exists."""

    array_types: tuple[MemoryType, ...]
    """For arrays."""
    host_types: tuple[MemoryType, ...]
    """For staging and argument buffers: visible to the host and coherent."""
    is_unified: bool
    """Whether arrays lie in memory that the host reads and writes directly, at full speed."""


def plan_memory(types: Sequence[MemoryType], device_type: int, *, staged: bool = False) -> MemoryPlan:
    """Chooses memory types for a device.

    On a CPU or an integrated GPU arrays are mapped, and copies are memcpy.  A discrete GPU may show
    its memory to the host as well, but reading that goes over the bus word by word: its arrays are copied
    through staging memory.

    Args:
        types: what the device has.
        device_type: VkPhysicalDeviceType.
        staged: plan as for a discrete GPU, whatever the device is.
    """
    usable = [item for item in types if not item.properties & _UNSUITABLE]
    shares_memory = device_type in (VK_PHYSICAL_DEVICE_TYPE_CPU, VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU)
    unified = [item for item in usable if item.properties & _UNIFIED == _UNIFIED]
    host = _prefer_cached([item for item in usable if item.properties & _HOST == _HOST])
    if shares_memory and unified and not staged:
        return MemoryPlan(array_types=tuple(_prefer_cached(unified)), host_types=tuple(host), is_unified=True)
    local = [item for item in usable if item.properties & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT]
    # A type that the host sees may stand for a small window: take it last.
    local.sort(
        key=lambda item: (bool(item.properties & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT), -item.heap_bytes)
    )
    off_device = [item for item in host if not item.properties & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT]
    return MemoryPlan(
        array_types=tuple(local or usable), host_types=tuple(off_device or host), is_unified=False
    )


def _prefer_cached(types: list[MemoryType]) -> list[MemoryType]:
    return sorted(types, key=lambda item: not item.properties & VK_MEMORY_PROPERTY_HOST_CACHED_BIT)
