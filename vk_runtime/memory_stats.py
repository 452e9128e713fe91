"""How much memory a device has, and what this process took of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .headers import chain, make

if TYPE_CHECKING:
    from .physical_device import PhysicalDevice

BUDGET_EXTENSION = "VK_EXT_memory_budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeapStats:
    """One memory heap of a device.  All sizes in bytes; what this process took is what lapilli took."""

    heap: int
    """Vulkan's number of the heap."""
    size: int
    """All memory of the heap."""
    is_device_local: bool
    """Whether it is the device's own; else it is memory of the host that the device sees."""
    allocated: int
    """Taken from the driver, in blocks that many arrays share."""
    used: int
    """In use by arrays, staging and argument memory, alignment included."""
    peak: int
    """The most that was in use at a time."""
    blocks: int
    """VkDeviceMemory objects."""
    buffers: int
    """VkBuffer objects: one for each array."""
    budget: int | None
    """What this process may take, as the driver estimates it now (VK_EXT_memory_budget); None: it does not say."""
    driver_usage: int | None
    """What the driver says this process has taken, other libraries included; None: it does not say."""


@dataclass(slots=True)
class HeapCounts:
    """What the allocator counts of a heap."""

    peak: int = 0
    holders: set[int] = field(default_factory=set[int])
    """The buffers and images, by the `id` of a list of theirs: noting one twice changes nothing."""


def read_budget(physical: PhysicalDevice, heap_count: int) -> Sequence[tuple[int | None, int | None]]:
    """Returns budget and usage of each heap, as the driver gives them now."""
    if BUDGET_EXTENSION not in physical.extensions:
        return [(None, None)] * heap_count
    root = make("VkPhysicalDeviceMemoryProperties2")
    budget = make("VkPhysicalDeviceMemoryBudgetPropertiesEXT")
    chain(root, budget)
    physical.instance.vk.vkGetPhysicalDeviceMemoryProperties2(physical.raw, root)
    return [(budget.heapBudget[heap], budget.heapUsage[heap]) for heap in range(heap_count)]
