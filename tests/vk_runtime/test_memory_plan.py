"""Memory types: mapped where host and device share memory, staged on discrete GPUs."""

from __future__ import annotations

from lapilli.vk_runtime.constants import (
    VK_PHYSICAL_DEVICE_TYPE_CPU,
    VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
    VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
)
from lapilli.vk_runtime.memory_plan import plan_memory
from lapilli.vk_runtime.physical_device import MemoryType

LOCAL, VISIBLE, COHERENT, CACHED, LAZY = 1, 2, 4, 8, 16


def memory_type(index, properties, heap_bytes=1 << 30):
    return MemoryType(
        index=index, properties=properties, heap_index=0, heap_bytes=heap_bytes, is_heap_device_local=True
    )


def indices(types):
    return [item.index for item in types]


def test_cpu_maps_its_arrays():
    plan = plan_memory([memory_type(0, 15)], VK_PHYSICAL_DEVICE_TYPE_CPU)
    assert plan.is_unified and indices(plan.array_types) == [0] and indices(plan.host_types) == [0]


def test_integrated_prefers_cached_memory():
    types = [memory_type(0, LOCAL), memory_type(1, 7), memory_type(2, 15)]
    plan = plan_memory(types, VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU)
    assert plan.is_unified and indices(plan.array_types) == [2, 1]


def test_discrete_keeps_arrays_off_the_visible_window_and_stages_in_host_memory():
    types = [
        memory_type(0, LOCAL | VISIBLE | COHERENT, 256 << 20),
        memory_type(1, LOCAL),
        memory_type(2, VISIBLE | COHERENT),
        memory_type(3, VISIBLE | COHERENT | CACHED),
        memory_type(4, LOCAL | LAZY),
    ]
    plan = plan_memory(types, VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU)
    assert not plan.is_unified
    assert indices(plan.array_types) == [1, 0]
    assert indices(plan.host_types) == [3, 2]


def test_staged_on_request():
    assert not plan_memory([memory_type(0, 15)], VK_PHYSICAL_DEVICE_TYPE_CPU, staged=True).is_unified
