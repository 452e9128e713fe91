"""A device of the fake driver: small, with or without memory that the host sees."""

from __future__ import annotations

import dataclasses
from typing import Any

from lapilli.vk_runtime.constants import (
    VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
    VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
    VK_PHYSICAL_DEVICE_TYPE_CPU,
    VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
)
from lapilli.vk_runtime.device import Device
from lapilli.vk_runtime.headers import ffi
from lapilli.vk_runtime.physical_device import DeviceLimits, MemoryType, PhysicalDevice

from .fake_driver import HEAP_BYTES, FakeDriver

EMPTY: dict[str, Any] = {"str": "", "bytes": b"", "bool": False, "frozenset[str]": frozenset()}
"""What members are where nobody asks, by their annotation; others are 0."""

_HOST = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT

LIMITS: dict[str, Any] = {
    "max_work_group_invocations": 256,
    "max_work_group_size": (256, 256, 64),
    "max_work_group_count": (65535, 65535, 65535),
    "max_shared_memory_bytes": 32768,
    "max_push_constant_bytes": 128,
    "max_uniform_buffer_range_bytes": 65536,
    "max_uniform_buffers": 12,
    "max_storage_buffer_range_bytes": 1 << 27,
    "max_storage_buffers": 16,
    "min_storage_buffer_offset_alignment": 16,
    "min_uniform_buffer_offset_alignment": 16,
    "max_memory_allocation_bytes": HEAP_BYTES,
    "max_buffer_bytes": HEAP_BYTES,
    "timestamp_period_ns": 1.0,
}


def physical_device(driver: FakeDriver, *, is_gpu: bool, **changes: Any) -> PhysicalDevice:
    """Returns what a driver would say about it."""
    fields: dict[str, Any] = {
        "instance": driver.instance,
        "raw": ffi.cast("VkPhysicalDevice", 8),
        "name": "fake GPU" if is_gpu else "fake CPU",
        "device_type": VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU if is_gpu else VK_PHYSICAL_DEVICE_TYPE_CPU,
        "vendor_id": 1,
        "device_id": 2,
        "driver_id": 0,
        "driver_name": "fake",
        "driver_info": "1.0",
        "device_uuid": bytes(16),
        "driver_uuid": bytes(16),
        "driver_version": 1,
        "pipeline_cache_uuid": bytes(16),
        "reported_api_version": (1, 3, 0),
        "api_version": (1, 3),
        "extensions": frozenset(),
        "features": frozenset(
            {"robustBufferAccess", "timelineSemaphore", *(("synchronization2",) if is_gpu else ())}
        ),
        "limits": filled(DeviceLimits, LIMITS),
        "signed_zero_inf_nan_preserve_bits": (32,),
        "subgroup_size": 4,
        "sub_group_sizes": (4,),
        "can_choose_subgroup_size": False,
        "subgroup_operations": 1,
        "memory_types": tuple(
            MemoryType(
                index=index,
                properties=properties,
                heap_index=index,
                heap_bytes=HEAP_BYTES,
                is_heap_device_local=index == 0,
            )
            for index, properties in enumerate(
                (
                    VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | (0 if is_gpu else _HOST),
                    _HOST,
                )
            )
        ),
        "compute_units": None,
        "queue_family_index": 0,
        "compute_queue_families": (0,),
        "sparse_queue_families": (),
        "timestamp_valid_bits": 64,
    }
    return filled(PhysicalDevice, fields | changes)


def filled(kind: type[Any], values: dict[str, Any]) -> Any:
    """Returns a record of a dataclass; members that are not given are zero or empty."""
    return kind(
        **{
            member.name: values.get(member.name, EMPTY.get(str(member.type), 0))
            for member in dataclasses.fields(kind)
        }
    )


def make_device(driver: FakeDriver, *, is_gpu: bool, **changes: Any) -> Device:
    """Returns a device; call `Device.shut_down` when done with it."""
    return Device(physical_device(driver, is_gpu=is_gpu, **changes), "fake-gpu" if is_gpu else "fake-cpu")
