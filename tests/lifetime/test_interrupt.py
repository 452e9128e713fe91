"""Ctrl-C at any point of a launch or a wait: the runtime goes on, and no work is done twice."""

from __future__ import annotations

import contextlib
import gc
import threading
import weakref

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import graph_recording
from tests import interruption
from tests.interruption import interrupted_at

pytestmark = pytest.mark.device


@lp.kernel
def add_one(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] + 1.0


@lp.kernel
def add_value(x: lp.Array[lp.f32], a: lp.f32):
    x[lp.global_id(0)] += a


def lock_is_free(device):
    found = []

    def attempt():
        if device.logical.lock.acquire(timeout=5):
            device.logical.lock.release()
            found.append(True)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return bool(found)


def test_an_interrupt_anywhere_in_launch_and_wait(device):
    x = lp.zeros(64, device=device)
    queue = lp.Queue(device)
    add_one[64].on(queue)(x).wait()
    expected = 1.0
    for count in range(10_000):
        is_interrupted = interrupted_at(count, lambda: add_one[64].on(queue)(x).wait())
        found = x.numpy()
        assert found.min() == found.max()
        assert found[0] in (expected, expected + 1.0), f"point {count}"
        expected = float(found[0])
        assert lock_is_free(device), f"point {count}"
        if not is_interrupted:
            break
    assert count > 20, "there were points to interrupt at"
    add_one[64].on(queue)(x).wait()
    assert (x.numpy() == expected + 1.0).all()


def test_an_interrupt_anywhere_in_a_launch_that_is_repeated(device):
    """Submitted as it was recorded: each launch is waited for alone."""
    x = lp.zeros(64, device=device)
    for _ in range(5):
        add_one[64](x).wait()
    expected = 5.0
    for count in range(10_000):
        for _ in range(14):  # makes it one again that is waited for alone
            add_one[64](x).wait()
        is_interrupted = interrupted_at(count, lambda: add_one[64](x).wait())
        found = x.numpy()
        assert found.min() == found.max()
        assert found[0] in (expected + 14, expected + 15), f"point {count}"
        expected = float(found[0])
        assert lock_is_free(device), f"point {count}"
        if not is_interrupted:
            break
    assert count > 10, "there were points to interrupt at"


def test_an_interrupt_anywhere_in_equal_launches(device):
    """Recorded behind an equal launch: only what changed is pushed, and only looked at where it changed."""
    x = lp.zeros(64, device=device)
    queue = device.default_queue
    queue.wait()
    expected = 0.0
    values = (1.0, 1.0, 1.0, 64.0, 64.0, 64.0, 64.0)
    sums = [sum(values[:n]) for n in range(len(values) + 1)]

    def launch():
        for a in values:
            add_value[64](x, a)

    for count in range(10_000):
        is_interrupted = interrupted_at(count, launch)
        add_value[64](x, 64.0)
        add_value[64](x, 1.0)
        found = x.numpy()
        assert found.min() == found.max()
        assert found[0] - expected - 65 in sums, f"point {count}"
        expected = float(found[0]) if found[0] < 1e6 else 0.0
        if not expected:
            x.fill(0)
        assert lock_is_free(device), f"point {count}"
        if not is_interrupted:
            break
    assert count > 50, "there were points to interrupt at"


def test_an_interrupt_anywhere_in_launches_in_turn(device):
    """Each is bound again behind the other; a kept recording behind another's, too."""
    x, y = lp.zeros(64, device=device), lp.zeros(64, device=device)
    queue = device.default_queue
    queue.wait()
    expected = (0.0, 0.0)

    def launch():
        for _ in range(3):
            add_one[64](x)
            add_value[64](y, 2.0)

    for count in range(10_000):
        is_interrupted = interrupted_at(count, launch)
        add_value[64](y, 2.0)
        add_one[64](x)
        found = x.numpy(), y.numpy()
        assert all(one.min() == one.max() for one in found)
        steps = (found[0][0] - expected[0] - 1, (found[1][0] - expected[1] - 2) / 2)
        assert 3 >= steps[0] >= steps[1] >= steps[0] - 1 >= -1, f"point {count}"
        expected = float(found[0][0]), float(found[1][0])
        assert lock_is_free(device), f"point {count}"
        if not is_interrupted:
            break
    assert count > 50, "there were points to interrupt at"


def test_an_interrupt_anywhere_in_a_kept_launch_on_a_queue(device):
    x = lp.zeros(64, device=device)
    queue = lp.Queue(device)
    expected = 0.0
    for count in range(10_000):
        for _ in range(14):
            add_value[64].on(queue)(x, 1.0).wait()
        is_interrupted = interrupted_at(count, lambda: add_value[64].on(queue)(x, 1.0).wait())
        found = x.numpy()
        assert found.min() == found.max()
        assert found[0] in (expected + 14, expected + 15), f"point {count}"
        expected = float(found[0])
        assert lock_is_free(device), f"point {count}"
        if not is_interrupted:
            break
    assert count > 10, "there were points to interrupt at"


