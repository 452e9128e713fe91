"""The timeline semaphores of queues that are gone are those of the next ones.

Drivers may look at a semaphore that a submission has waited for after they have told that it has run: lavapipe does,
and crashed in its own thread when the semaphore was destroyed at that moment.
"""

from __future__ import annotations

import gc

import pytest

import lapilli as lp
from tests.interruption import interrupted_at

from .fake_driver import FakeDriver
from .program import add

pytestmark = pytest.mark.native_only("semaphores")

SIZE = 50


def come_and_go(device: lp.Device, x: lp.Array, y: lp.Array) -> None:
    """The default queue waits on the device for one that goes then."""
    queue = lp.Queue(device)
    assert add[SIZE].on(queue)(1.0, x, y).value == queue.last_value
    add[SIZE](1.0, x, y).wait()
    del queue
    gc.collect()
    device.logical.collect()


def semaphores(driver: FakeDriver) -> int:
    return sum(item.kind == "Semaphore" for item in driver.living.values())


def test_none_is_destroyed_before_the_device(fake: lp.Device, driver: FakeDriver) -> None:
    x, y = lp.zeros(SIZE, device=fake), lp.zeros(SIZE, device=fake)
    for _ in range(3):
        come_and_go(fake, x, y)
    made = semaphores(driver)
    for _ in range(20):
        come_and_go(fake, x, y)
    y.numpy()
    assert semaphores(driver) == made and not driver.calls["vkDestroySemaphore"]


def test_a_queue_goes_on_counting_where_another_ended(fake: lp.Device) -> None:
    x, y = lp.zeros(SIZE, device=fake), lp.zeros(SIZE, device=fake)
    first = lp.Queue(fake)
    for _ in range(3):
        add[SIZE].on(first)(1.0, x, y).wait()
    number, before = first.semaphore, first.last_value
    x, y = lp.zeros(SIZE, device=fake), lp.zeros(SIZE, device=fake)
    del first
    gc.collect()
    fake.logical.collect()
    second = lp.Queue(fake)
    assert second.semaphore == number and second.last_value == before
    assert second.event().done and not second.is_busy()
    event = add[SIZE].on(second)(1.0, x, y)
    assert event.value == before + 1
    event.wait()
    second.close()


def test_ctrl_c_anywhere_shares_none(driver: FakeDriver, fake: lp.Device) -> None:
    x, y = lp.zeros(SIZE, device=fake), lp.zeros(SIZE, device=fake)
    point = 0
    while interrupted_at(point, lambda: come_and_go(fake, x, y)):
        gc.collect()
        fake.logical.collect()
        point += 3
        if point % 10 == 0:
            queues = [lp.Queue(fake) for _ in range(4)]
            assert len({queue.semaphore for queue in queues}) == 4, f"point {point}"
            del queues
    assert point > 20 and semaphores(driver) < 20
