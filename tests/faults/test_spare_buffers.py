"""VkBuffers that go on living for the next array of their size."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import memory, spare_buffers
from tests.interruption import interrupted_at

from .fake_device import make_device
from .fake_driver import FakeDriver
from .program import add

pytestmark = pytest.mark.native_only("the memory of devices")

OUT_OF_DEVICE_MEMORY = -2


def buffers(driver: FakeDriver) -> int:
    return sum(item.kind == "Buffer" for item in driver.living.values())


def collect(device: lp.Device) -> None:
    with device.logical.lock:
        device.logical.collect()


@pytest.mark.parametrize("is_gpu", [False, True])
def test_arrays_of_one_size_share_a_buffer_one_after_the_other(driver: FakeDriver, is_gpu: bool) -> None:
    device = make_device(driver, is_gpu=is_gpu)
    host = np.arange(1000, dtype=np.float32)
    made: list[int] = []
    for count in range(4):
        x = lp.asarray(host + count, device=device)
        assert np.array_equal(x.numpy(), host + count)
        del x
        made.append(driver.calls["vkCreateBuffer"])
    assert made[0] == made[-1]
    device.shut_down()
    assert driver.violations == [] and driver.living == {}


def test_arrays_that_live_have_buffers_of_their_own(driver: FakeDriver) -> None:
    device = make_device(driver, is_gpu=False)
    for _ in range(3):
        kept = [lp.full(100, value, device=device) for value in range(5)]
        assert [int(x.numpy()[0]) for x in kept] == list(range(5))
        del kept
    device.shut_down()
    assert driver.violations == [] and driver.living == {}


def test_spare_buffers_are_bounded(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spare_buffers, "MOST_BUFFERS", 5)
    device = make_device(driver, is_gpu=False)
    before = buffers(driver)
    for size in range(1, 1000, 40):
        lp.empty(size, device=device)
    collect(device)
    assert buffers(driver) - before == 5
    monkeypatch.setattr(spare_buffers, "MOST_BYTES", 4 * 990 + 64)
    lp.empty(990, device=device)
    collect(device)
    assert buffers(driver) - before == 1
    device.shut_down()
    assert driver.violations == [] and driver.living == {}


def test_they_do_not_count_as_used(driver: FakeDriver) -> None:
    device = make_device(driver, is_gpu=False)
    lp.empty(1, device=device)
    collect(device)
    before = [(heap.used, heap.buffers) for heap in device.memory_stats()]
    for _ in range(3):
        x = lp.empty(5000, device=device)
        assert [(heap.used, heap.buffers) for heap in device.memory_stats()] != before
        del x
        collect(device)
        assert [(heap.used, heap.buffers) for heap in device.memory_stats()] == before
    device.shut_down()


def test_they_go_where_memory_runs_out(driver: FakeDriver) -> None:
    device = make_device(driver, is_gpu=False)
    for size in (1000, 2000, 3000):
        lp.empty(size, device=device)
    collect(device)
    assert buffers(driver) >= 3
    driver.inject("vkCreateBuffer", OUT_OF_DEVICE_MEMORY, driver.calls["vkCreateBuffer"])
    x = lp.empty(4000, device=device)
    assert buffers(driver) == 1
    del x
    device.shut_down()
    assert driver.violations == [] and driver.living == {}


def test_ctrl_c_anywhere_loses_none_and_gives_none_away_twice(driver: FakeDriver) -> None:
    device = make_device(driver, is_gpu=False)
    collect(device)
    empty = [(heap.used, heap.buffers) for heap in device.memory_stats()]

    def come_and_go() -> None:
        x = lp.empty(1000, device=device)
        del x
        collect(device)

    come_and_go()
    point = 0
    for point in range(1000):
        lp.empty(
            1000, device=device
        )  # is retired then; what traced frames have made lives as long as they do
        if not interrupted_at(point, come_and_go):
            break
        x, y = (lp.full(1000, value, device=device) for value in (1.0, 2.0))
        assert (x.numpy() == 1).all() and (y.numpy() == 2).all()
        del x, y
        collect(device)
        assert [(heap.used, heap.buffers) for heap in device.memory_stats()] == empty, f"point {point}"
    assert 30 < point < 999
    device.shut_down()
    assert driver.violations == [] and driver.living == {}


@pytest.mark.parametrize("step", ["make", "drop"])
@pytest.mark.parametrize("largest", [spare_buffers.LARGEST, 100])
def test_a_finaliser_anywhere_gets_a_buffer_of_its_own(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, largest: int, step: str
) -> None:
    monkeypatch.setattr(memory, "LARGEST", largest)
    device = make_device(driver, is_gpu=False)
    collect(device)
    empty = [(heap.used, heap.buffers) for heap in device.memory_stats()]
    made: list[lp.Array] = []

    def make() -> None:
        made.append(lp.empty(1000, device=device))

    make()
    point = 0
    for point in range(1000):
        made.clear()
        if step == "make":
            collect(device)
        # What traced frames have made lives as long as they do: what is dropped was made before.
        if not interrupted_at(point, make if step == "make" else lambda: collect(device), instead=make):
            break
        make()
        for value in range(len(made)):
            made[value].fill(value)
        assert [int(x.numpy()[0]) for x in made] == list(range(len(made))), f"point {point}"
        used = [(heap.used, heap.buffers) for heap in device.memory_stats()]
        assert used == [(empty[0][0] + 4000 * len(made), empty[0][1] + len(made)), *empty[1:]], (
            f"point {point}"
        )
    assert 5 < point < 999
    made.clear()
    device.shut_down()
    assert driver.violations == [] and driver.living == {}


def test_descriptors_of_a_buffer_serve_the_next_array_of_its_size_and_no_other(driver: FakeDriver) -> None:
    device = make_device(driver, is_gpu=True)
    x = lp.zeros(10, device=device)

    def launch(size: int) -> int:
        before = driver.calls["vkUpdateDescriptorSets"]
        y = lp.empty(size, device=device)
        add[size](1.0, x, y).wait()
        del y
        collect(device)
        return driver.calls["vkUpdateDescriptorSets"] - before

    assert [launch(10), launch(10), launch(10)] == [1, 0, 0]
    assert [launch(9), launch(9), launch(10)] == [1, 0, 0]
    device.shut_down()
    assert driver.violations == [] and driver.living == {}