def test_an_interrupt_anywhere_in_making_an_array(device):
    kept = lp.ones(64, device=device)
    for _ in range(2):
        kept.numpy()  # the second read keeps staging memory, where there is any, as long as the array lives
    allocator = device.logical.memory

    def used():
        device.default_queue.wait()  # a fill by the device keeps its array until it has ended
        device.memory_stats()
        return [(stats.used, stats.buffers) for stats in device.memory_stats()]

    lp.zeros(1000, device=device).release()
    gc.collect()
    before, at_first = used(), allocator.reserved_bytes
    for count in range(10_000):
        is_interrupted = interrupted_at(count, lambda: lp.zeros(1000, device=device).release())
        if used() != before:
            gc.collect()  # of what the exception has kept
        assert used() == before, f"point {count}: nothing is left, and nothing is missing"
        if not is_interrupted:
            break
        made = [lp.full(64, value, device=device) for value in (2.0, 3.0)]
        assert [float(a.numpy().min()) for a in (kept, *made)] == [1.0, 2.0, 3.0], f"point {count}"
        assert [float(a.numpy().max()) for a in (kept, *made)] == [1.0, 2.0, 3.0], f"point {count}"
        assert lock_is_free(device)
        del made
    assert count > 20
    assert allocator.reserved_bytes == at_first


@pytest.mark.parametrize("copy", ["to the device", "from the device", "fill"])
def test_an_interrupt_anywhere_in_a_copy_leaves_nobody_inside_the_device(device, monkeypatch, copy):
    """`close` would wait for them, also where the exception is kept, as `sys.last_value` is."""
    monkeypatch.setattr(interruption, "FOLDER", (interruption.FOLDER, contextlib.__file__))
    x, host = lp.zeros(64, device=device), np.ones(64, np.float32)
    copies = {
        "to the device": lambda: x.copy_from(host),
        "from the device": lambda: x.copy_to(host),
        "fill": lambda: x.fill(1.0),
    }
    kept = []

    def do_copy():
        try:
            copies[copy]()
        except KeyboardInterrupt as error:
            kept[:] = [error]
            raise

    for count in range(10_000):
        is_interrupted = interrupted_at(count, do_copy)
        assert not device.logical.visits, f"point {count}"
        if not is_interrupted:
            break
    assert count > 10, "there were points to interrupt at"


def test_an_interrupt_anywhere_in_a_replay(device):
    x = lp.zeros(64, device=device)
    with lp.graph() as g:
        event = add_one[64](x)
        add_one[64](x)
    g.replay().wait()
    expected = 2.0
    for count in range(10_000):
        is_interrupted = interrupted_at(count, lambda: g.update(event, x=x).replay().wait())
        found = x.numpy()
        assert found.min() == found.max()
        assert found[0] in (expected, expected + 2.0), f"point {count}"
        expected = float(found[0])
        assert lock_is_free(device), f"point {count}"
        if not is_interrupted:
            break
    assert count > 20, "there were points to interrupt at"
    g.replay().wait()
    assert (x.numpy() == expected + 2.0).all()


def test_a_recording_that_ends_before_it_began_leaves_the_next_alone(device):
    x = lp.zeros(64, device=device)
    graph_recording.end(lp.graph())  # as where Ctrl-C comes first
    with lp.graph() as g:
        add_one[64](x)
    assert (x.numpy() == 0).all()
    g.replay().wait()
    assert (x.numpy() == 1).all()


def test_an_interrupt_while_a_graph_is_recorded_records_nothing_more(device):
    x = lp.zeros(64, device=device)

    def record():
        with lp.graph():
            add_one[64](x)

    for count in range(10_000):
        is_interrupted = interrupted_at(count, record)
        if (graph := graph_recording.recorder()) is not None:
            graph_recording.end(graph)  # it came before the block was entered, or while it was left
        if not is_interrupted:
            break
    assert count > 20
    add_one[64](x).wait()
    assert (x.numpy() == 1).all()


@pytest.mark.parametrize(
    ("kinds", "command"),
    [("aa", "vkCmdCopyBuffer"), ("ii", "vkCmdCopyImage"), ("ai", "vkCmdCopyBufferToImage")],
)
def test_an_interrupt_in_a_copy_leaves_no_command_without_its_memory(device, monkeypatch, kinds, command):
    queue, recorded = lp.Queue(device), []
    host = np.ones((4, 4), np.float32)
    vk = device.logical.vk
    record = getattr(vk, command)
    monkeypatch.setattr(vk, command, lambda *args: (record(*args), recorded.append(args)), raising=False)
    for count in range(10_000):
        sides = [(lp.UnsampledImage if kind == "i" else lp.asarray)(host, device=device) for kind in kinds]
        device.default_queue.wait()
        recorded.clear()
        is_interrupted = interrupted_at(count, lambda sides=sides: queue.copy(*sides))
        if recorded and queue.recording is not None:
            memory = [weakref.ref(side.buffer) for side in sides]
            for side in sides:
                side.release()
            gc.collect()
            assert all(known() is not None for known in memory), f"point {count}"
        queue.wait()
        if not is_interrupted:
            break
    assert count > 10, "there were points to interrupt at"
