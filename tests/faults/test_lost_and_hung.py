"""A device that is lost or hangs: one error says what happened, and every later use says why, for all threads."""

from __future__ import annotations

import asyncio
import logging
import threading

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import timeline_semaphore, watchdog
from lapilli.vk_runtime.constants import VK_ERROR_DEVICE_LOST

from .fake_driver import FakeDriver
from .program import add

pytestmark = pytest.mark.native_only("faults of drivers")


def arrays(device: lp.Device) -> tuple[lp.Array, lp.Array]:
    return lp.asarray(np.arange(10, dtype=np.float32), device=device), lp.zeros(10, device=device)


def test_every_use_of_a_lost_device_says_why(fake: lp.Device, driver: FakeDriver) -> None:
    x, y = arrays(fake)
    queue = lp.Queue(fake)
    add[10].on(queue)(1.0, x, y)  # makes the pipeline, and is submitted at once
    early = add[10].on(queue)(1.0, x, y)
    with lp.graph() as graph:
        add[10](1.0, x, y)
    driver.inject("vkQueueSubmit", VK_ERROR_DEVICE_LOST, driver.calls["vkQueueSubmit"])
    with pytest.raises(
        lp.DeviceLostError, match=r"vkQueueSubmit returned VK_ERROR_DEVICE_LOST \(-4\).*start a new process"
    ):
        early.wait()
    uses = {
        "launch": lambda: add[10](1.0, x, y),
        "wait": early.wait,
        "poll": lambda: early.done,
        "queue": queue.wait,
        "new queue": lambda: lp.Queue(fake),
        "read": y.numpy,
        "write": lambda: x.copy_from(np.ones(10, np.float32)),
        "fill": lambda: x.fill(1),
        "copy": lambda: x.copy_from(y),
        "array": lambda: lp.zeros(3, device=fake),
        "replay": graph.replay,
        "callback": lambda: early.add_done_callback(print),
        "statistics": fake.memory_stats,
    }
    for name, use in uses.items():
        with pytest.raises(lp.DeviceLostError) as raised:
            use()
            raise AssertionError(name)
        assert str(raised.value).count("vkQueueSubmit returned VK_ERROR_DEVICE_LOST") == 1, name
        assert raised.value.code == "LP4200"
    for release in (x.release, graph.release, queue.close, early.queue.close):
        release()  # gives up, and needs no device


def test_a_handler_is_told_of_the_loss(fake: lp.Device, driver: FakeDriver) -> None:
    told: list[lp.Error] = []
    queue = lp.Queue(fake, async_handler=told.extend)
    add[10].on(queue)(1.0, *arrays(fake))
    add[10].on(queue)(1.0, *arrays(fake))  # the first one made the pipeline, and was submitted at once
    driver.inject("vkQueueSubmit", VK_ERROR_DEVICE_LOST, driver.calls["vkQueueSubmit"])
    queue.wait()
    assert [type(error) for error in told] == [lp.DeviceLostError]


def test_a_device_that_a_thread_of_ours_finds_lost_says_why(fake: lp.Device, driver: FakeDriver) -> None:
    x, y = arrays(fake)
    queue = lp.Queue(fake)
    add[10].on(queue)(1.0, x, y).wait()
    fake.logical.flusher.is_awake = True  # without a thread: its looks are here
    event = add[10].on(queue)(1.0, x, y)
    driver.inject("vkQueueSubmit", VK_ERROR_DEVICE_LOST, driver.calls["vkQueueSubmit"])
    with lp.config.override(flush_after=0.001):
        seen = fake.logical.flusher._look(frozenset())
        assert seen and not fake.logical.flusher._look(seen)
    with pytest.raises(lp.DeviceLostError, match=r"vkQueueSubmit returned VK_ERROR_DEVICE_LOST"):
        event.wait()


def test_callbacks_are_called_when_the_device_is_lost(fake: lp.Device, driver: FakeDriver) -> None:
    x, y = arrays(fake)
    driver.is_hung = True
    event, called = add[10](1.0, x, y), threading.Event()
    event.add_done_callback(lambda _: called.set())
    driver.inject("vkWaitSemaphores", VK_ERROR_DEVICE_LOST, driver.calls["vkWaitSemaphores"])
    driver.inject("vkWaitSemaphores", VK_ERROR_DEVICE_LOST, driver.calls["vkWaitSemaphores"] + 1)
    assert called.wait(30)
    with pytest.raises(lp.DeviceLostError, match="vkWaitSemaphores"):
        event.wait()


def test_commands_before_a_failed_submission_still_run_and_are_waited_for(
    fake: lp.Device, driver: FakeDriver
) -> None:
    """The device takes no more, but has not lost what it has: nothing that it uses may go."""
    x, y = arrays(fake)
    queue = lp.Queue(fake)
    add[10].on(queue)(1.0, x, y)
    queue.flush()
    driver.inject("vkQueueSubmit", -1, driver.calls["vkQueueSubmit"])
    event = add[10].on(queue)(1.0, x, y)
    with pytest.raises(
        lp.DeviceLostError, match="did not take commands: vkQueueSubmit returned VK_ERROR_OUT_OF_HOST"
    ):
        event.wait()
    x.release()
    y.release()
    queue.close()  # the fixture closes the device, and the driver watches


@pytest.mark.parametrize("failures", [1, 100])
def test_a_device_that_cannot_be_waited_for_is_not_destroyed(
    fake: lp.Device, driver: FakeDriver, failures: int
) -> None:
    """What went before a submission that failed may run while the driver has no memory to wait for it."""
    x, y = arrays(fake)
    queue = lp.Queue(fake)
    add[10].on(queue)(1.0, x, y)
    queue.flush()
    driver.inject("vkQueueSubmit", -1, driver.calls["vkQueueSubmit"])
    with pytest.raises(lp.DeviceLostError, match="did not take commands"):
        add[10].on(queue)(1.0, x, y).wait()
    for call in range(failures):
        driver.inject("vkDeviceWaitIdle", -1, call)
    fake.shut_down()
    assert ("vkDestroyDevice" in driver.calls) == (failures == 1)


