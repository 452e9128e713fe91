"""The queue families of a physical device: which one computes, and which one only copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .constants import (
    VK_DRIVER_ID_NVIDIA_PROPRIETARY,
    VK_QUEUE_COMPUTE_BIT,
    VK_QUEUE_GRAPHICS_BIT,
    VK_QUEUE_SPARSE_BINDING_BIT,
    VK_QUEUE_TRANSFER_BIT,
)
from .headers import NULL, ffi
from .instance import Instance


@dataclass(frozen=True, slots=True)
class QueueFamilies:
    """Indices of queue families."""

    computing: tuple[int, ...]
    """The first is used; there may be none."""
    copying: int | None
    """One that only copies."""
    binding_sparse: tuple[int, ...]
    timestamp_bits: tuple[int, ...]
    """timestampValidBits of every family."""


COMPUTE_ONLY_DRIVERS = frozenset({VK_DRIVER_ID_NVIDIA_PROPRIETARY})
"""Drivers whose queues without graphics are quicker: on an NVIDIA H200 a launch and its wait take a loop in C 12.2 µs
there and 14.3 on a queue with graphics; barriers, kernels and opening the device take as long on both."""


def computing_families(families: Sequence[tuple[int, int]], driver_id: int) -> tuple[int, ...]:
    """Returns the queue families that compute, the one to use first.

    That is the first, the most general in every driver known; of `COMPUTE_ONLY_DRIVERS` one that can do all that it
    can, but for graphics.

    Args:
        families: VkQueueFlags, 0 where there is no queue, and timestampValidBits of each.
        driver_id: VkDriverId.
    """
    found = [index for index, (flags, _) in enumerate(families) if flags & VK_QUEUE_COMPUTE_BIT]
    if found and driver_id in COMPUTE_ONLY_DRIVERS:
        flags, timestamp_bits = families[found[0]]
        wanted = flags & ~VK_QUEUE_GRAPHICS_BIT & (2 * VK_QUEUE_SPARSE_BINDING_BIT - 1)
        found.sort(
            key=lambda index: (
                bool(families[index][0] & VK_QUEUE_GRAPHICS_BIT)
                or families[index][0] & wanted != wanted
                or families[index][1] < timestamp_bits
            )
        )
    return tuple(found)


def read_queue_families(instance: Instance, raw: Any, driver_id: int) -> QueueFamilies:
    """Returns the families of a device."""
    count = ffi.new("uint32_t*")
    instance.vk.vkGetPhysicalDeviceQueueFamilyProperties(raw, count, NULL)
    families = ffi.new("VkQueueFamilyProperties[]", max(count[0], 1))
    instance.vk.vkGetPhysicalDeviceQueueFamilyProperties(raw, count, families)
    flags = [families[index].queueFlags if families[index].queueCount else 0 for index in range(count[0])]
    timestamp_bits = tuple(families[index].timestampValidBits for index in range(count[0]))

    def with_flag(bit: int) -> tuple[int, ...]:
        return tuple(index for index, value in enumerate(flags) if value & bit)

    computing = computing_families(list(zip(flags, timestamp_bits, strict=True)), driver_id)
    others = {*computing, *with_flag(VK_QUEUE_GRAPHICS_BIT)}
    copying = (index for index in with_flag(VK_QUEUE_TRANSFER_BIT) if index not in others)
    return QueueFamilies(
        computing,
        next(copying, None),
        with_flag(VK_QUEUE_SPARSE_BINDING_BIT),
        timestamp_bits,
    )
