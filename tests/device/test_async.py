"""Waiting in other ways: callbacks, await, Ctrl-C in a wait, threads that run meanwhile."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import subprocess
import sys
import threading

import pytest

import lapilli as lp
from lapilli.vk_runtime import timeline_semaphore
from lapilli.vk_runtime.constants import VK_TIMEOUT
from lapilli.vk_runtime.headers import make

pytestmark = [pytest.mark.device, pytest.mark.native_only("interpreted launches have ended when they return")]


@lp.kernel
def add_one(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] + 1.0


@lp.kernel
def say():
    print("said", lp.global_id(0))


@lp.kernel(debug=True)
def fail_at(number: lp.i32):
    i = lp.global_id(0)
    assert i != number, "no 2"


def signal_to(queue, value):
    """Lets a queue's timeline go on as the device would."""
    logical = queue.device.logical
    info = make("VkSemaphoreSignalInfo", semaphore=queue.semaphore, value=value)
    logical.check(logical.vk.vkSignalSemaphore(logical.raw, info), "vkSignalSemaphore")


def as_if_at_work(queue, count):
    """Returns the timeline values of submissions that a queue believes to have made."""
    begin = queue.last_value
    queue._submitted = begin + count
    return range(begin + 1, begin + count + 1)


def test_a_callback_gets_the_event_once(device):
    x = lp.zeros(64, device=device)
    called = threading.Semaphore(0)
    found = []

    def note(event):
        found.append(event)
        called.release()

    event = add_one[64](x)
    event.add_done_callback(note)
    assert called.acquire(timeout=60)
    event.wait().add_done_callback(note)  # it has ended: called at once
    assert found == [event, event] and event.done


def test_callbacks_come_as_the_timeline_goes_on(device):
    queue = lp.Queue(device)
    first, second, third = values = as_if_at_work(queue, 3)
    found, called = [], threading.Semaphore(0)

    def note(event):
        found.append(event.value)
        called.release()

    for value in (first, third, second):
        lp.Event(queue, value).add_done_callback(note)
    for count, value in enumerate(values):
        assert len(found) == count
        signal_to(queue, value)
        assert called.acquire(timeout=60)
    assert found == [*values]


@pytest.mark.parametrize("function", [3, None, "print"])
def test_what_cannot_be_called_is_refused_at_once(device, function):
    for event in (add_one[64](lp.zeros(64, device=device)), lp.Queue(device).marker().wait()):
        with pytest.raises(lp.InvalidError, match="expects a function of the event, found " + repr(function)):
            event.add_done_callback(function)


def test_what_a_callback_raises_is_logged_and_the_next_one_called(device, caplog):
    x = lp.zeros(64, device=device)
    called = threading.Event()
    event = add_one[64](x).wait()
    with caplog.at_level(logging.ERROR):
        event.add_done_callback(lambda _: 1 / 0)
        event.add_done_callback(lambda _: called.set())
    assert called.wait(60)
    assert [r.getMessage() for r in caplog.records] == ["a done callback raised"]


def test_a_callback_that_ends_its_thread_keeps_no_other_waiting(device, caplog):
    queue, called = lp.Queue(device), threading.Event()
    first, second = as_if_at_work(queue, 2)
    lp.Event(queue, first).add_done_callback(lambda _: sys.exit())
    lp.Event(queue, second).add_done_callback(lambda _: called.set())
    with caplog.at_level(logging.ERROR):
        signal_to(queue, first)
        signal_to(queue, second)
        assert called.wait(60)
    assert [r.getMessage() for r in caplog.records] == ["a done callback raised"]


def test_many_awaits_at_once(device):
    x, y = lp.zeros(64, device=device), lp.zeros(64, device=device)

    async def step(array):
        for _ in range(20):
            event = await add_one[64](array)
            assert event.done

    async def main():
        await asyncio.gather(*[step(array) for array in (x, y) for _ in range(4)])

    asyncio.run(main())
    assert (x.numpy() == 80).all() and (y.numpy() == 80).all()


