"""Launches of kernels that check or print, waited for again and again: recorded once, and nothing goes untold."""

from __future__ import annotations

import gc
import time

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import repeated_launches
from lapilli.vk_runtime.reports import KernelReport

pytestmark = pytest.mark.native_only("what devices report")

SIZE = 64
TIMES = 12


@lp.kernel
def below(limit: lp.i32, x: lp.Array[lp.i32]):
    i = lp.global_id(0)
    assert x[i] < limit
    x[i] += 1


@lp.kernel
def say(x: lp.Array[lp.i32]):
    x[0] += 1
    print("say", x[0])


@lp.kernel
def tell(x: lp.Array[lp.i32]):
    x[0] += 1
    print("tell", x[0])


@lp.kernel
def say_much(x: lp.Array[lp.i32]):
    i = lp.global_id(0)
    print("much", i)
    x[i] += 1


@pytest.fixture
def queue(device):
    return lp.Queue(device)


@pytest.fixture
def x(device):
    return lp.zeros(SIZE, lp.i32, device=device)


def poll(event):
    """Has the event's launch end, and its report unread."""
    while not event.done:
        time.sleep(0)


@pytest.mark.parametrize("launch", [lambda q, x: below[SIZE].on(q)(100, x), lambda q, x: say[1].on(q)(x)])
def test_they_are_recorded_a_few_times_only(launch, queue, x, opened, capsys):
    for _ in range(TIMES):
        launch(queue, x).wait()
    assert len(opened) <= repeated_launches.ENOUGH + 2
    assert x.numpy()[0] == TIMES
    assert capsys.readouterr().out in ("", "".join(f"say {n + 1}\n" for n in range(TIMES)))


def test_a_failure_is_raised_by_its_own_wait_once(queue, x):
    for _ in range(TIMES):
        below[SIZE].on(queue)(TIMES, x).wait()
    with pytest.raises(lp.KernelTrap) as caught:
        below[SIZE].on(queue)(TIMES, x).wait()
    assert f"limit is {TIMES}" in str(caught.value) and len(caught.value.work_item) == 1
    queue.wait()
    x.fill(0)
    for _ in range(TIMES):
        below[SIZE].on(queue)(TIMES, x).wait()
    assert np.all(x.numpy() == TIMES)


@pytest.mark.parametrize("look", ["queue", "read", "next"])
def test_a_failure_is_told_by_whatever_waits_next(look, queue, x):
    for _ in range(TIMES):
        below[SIZE].on(queue)(TIMES, x).wait()
    poll(below[SIZE].on(queue)(TIMES, x))
    other = lp.zeros(SIZE, lp.i32, device=queue.device)
    looks = {
        "queue": queue.wait,
        "read": x.numpy,
        "next": lambda: below[SIZE].on(queue)(TIMES, other).wait(),
    }
    with pytest.raises(lp.KernelTrap):
        looks[look]()
    queue.wait()


def test_lines_come_once_and_in_the_order_of_the_launches(queue, x, capsys):
    """Kept recordings note nothing on the device, so they may not stand behind lines of another kernel."""
    order = [say, say, say, say, tell, tell, tell, tell, say, tell, say, say, tell]
    for _ in range(4):
        for kernel in (say, tell):
            for _ in range(3):
                kernel[1].on(queue)(x).wait()
    capsys.readouterr()
    expected = [f"{kernel.name} {n + 1}" for n, kernel in enumerate(order)]
    for is_polled in (lambda n: True, lambda n: n % 2, lambda n: n % 3):
        x.fill(0)
        for n, kernel in enumerate(order):
            event = kernel[1].on(queue)(x)
            if is_polled(n):
                poll(event)
        queue.wait()
        assert capsys.readouterr().out.splitlines() == expected


def test_lost_lines_are_counted(queue, x, monkeypatch, capsys):
    monkeypatch.setenv("LAPILLI_PRINT_SIZE", str(8 * 10))
    for _ in range(TIMES):
        say_much[SIZE].on(queue)(x).wait()
        *lines, lost = capsys.readouterr().out.splitlines()
        assert len({line for line in lines if line.startswith("much ")}) == len(lines) == 10
        assert f"{SIZE - 10} printed lines of kernel 'say_much' lost" in lost


def test_queues_have_reports_of_their_own(device, x, capsys):
    queues = [lp.Queue(device), lp.Queue(device, in_order=True)]
    for _ in range(TIMES):
        for queue in queues:
            say[1].on(queue)(x).wait()
    assert capsys.readouterr().out == "".join(f"say {n + 1}\n" for n in range(2 * TIMES))


def test_a_graph_follows_and_precedes(queue, x, capsys):
    with lp.graph() as graph:
        tell[1](x)
    for _ in range(TIMES):
        say[1].on(queue)(x).wait()
    capsys.readouterr()
    x.fill(0)
    poll(say[1].on(queue)(x))
    poll(graph.replay(queue))
    poll(say[1].on(queue)(x))
    queue.wait()
    assert capsys.readouterr().out.splitlines() == ["say 1", "tell 2", "say 3"]


def test_recordings_that_are_kept_keep_no_report(device: lp.Device) -> None:
    """A report buffer is a megabyte, and goes with its kernel."""
    queue, x = lp.Queue(device), lp.zeros(1, lp.i32, device=device)

    def run(limit: int) -> None:
        @lp.kernel
        def counted_checks(x: lp.Array[lp.i32]):
            assert x[0] < limit
            x[0] += 1

        for _ in range(6):
            counted_checks[1].on(queue)(x).wait()

    for limit in range(100, 105):
        run(limit)
    gc.collect()
    reports = [each for each in gc.get_objects() if isinstance(each, KernelReport)]
    # That of the last launch stays until the next.
    assert len([each for each in reports if each.kernel.name == "counted_checks"]) <= 1
    assert x.numpy()[0] == 30
