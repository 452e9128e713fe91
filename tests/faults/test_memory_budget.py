"""`Device.memory_stats` on a driver with VK_EXT_memory_budget, which neither software driver has."""

from __future__ import annotations

from typing import Any

import pytest

import lapilli as lp
from lapilli.vk_runtime.headers import ffi, structure_type
from lapilli.vk_runtime.memory_stats import BUDGET_EXTENSION

from .fake_device import make_device
from .fake_driver import FakeDriver

pytestmark = pytest.mark.native_only("the memory of devices")


@pytest.mark.parametrize("is_gpu", [False, True], ids=["cpu", "gpu"])
def test_budget_and_usage_are_those_of_now(driver: FakeDriver, is_gpu: bool) -> None:
    used = [5 << 20, 6 << 20]

    def answer(_: Any, root: Any) -> None:
        found = ffi.cast("VkPhysicalDeviceMemoryBudgetPropertiesEXT*", root.pNext)
        assert found.sType == structure_type("VkPhysicalDeviceMemoryBudgetPropertiesEXT")
        for heap, nbytes in enumerate(used):
            found.heapBudget[heap], found.heapUsage[heap] = (20 + heap) << 20, nbytes

    driver.instance.vk.vkGetPhysicalDeviceMemoryProperties2 = answer
    device = make_device(driver, is_gpu=is_gpu, extensions=frozenset({BUDGET_EXTENSION}))
    lp.zeros(10, device=device).numpy()
    first, second = device.memory_stats()
    assert (first.budget, first.driver_usage) == (20 << 20, 5 << 20)
    assert (second.budget, second.driver_usage) == (21 << 20, 6 << 20)
    used[0] = 9 << 20
    assert device.memory_stats()[0].driver_usage == 9 << 20
    device.shut_down()
    assert driver.violations == []


def test_without_it_there_is_none(driver: FakeDriver) -> None:
    device = make_device(driver, is_gpu=True)
    assert {(heap.budget, heap.driver_usage) for heap in device.memory_stats()} == {(None, None)}
    device.shut_down()