def test_a_hang_is_ended_where_it_is_asked_for(fake: lp.Device, driver: FakeDriver) -> None:
    x, y = arrays(fake)
    driver.is_hung = True
    event = add[10](1.0, x, y)
    with lp.config.override(hang_timeout=1e-9), pytest.raises(lp.DeviceLostError) as raised:
        event.wait()
    assert raised.value.code == "LP4201"
    assert "hangs: nothing has ended for 1e-09 s (LAPILLI_HANG_TIMEOUT); running: kernel 'add'" in str(
        raised.value
    )
    with pytest.raises(
        lp.DeviceLostError, match=r"was lost earlier: it hung, nothing has ended .* kernel 'add'"
    ):
        x.numpy()
    fake.shut_down()
    assert "vkDestroyDevice" not in driver.calls, "what may still run is left as it is"


def test_a_hang_ends_where_callbacks_and_coroutines_wait(fake: lp.Device, driver: FakeDriver) -> None:
    """Nobody waits beside them, who would notice it."""
    x, y = arrays(fake)
    driver.is_hung = True
    event, called = add[10](1.0, x, y), threading.Event()

    async def wait() -> None:
        await event

    with lp.config.override(hang_timeout=1e-9):
        event.add_done_callback(lambda _: called.set())
        assert called.wait(30)
        with pytest.raises(lp.DeviceLostError, match=r"it hung, nothing has ended .* kernel 'add'"):
            asyncio.run(wait())


def test_a_hang_in_a_replay_names_its_kernels(fake: lp.Device, driver: FakeDriver) -> None:
    x, y = arrays(fake)
    with lp.graph() as graph:
        add[10](1.0, x, y)
    driver.is_hung = True
    event = graph.replay()
    with (
        lp.config.override(hang_timeout=1e-9),
        pytest.raises(lp.DeviceLostError, match="running: kernel 'add'"),
    ):
        event.wait()


def test_a_long_wait_says_once_what_runs(
    fake: lp.Device, driver: FakeDriver, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "WARN_AFTER_S", 0.0)
    x, y = arrays(fake)
    driver.is_hung = True  # first: a launch that made a pipeline may be submitted at once
    event = add[10](1.0, x, y)
    slices = []
    wait_slice = timeline_semaphore.TimelineSemaphore.wait_slice

    def recover(semaphore: timeline_semaphore.TimelineSemaphore, value: int) -> bool:
        slices.append(value)
        if len(slices) == 10:
            driver.is_hung = False
        return wait_slice(semaphore, value)

    monkeypatch.setattr(timeline_semaphore.TimelineSemaphore, "wait_slice", recover)
    with caplog.at_level(logging.WARNING, "lapilli"):
        event.wait()
    (record,) = caplog.records
    assert "nothing has ended for 0 s; running: kernel 'add'" in record.getMessage()


def test_a_driver_that_may_be_compiling_is_named(
    fake: lp.Device, driver: FakeDriver, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "COMPILING_AFTER_S", 0.0)
    monkeypatch.setattr(watchdog, "_JUST_BEFORE_S", 3600.0)  # however slow this machine is
    x, y = arrays(fake)
    wait_slice = timeline_semaphore.TimelineSemaphore.wait_slice
    slices: list[int] = []

    def recover(semaphore: timeline_semaphore.TimelineSemaphore, value: int) -> bool:
        slices.append(value)
        if len(slices) % 5 == 0:
            driver.is_hung = False
        return wait_slice(semaphore, value)

    monkeypatch.setattr(timeline_semaphore.TimelineSemaphore, "wait_slice", recover)
    with caplog.at_level(logging.WARNING, "lapilli"):
        driver.is_hung = True
        event = add[10](1.0, x, y)
        event.wait()
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == y.device.has(lp.Aspect.CPU)
    assert all(
        "kernel 'add' runs for the first time and nothing has ended for" in m and "still compiling it" in m
        for m in messages
    )
    monkeypatch.setattr(watchdog, "_JUST_BEFORE_S", 0.0)
    caplog.clear()
    with caplog.at_level(logging.WARNING, "lapilli"):
        driver.is_hung = True
        event = add[10](1.0, x, y)
        event.wait()
    assert not caplog.records


def test_progress_of_another_queue_is_progress(fake: lp.Device, driver: FakeDriver) -> None:
    """A wait lasts as long as the device goes on: each look of the watchdog lets another submission end."""
    x, y = arrays(fake)
    first, last = lp.Queue(fake, in_order=True), lp.Queue(fake)
    driver.is_hung = True
    for _ in range(5):
        add[10].on(first)(1.0, x, y)
        first.flush()
    event = add[10].on(last)(1.0, x, y)
    last.flush()
    driver.is_hung, driver.is_slow = False, True
    with lp.config.override(hang_timeout=1e-9):
        event.wait()
    if fake.is_cpu():  # for GPUs the wait polls first, and sees it all
        assert driver.calls["vkWaitSemaphores"] > 2


@pytest.mark.parametrize("value", ["-1", "soon", "inf", "nan", "true"])
def test_the_timeout_is_a_number_of_seconds(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAPILLI_HANG_TIMEOUT", value)
    with pytest.raises(lp.InvalidError, match="LAPILLI_HANG_TIMEOUT takes a number of seconds; 0: never"):
        _ = lp.config.hang_timeout
