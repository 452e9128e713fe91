"""Which memory is taken from the driver and given back: on a device like a GPU, whose arrays are staged."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import memory
from lapilli.vk_runtime.headers import ffi
from lapilli.vk_runtime.memory_blocks import FIRST_PINNED_BYTES
from tests.interruption import interrupted_at

from .fake_device import make_device
from .fake_driver import FakeDriver

pytestmark = pytest.mark.native_only("the memory of devices")

LARGE = FIRST_PINNED_BYTES // 4
"""Elements of an array whose staging buffer is too large for the first block."""


def block_sizes(driver: FakeDriver) -> list[int]:
    memories = [item for item in driver.living.values() if item.kind == "DeviceMemory"]
    return sorted(ffi.sizeof(item.content) for item in memories)


def copy_there_and_back(device: lp.Device, count: int) -> None:
    host = np.arange(count, dtype=np.float32)
    assert np.array_equal(lp.asarray(host, device=device).numpy(), host)


def test_little_is_pinned_for_small_copies(driver: FakeDriver) -> None:
    device = make_device(driver, is_gpu=True)
    copy_there_and_back(device, 1000)
    first, second = block_sizes(driver)
    assert first == FIRST_PINNED_BYTES < second
    device.shut_down()
    assert driver.violations == []


def test_arrays_that_come_and_go_take_no_memory_each_time(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "LARGEST", 0)  # buffers that are kept would hold their blocks
    device = make_device(driver, is_gpu=True)
    for count in (1000, LARGE, 1000):
        copy_there_and_back(device, count)
    taken = driver.calls["vkAllocateMemory"]
    for count in (1000, LARGE) * 3:
        copy_there_and_back(device, count)
    assert driver.calls["vkAllocateMemory"] == taken
    assert len(block_sizes(driver)) == 2, "one for arrays, one for staging: the larger one stays"
    device.shut_down()
    assert driver.violations == []


def test_nothing_is_placed_in_a_block_whose_end_was_interrupted(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "LARGEST", 0)  # as above
    device = make_device(driver, is_gpu=True)
    for point in range(100):
        copy_there_and_back(device, 1000)
        device.logical.collect()
        if not interrupted_at(point, device.logical.memory._blocks.release_empty):
            break
        copy_there_and_back(device, 1000)
        assert driver.violations == [], f"point {point}"
    assert point > 5, "there were points to interrupt at"
    device.shut_down()
    assert driver.violations == [] and driver.living == {}
