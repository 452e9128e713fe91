"""What is launched runs, though nobody waits, reads or asks."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable

import pytest

import lapilli as lp
from lapilli.vk_runtime import flusher
from lapilli.vk_runtime.flusher import Flusher

pytestmark = [pytest.mark.device, pytest.mark.native_only("launches of devices are submitted")]


@lp.kernel
def add_one(x: lp.Array[lp.i32]):
    x[lp.global_id(0)] += 1


@lp.kernel
def nothing(a: lp.i32):
    pass


@pytest.fixture(autouse=True)
def _queues_of_our_own(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests may have asked for the VkQueue."""
    monkeypatch.setattr(request.getfixturevalue("device").logical, "has_shared_queues", False)


def until(condition: Callable[[], bool]) -> None:
    """Waits for what other threads do; fails after half a minute."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.0005)


def warm_queue(device: lp.Device) -> tuple[lp.Queue, lp.Array]:
    """Returns a queue whose launches of `add_one` make no pipeline, which would be submitted at once."""
    queue, x = lp.Queue(device), lp.zeros(64, lp.i32, device=device)
    add_one[64].on(queue)(x).wait()
    return queue, x


def has_ended(queue: lp.Queue, event: lp.Event) -> Callable[[], bool]:
    """Returns a function that asks the driver only, as nothing may be submitted by asking."""
    return lambda: queue.progress >= event.value


def test_a_launch_runs_though_nobody_waits(device):
    queue, x = warm_queue(device)
    with lp.config.override(flush_after=0.001):
        event = add_one[64].on(queue)(x)
        until(has_ended(queue, event))
    until(lambda: queue.recording is None)  # the driver may have run it before its thread goes on
    assert (x.numpy() == 2).all()


def test_every_queue_runs_while_one_is_waited_for(device):
    queues = [warm_queue(device) for _ in range(3)]
    with lp.config.override(flush_after=0.001):
        events = [add_one[64].on(queue)(x) for queue, x in queues]
        events[0].wait()
        for (queue, _), event in zip(queues[1:], events[1:], strict=True):
            until(has_ended(queue, event))


def test_it_starts_again_after_it_slept(device, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(flusher, "LOOKS", 0)
    queue, x = warm_queue(device)
    with lp.config.override(flush_after=0.0005):
        for _ in range(3):
            event = add_one[64].on(queue)(x)
            until(has_ended(queue, event))
            until(lambda: not device.logical.flusher.is_awake)
    assert (x.numpy() == 4).all()


def test_the_thread_ends_and_keeps_no_queue(device, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(flusher, "LOOKS", 0)
    monkeypatch.setattr(flusher, "IDLE_S", 0.001)
    queue = lp.Queue(device)  # buffers would keep it, too
    nothing[64].on(queue)(1).wait()
    with lp.config.override(flush_after=0.0005):
        event = nothing[64].on(queue)(1)
        until(has_ended(queue, event))
        event.wait()
    alive = weakref.ref(queue)
    del queue, event
    until(lambda: gc.collect() >= 0 and alive() is None)
    until(lambda: device.logical.flusher._thread is None)


def test_without_it_whoever_waits_submits(device, monkeypatch: pytest.MonkeyPatch):
    def no_thread(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    queue, x = warm_queue(device)
    monkeypatch.setattr(device.logical, "flusher", Flusher(device.logical))
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    with lp.config.override(flush_after=0.001):
        event = add_one[64].on(queue)(x)
        assert queue.recording is not None
        event.wait()
    assert (x.numpy() == 2).all()


def test_a_period_that_nobody_could_sleep_does_not_end_the_thread(device, monkeypatch: pytest.MonkeyPatch):
    queue, x = warm_queue(device)
    monkeypatch.setattr(flusher, "LONGEST_S", 0.001)
    monkeypatch.setattr(device.logical, "flusher", Flusher(device.logical))
    with lp.config.override(flush_after=1e300):
        event = add_one[64].on(queue)(x)
        until(has_ended(queue, event))


def test_0_turns_it_off(device, monkeypatch: pytest.MonkeyPatch):
    queue, x = warm_queue(device)
    own = Flusher(device.logical)
    monkeypatch.setattr(device.logical, "flusher", own)
    with lp.config.override(flush_after=0):
        event = add_one[64].on(queue)(x)
        assert not own.is_awake
        assert queue.recording is not None
    event.wait()


def test_a_variable_that_makes_no_sense_is_told_by_every_launch(device, monkeypatch: pytest.MonkeyPatch):
    queue, x = warm_queue(device)
    monkeypatch.setattr(device.logical, "flusher", Flusher(device.logical))
    monkeypatch.setenv("LAPILLI_FLUSH_AFTER", "soon")
    for _ in range(2):
        with pytest.raises(lp.InvalidError, match="LAPILLI_FLUSH_AFTER takes a number of seconds"):
            add_one[64].on(queue)(x)
    monkeypatch.setenv("LAPILLI_FLUSH_AFTER", "0")
    add_one[64].on(queue)(x).wait()
    assert (x.numpy() == 2).all()
