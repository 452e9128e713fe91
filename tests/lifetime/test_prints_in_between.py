"""Whatever comes in between while reports are read and printed: each line comes once, right, and in order."""

# pyright: basic, reportArgumentType=false

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import lapilli as lp
from tests.interruption import Finalised, interrupted_at

pytestmark = [pytest.mark.device, pytest.mark.native_only("interrupts what devices report")]


@lp.kernel
def count(x: lp.Array[lp.i32]):
    x[0] += 1
    print("count", x[0])


@lp.kernel
def count_down(x: lp.Array[lp.i32]):
    x[0] += 1
    print("another", x[0])


@lp.kernel
def fail(x: lp.Array[lp.i32]):
    x[0] += 1
    print("count", x[0])
    assert x[0] < 0


def numbers(text):
    return [int(line.split()[1]) for line in text.splitlines()]


def test_a_finaliser_prints_at_any_point_of_a_wait(device, capsys) -> None:
    queue, x = lp.Queue(device), lp.zeros(1, lp.i32, device=device)
    refused, kernels, total = [], (count, count_down), 0

    def interrupt() -> None:
        nonlocal total
        try:
            kernels[total % 2][1].on(queue)(x).wait()
            total += 1
        except lp.InvalidError as error:
            refused.append(error)

    for point in range(10_000):
        count[1].on(queue)(x)
        count_down[1].on(queue)(x)
        total += 2
        before = total
        is_interrupted = interrupted_at(point, queue.wait, instead=interrupt)
        queue.wait()
        found = numbers(capsys.readouterr().out)
        assert found == list(range(before - 1, total + 1)), f"point {point}"
        if not is_interrupted:
            break
    assert point > 40, "there were points to interrupt at"
    assert len(refused) < point // 2, "refused where a report is copied, and no longer"
    assert x.numpy()[0] == total


@pytest.mark.parametrize("kernel", [count, fail])
def test_ctrl_c_at_any_point_of_a_wait_loses_nothing(kernel, device, capsys) -> None:
    errors, x = [], lp.zeros(1, lp.i32, device=device)
    queue = lp.Queue(device, async_handler=errors.extend)
    for point in range(10_000):
        kernel[1].on(queue)(x)
        is_interrupted = interrupted_at(point, queue.wait)
        queue.wait()
        assert numbers(capsys.readouterr().out) == [point + 1], f"point {point}"
        assert len(errors) == (point + 1 if kernel is fail else 0), f"point {point}"
        if not is_interrupted:
            break
    assert point > 40, "there were points to interrupt at"


def test_a_finaliser_prints_at_any_point_of_a_launch_that_was_recorded_before(device, capsys) -> None:
    queue, x = lp.Queue(device), lp.zeros(1, lp.i32, device=device)
    for _ in range(8):
        count[1].on(queue)(x).wait()
    total = 8
    capsys.readouterr()

    def interrupt() -> None:
        nonlocal total
        with contextlib.suppress(lp.InvalidError):
            count_down[1].on(queue)(x)
            total += 1
            run()

    def run() -> None:
        """Has what was launched run, and nobody read what it reports."""
        queue.flush()
        queue.block_until(queue.last_value)

    for point in range(10_000):
        before = total
        count[1].on(queue)(x)
        total += 1
        run()
        with device.logical.lock:
            queue.retire()
        is_interrupted = interrupted_at(point, lambda: count[1].on(queue)(x), instead=interrupt)
        total += 1
        queue.wait()
        assert numbers(capsys.readouterr().out) == list(range(before + 1, total + 1)), f"point {point}"
        for _ in range(16):  # it is known again
            count[1].on(queue)(x).wait()
        total += 16
        capsys.readouterr()
        if not is_interrupted:
            break
    assert point > 20, "there were points to interrupt at"
    assert x.numpy()[0] == total


def test_a_finaliser_prints_at_any_point_of_a_replay(device, capsys) -> None:
    queue, x = lp.Queue(device), lp.zeros(1, lp.i32, device=device)
    total = 0
    with lp.graph() as graph:
        count[1].on(queue)(x)
        count_down[1].on(queue)(x)

    def interrupt() -> None:
        nonlocal total
        try:
            count[1].on(queue)(x).wait()
            total += 1
        except lp.InvalidError:
            queue.wait()

    def replay() -> None:
        nonlocal total
        graph.replay(queue)
        total += 2

    for point in range(10_000):
        try:
            is_interrupted = interrupted_at(point, replay, instead=interrupt)
        except lp.InvalidError:  # the finaliser's
            is_interrupted = True
        queue.wait()
        found = numbers(capsys.readouterr().out)
        assert sorted(found) == list(range(total - len(found) + 1, total + 1)), f"point {point}"
        if not is_interrupted:
            break
    assert point > 20, "there were points to interrupt at"
    assert x.numpy()[0] == total