def test_an_await_that_is_cancelled_does_no_harm(device):
    queue = lp.Queue(device)

    async def main():
        (value,) = as_if_at_work(queue, 1)
        event = lp.Event(queue, value)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(wait_for(event), 0.01)
        signal_to(queue, value)
        assert await event is event

    async def wait_for(event):
        await event

    asyncio.run(main())


def test_an_await_keeps_the_loop_going_until_prints_can_be_read(device, capsys):
    """The kernel runs once more meanwhile, and its prints share one buffer."""
    queue = lp.Queue(device)
    event = say[1].on(queue)()
    event.wait()
    event = say[1].on(queue)()
    queue.flush()
    queue.block_until(event.value)
    (value,) = as_if_at_work(queue, 1)
    (report,) = queue.reports.pending
    report.last_launch = value
    rescued = threading.Event()

    def rescue_loop():
        rescued.set()
        signal_to(queue, value)

    rescue = threading.Timer(20, rescue_loop)
    rescue.start()

    async def main():
        asyncio.get_running_loop().call_later(0.01, go_on)
        assert await event is event

    def go_on():
        rescue.cancel()
        signal_to(queue, value)

    asyncio.run(main())
    assert not rescued.is_set() and capsys.readouterr().out == "said 0\n" * 2


def test_an_await_raises_what_the_kernel_failed_with(device):
    async def main():
        await fail_at[4](2)

    with pytest.raises(lp.KernelTrap, match="no 2"):
        asyncio.run(main())
    device.default_queue.wait()


def test_ctrl_c_in_a_long_wait_leaves_the_queue_usable(device, monkeypatch):
    x = lp.zeros(64, device=device)
    queue = lp.Queue(device)
    event = add_one[64].on(queue)(x)
    real = queue._clock._wait_semaphores

    def interrupted(*_):
        signal.raise_signal(signal.SIGINT)
        return VK_TIMEOUT

    monkeypatch.setattr(queue._clock, "_wait_semaphores", interrupted)
    monkeypatch.setattr(queue._clock, "_spin_until", lambda *_: False)
    monkeypatch.setattr(queue._clock, "_takes_turns", False)
    with pytest.raises(KeyboardInterrupt):
        event.wait()
    monkeypatch.setattr(queue._clock, "_wait_semaphores", real)
    add_one[64].on(queue)(x).wait()
    assert event.done and (x.numpy() == 2).all()


def test_other_threads_run_during_a_wait(device, monkeypatch):
    monkeypatch.setattr(
        timeline_semaphore, "_WAIT_SLICE_NS", 60_000_000_000
    )  # it does not come back by itself
    queue = lp.Queue(device)
    (value,) = as_if_at_work(queue, 1)
    thread = threading.Thread(target=queue.wait_for, args=(value,))
    thread.start()
    signal_to(queue, value)  # never reached if the wait kept the interpreter
    thread.join(30)
    assert not thread.is_alive()


def test_queues_with_callbacks_come_and_go(device):
    x = lp.zeros(64, device=device)
    for _ in range(20):
        queue, called = lp.Queue(device), threading.Event()
        add_one[64].on(queue)(x).add_done_callback(lambda _, called=called: called.set())
        assert called.wait(60)
        queue.close()
    del queue
    gc.collect()
    assert (x.numpy() == 20).all()


PROGRAM = """
import lapilli as lp

@lp.kernel
def add_one(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] + 1.0

x = lp.zeros(64, device={selector!r})
for _ in range(50):
    add_one[64](x).add_done_callback(lambda event: None)
"""


def test_the_process_ends_with_callbacks_pending(device, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.format(selector=device.selector))
    done = subprocess.run((sys.executable, file), capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.filterwarnings("error")
def test_asyncio_waits_for_tasks_of_events(device):
    x = lp.zeros(64, device=device)

    async def wait():
        events = [add_one[64](x) for _ in range(2)]
        with pytest.raises(lp.InvalidError, match=r"asyncio\.ensure_future\(event\)"):
            await asyncio.wait(events)
        done, pending = await asyncio.wait([asyncio.ensure_future(event) for event in events])
        assert len(done) == 2 and not pending

    asyncio.run(wait())
    assert (x.numpy() == 2).all()
