"""How a wait divides its time: for a GPU between polling and blocking, by what the last waits took; on one CPU, where
a software driver takes turns with us, between giving way and blocking."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import timeline_semaphore

from .fake_device import make_device
from .fake_driver import FakeDriver
from .program import add

pytestmark = pytest.mark.native_only("what the runtime asks of drivers")

LONG_NS, SHORT_NS = 5_000_000, 20_000


class TimedDriver(FakeDriver):
    """Work takes `duration_ns` from its submission on, by a clock that only calls of the driver move on."""

    def __init__(self) -> None:
        super().__init__()
        self.duration_ns = 0
        self.now_ns = 0
        self._ready_ns = 0

    def clock(self) -> int:
        """Replaces the runtime's."""
        return self.now_ns

    def vkQueueSubmit(self, queue: Any, count: int, infos: Any, fence: Any) -> None:
        super().vkQueueSubmit(queue, count, infos, fence)
        self._ready_ns = self.now_ns + self.duration_ns

    def vkGetSemaphoreCounterValue(self, device: Any, handle: Any, out: Any) -> None:
        self.now_ns += 5_000
        if self.now_ns >= self._ready_ns:
            super().vkGetSemaphoreCounterValue(device, handle, out)
        else:
            out[0] = self._find("Semaphore", handle).content

    def vkWaitSemaphores(self, device: Any, info: Any, timeout: int) -> int:
        self.now_ns = max(self.now_ns, self._ready_ns)
        return super().vkWaitSemaphores(device, info, timeout)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> TimedDriver:
    made = TimedDriver()
    monkeypatch.setattr(timeline_semaphore, "_clock_ns", made.clock)
    return made


@pytest.fixture
def gpu(driver: TimedDriver) -> Iterator[lp.Device]:
    device = make_device(driver, is_gpu=True)
    yield device
    device.shut_down()
    assert driver.violations == []


class Waits:
    """Launches and waits; says what each wait asked the driver."""

    def __init__(self, device: lp.Device, driver: TimedDriver) -> None:
        self._driver = driver
        self._x = lp.asarray(np.ones(10, np.float32), device=device)
        self._y = lp.zeros(10, device=device)
        add[10](
            1.0, self._x, self._y
        )  # behind a launch that makes a pipeline other modules are imported, with polls
        device.default_queue.wait()

    def once(self, duration_ns: int) -> tuple[int, int]:
        """Returns how often a wait for work of this length polled, and how often it blocked."""
        calls, self._driver.duration_ns = self._driver.calls, duration_ns
        event = add[10](1.0, self._x, self._y)
        before = calls["vkGetSemaphoreCounterValue"], calls["vkWaitSemaphores"]
        event.wait()
        return calls["vkGetSemaphoreCounterValue"] - before[0], calls["vkWaitSemaphores"] - before[1]


def test_short_work_is_polled_for(gpu: lp.Device, driver: TimedDriver) -> None:
    waits = Waits(gpu, driver)
    for _ in range(5):
        polls, blocks = waits.once(SHORT_NS)
        assert 1 <= polls <= 5 and not blocks


def test_work_that_takes_longer_is_polled_for_longer(gpu: lp.Device, driver: TimedDriver) -> None:
    waits = Waits(gpu, driver)
    found = [waits.once(120_000) for _ in range(20)]
    assert found[0][1] == 1, "it gives up"
    assert found[-1] == (24, 0), "it knows"


def test_long_work_is_not_polled_for(gpu: lp.Device, driver: TimedDriver) -> None:
    waits = Waits(gpu, driver)
    found = [waits.once(LONG_NS) for _ in range(10)]
    assert found[0][0] > 5
    assert found[-1] == (0, 1)


def test_one_long_wait_is_soon_forgotten(gpu: lp.Device, driver: TimedDriver) -> None:
    waits = Waits(gpu, driver)
    for _ in range(5):
        waits.once(SHORT_NS)
    waits.once(10**12)
    assert waits.once(SHORT_NS)[1] == 0
    for _ in range(10):
        waits.once(LONG_NS)
    found = [waits.once(SHORT_NS) for _ in range(10)]
    assert found[0] == (0, 1) and found[-1][1] == 0


@pytest.fixture
def software(driver: TimedDriver) -> Iterator[lp.Device]:
    """A software device that has one CPU together with us."""
    device = make_device(driver, is_gpu=False)
    device.logical.takes_turns = True
    yield device
    device.shut_down()
    assert driver.violations == []


def give_way(driver: TimedDriver, monkeypatch: pytest.MonkeyPatch, nanoseconds: int) -> list[None]:
    """Lets some time pass whenever the runtime gives way; returns a list with an entry for each time."""
    found: list[None] = []

    def sched_yield() -> None:
        found.append(None)
        driver.now_ns += nanoseconds

    monkeypatch.setattr(os, "sched_yield", sched_yield, raising=False)
    return found


def test_giving_way_is_enough_for_short_work(
    software: lp.Device, driver: TimedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    yields = give_way(driver, monkeypatch, 2 * SHORT_NS)
    waits = Waits(software, driver)
    yields.clear()
    assert [waits.once(SHORT_NS)[1] for _ in range(5)] == [0] * 5
    assert len(yields) == 5


@pytest.mark.parametrize(
    ("nanoseconds", "blocked"), [(0, 1), (LONG_NS, 0)], ids=["in vain", "others took long"]
)
def test_giving_way_is_left_where_it_does_not_help(
    software: lp.Device, driver: TimedDriver, monkeypatch: pytest.MonkeyPatch, nanoseconds: int, blocked: int
) -> None:
    waits = Waits(software, driver)
    software.default_queue._clock._failures = 0
    yields = give_way(driver, monkeypatch, nanoseconds)
    assert waits.once(SHORT_NS)[1] == blocked
    assert {waits.once(SHORT_NS)[1] for _ in range(timeline_semaphore.WAITS_AFTER_FAILURE)} == {1}
    assert len(yields) == 1
    waits.once(SHORT_NS)
    assert len(yields) == 2, "it is tried again"


def test_several_cpus_need_no_giving_way(driver: TimedDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    yields = give_way(driver, monkeypatch, SHORT_NS)
    device = make_device(driver, is_gpu=False)
    assert [Waits(device, driver).once(SHORT_NS)[1] for _ in range(3)] == [1] * 3 and not yields
    device.shut_down()
