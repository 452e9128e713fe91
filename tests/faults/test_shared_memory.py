"""Memory that is exported, on a driver that runs out of it."""

from __future__ import annotations

from typing import Any

import pytest

import lapilli as lp
from lapilli.vk_runtime.constants import VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT
from lapilli.vk_runtime.external_memory import allocate_exportable
from lapilli.vk_runtime.headers import ffi

from .fake_device import make_device
from .fake_driver import FakeDriver

pytestmark = pytest.mark.native_only("the memory of devices")

OUT_OF_DEVICE_MEMORY = -2


def exporting_device(driver: FakeDriver) -> lp.Device:
    def answer(_: Any, info: Any, out: Any) -> None:
        properties = ffi.cast("VkExternalBufferProperties*", out).externalMemoryProperties
        properties.externalMemoryFeatures = VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT

    driver.instance.vk.vkGetPhysicalDeviceExternalBufferProperties = answer
    return make_device(driver, is_gpu=True, extensions=frozenset({"VK_KHR_external_memory_fd"}))


def test_exported_memory_is_tried_again_after_spare_buffers_are_given_back(driver: FakeDriver) -> None:
    device = exporting_device(driver)
    logical = device.logical
    lp.empty(1000, device=device)
    with logical.lock:
        logical.collect()
    assert any(item.kind == "Buffer" for item in driver.living.values())
    driver.inject("vkAllocateMemory", OUT_OF_DEVICE_MEMORY, driver.calls["vkAllocateMemory"])
    with logical.lock:
        buffer = allocate_exportable(logical, 4000)
    assert buffer.allocation_bytes >= 4000
    assert sum(item.kind == "Buffer" for item in driver.living.values()) == 1
    del buffer
    device.shut_down()
    assert driver.violations == [] and driver.living == {}


def test_where_there_is_none_at_all_the_sizes_are_told(driver: FakeDriver) -> None:
    device = exporting_device(driver)
    calls = driver.calls["vkAllocateMemory"]
    for call in (calls, calls + 1):
        driver.inject("vkAllocateMemory", OUT_OF_DEVICE_MEMORY, call)
    with device.logical.lock, pytest.raises(lp.MemoryAllocationError, match="4,000 bytes more to export"):
        allocate_exportable(device.logical, 4000)
    device.shut_down()
    assert driver.violations == [] and driver.living == {}