class Sink:
    """A sys.stdout that does something at each text."""

    def __init__(self, action) -> None:
        self.text, self.action = "", action

    def write(self, text) -> int:
        self.action(text)
        self.text += text
        return len(text)

    def flush(self) -> None:
        """Does nothing."""


def test_a_sys_stdout_that_launches(device, monkeypatch) -> None:
    """What it prints meanwhile comes behind; also where it never ends by itself."""
    queue, x = lp.Queue(device), lp.zeros(1, lp.i32, device=device)
    left = 5

    def launch(text) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            count[1].on(queue)(x).wait()

    sink = Sink(launch)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", sink)
        count[1].on(queue)(x).wait()
        assert numbers(sink.text) == list(range(1, 7))
        left = 1 << 30
        patch.setattr(sys, "getrecursionlimit", lambda: 10)
        count[1].on(queue)(x).wait()
        left = 0
        queue.wait()
    found = numbers(sink.text)
    assert 10 < len(found) < 30
    assert found == list(range(1, x.numpy()[0] + 1))


def test_a_sys_stdout_that_raises(device, monkeypatch) -> None:
    """What it did not take is counted by the next text; what comes behind waits for the next wait."""
    queue, x = lp.Queue(device), lp.zeros(1, lp.i32, device=device)

    def refuse(text) -> None:
        raise OSError("full")

    sink, own = Sink(refuse), Sink(lambda text: None)

    @lp.kernel
    def tell(x: lp.Array[lp.i32], out: lp.Stream):
        print("count", x[0])
        print("count", x[0])
        out << "stream" << x[0] << lp.Stream.endl

    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", sink)
        tell[1].on(queue)(x, lp.Stream(file=own))
        with pytest.raises(OSError, match="full"):
            queue.wait()
        with pytest.raises(OSError, match="full"):
            count[1].on(queue)(x).wait()
        sink.action = lambda text: None
        count[1].on(queue)(x).wait()
    assert own.text == "stream0\n"
    notice = "[lapilli: 3 printed lines may be lost: what takes them raised or was interrupted]\n"
    assert sink.text == f"{notice}count 2\n"


def test_ctrl_c_in_the_midst_of_writing_is_counted(device, monkeypatch) -> None:
    queue, x = lp.Queue(device), lp.zeros(1, lp.i32, device=device)

    def interrupt(text) -> None:
        raise KeyboardInterrupt

    sink = Sink(interrupt)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", sink)
        count[1].on(queue)(x)
        with pytest.raises(KeyboardInterrupt):
            queue.wait()
        sink.action = lambda text: None
        count[1].on(queue)(x).wait()
    notice = "[lapilli: 1 printed line may be lost: what takes them raised or was interrupted]\n"
    assert sink.text == f"{notice}count 2\n"


def test_threads_that_wait_for_one_queue_print_in_its_order(device, monkeypatch) -> None:
    queue, x = lp.Queue(device), lp.zeros(1, lp.i32, device=device)

    def collect(text) -> None:
        Finalised(lambda: None)
        gc.collect(0)

    def work(_) -> None:
        for _ in range(10):
            count[1].on(queue)(x).wait()

    sink = Sink(collect)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", sink)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        queue.wait()
    assert numbers(sink.text) == list(range(1, 41))


def test_callbacks_and_handlers_that_print(device, capsys) -> None:
    x, events = lp.zeros(1, lp.i32, device=device), []

    def handle(errors) -> None:
        for _ in errors:
            events.append(count[1].on(queue)(x).wait())

    queue = lp.Queue(device, async_handler=handle)

    async def use() -> None:
        loop = asyncio.get_running_loop()
        told = loop.create_future()
        event = fail[1].on(queue)(x)
        event.add_done_callback(
            lambda e: loop.call_soon_threadsafe(told.set_result, count[1].on(queue)(x).wait())
        )
        await told
        await fail[1].on(queue)(x)

    for _ in range(5):
        asyncio.run(use())
    queue.wait()
    assert len(events) == 10
    assert numbers(capsys.readouterr().out) == list(range(1, 26))
