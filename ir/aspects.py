"""Aspects: SYCL's names for optional device features, with DPC++'s numbers.

The numbers are stable: they stand in IR attributes, in image properties and in files.  Vendor aspects
(from 0x10000) name what SYCL takes for granted but Vulkan makes optional.  Internal aspects are
negative and never reach a device check.  Standard library only.
"""

from __future__ import annotations

import enum

from .errors import MembersByName

VENDOR_BASE = 0x10000
"""First number of the aspects that SYCL does not define."""


class Aspect(enum.IntEnum, metaclass=MembersByName):
    """Optional features of a device (SYCL 2020 section 4.6.4.5; numbers of DPC++'s device_aspects.def)."""

    CPU = 1
    GPU = 2
    ACCELERATOR = 3
    CUSTOM = 4
    FP16 = 5
    FP64 = 6
    IMAGE = 9
    ONLINE_COMPILER = 10
    ONLINE_LINKER = 11
    QUEUE_PROFILING = 12
    USM_DEVICE_ALLOCATIONS = 13
    USM_HOST_ALLOCATIONS = 14
    USM_SHARED_ALLOCATIONS = 15
    USM_SYSTEM_ALLOCATIONS = 17
    USM_ATOMIC_HOST_ALLOCATIONS = 26
    USM_ATOMIC_SHARED_ALLOCATIONS = 27
    ATOMIC64 = 28
    HOST_DEBUGGABLE = 32
    EMULATED = 51

    VK_INT8 = VENDOR_BASE
    VK_INT16 = VENDOR_BASE + 1
    VK_INT64 = VENDOR_BASE + 2
    VK_STORAGE_8BIT = VENDOR_BASE + 3
    VK_STORAGE_16BIT = VENDOR_BASE + 4
    VK_BUFFER_DEVICE_ADDRESS = VENDOR_BASE + 5
    VK_VULKAN_MEMORY_MODEL = VENDOR_BASE + 6
    VK_BFLOAT16 = VENDOR_BASE + 7
    VK_COOPERATIVE_MATRIX = VENDOR_BASE + 8
    VK_SUBGROUP_BASIC = VENDOR_BASE + 0x10
    VK_SUBGROUP_VOTE = VENDOR_BASE + 0x11
    VK_SUBGROUP_ARITHMETIC = VENDOR_BASE + 0x12
    VK_SUBGROUP_BALLOT = VENDOR_BASE + 0x13
    VK_SUBGROUP_SHUFFLE = VENDOR_BASE + 0x14
    VK_SUBGROUP_SHUFFLE_RELATIVE = VENDOR_BASE + 0x15
    VK_FLOAT_ATOMIC_ADD = VENDOR_BASE + 0x20
    VK_FLOAT_ATOMIC_MIN_MAX = VENDOR_BASE + 0x21
    VK_FLOAT64_ATOMIC_ADD = VENDOR_BASE + 0x22

    @property
    def spelling(self) -> str:
        """The name as SYCL writes it: ``fp64`` of ``aspect::fp64``."""
        return self.name.lower()

    @property
    def is_vendor(self) -> bool:
        """Whether SYCL does not define it."""
        return self.value >= VENDOR_BASE


def aspect_spelling(number: int) -> str:
    """Returns SYCL's spelling of an aspect number, or the number where it has no name."""
    try:
        return Aspect(number).spelling
    except ValueError:
        return str(number)
