"""Nothing grows over many lives, whoever lets go of what, and in whatever order."""

# pyright: basic, reportArgumentType=false

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.device import Device
from lapilli.vk_runtime.memory_blocks import SPARE_BYTES

from .footprint import footprint

pytestmark = pytest.mark.device


@lp.kernel
def add_one(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] + 1.0


def cycles(device, count):
    for index in range(count):
        array = lp.zeros(1000 + index % 7, device=device)
        if index % 10 == 0:
            add_one[array.size](array)
        if index % 2:
            array.release()


def test_arrays_come_and_go_without_growth(device):
    cycles(device, 20)
    before = footprint(device)
    cycles(device, 1000)
    objects, *memory = footprint(device)
    # A slow device has a command buffer or two more in flight, which are kept; a leak would be a hundred.
    assert objects <= before[0] + 2 and tuple(memory) == before[1:]


def test_large_arrays_give_their_memory_back(device):
    own = Device(device.physical, device.selector)
    before = footprint(own)
    for size in range(33, 133, 7):
        lp.empty(size << 20, "u8", device=own)  # more than a shared block
    objects, used, reserved = footprint(own)
    assert (objects, used) == before[:2] and reserved <= before[2] + SPARE_BYTES
    lp.empty(90 << 20, "u8", device=own)
    lp.empty(100, device=own)
    before = footprint(own)
    for _ in range(5):
        lp.empty(90 << 20, "u8", device=own)  # takes the same memory again
        lp.empty(100, device=own)  # does not keep it from that
        assert footprint(own) == before
    own.shut_down()


@lp.kernel
def scale(x: lp.Array[lp.f32], by: lp.f32):
    i = lp.global_id(0)
    x[i] = x[i] * by


def test_ten_thousand_lives_leave_nothing_behind(device):
    """Arrays, launches over many ranges, queues and graphs: objects, bytes and Python's memory stay as they were."""
    own = Device(device.physical, device.selector)

    def settled():
        with own.logical.lock:
            own.logical.wait_idle()  # queues that nobody holds keep what they have recorded
        gc.collect()  # empties the interpreter's free lists, which tracemalloc counts as allocated
        return footprint(own)

    def live(index):
        x = lp.empty(64 + index % 5, device=own)
        scale[1 + index % 60](x, 2.0)
        if index % 20 == 0:
            queue = lp.Queue(own)
            scale[64].on(queue)(x, 2.0)
            if index % 40:
                queue.close()
        if index % 50 == 0:
            with lp.graph() as g:
                scale[64](x, 1.0)
            g.replay()
        if index % 7 == 0:
            x.release()

    def blocks():
        # Blocks and not bytes: a table of the interpreter's that doubles while we look is hundreds of kilobytes.
        return sum(each.count for each in tracemalloc.take_snapshot().statistics("filename"))

    tracemalloc.start()  # before the caches fill: what takes the place of an old entry is no growth
    for index in range(2_000):
        live(index)
    before = settled()
    python = blocks()
    for index in range(10_000):
        live(index)
    assert settled() == before
    grown = blocks() - python
    tracemalloc.stop()
    assert grown < 1_000  # an object a life would be 10,000
    own.shut_down()


@pytest.mark.parametrize("is_staged", [False, True])
def test_queues_come_and_go_without_growth(device, is_staged):
    if is_staged:
        device = Device(device.physical, device.selector, staged_memory=True)
    array = lp.zeros(100, device=device)
    for _ in range(3):
        add_one[100].on(lp.Queue(device))(array)
    array.numpy()
    before = footprint(device)
    for _ in range(30):
        add_one[100].on(lp.Queue(device))(array)
    assert (array.numpy() == 33).all()
    # The last queue stays with the array, which remembers who used it last.
    assert footprint(device)[0] <= before[0] + 2
    if is_staged:
        device.shut_down()


def test_reference_cycles_through_pending_work_are_collected(device):
    add_one[100](lp.zeros(100, device=device))  # the pipeline stays
    before = footprint(device)
    queue, array = lp.Queue(device), lp.zeros(100, device=device)
    event = add_one[100].on(queue)(array)
    holder = [queue, array, event]
    holder.append(holder)
    event.wait()
    del queue, array, event, holder
    assert footprint(device) == before


def test_graphs_come_and_go_without_growth(device):
    x, y = lp.zeros(64, device=device), lp.zeros(64, device=device)

    def cycle(index):
        with lp.graph() as g:
            event = add_one[64](x)
            y.copy_from(x)
        g.replay()
        if index % 3 == 0:
            g.update(event, x=y).replay()
        if index % 2:
            g.release()

    for index in range(6):
        cycle(index)
    before = footprint(device)
    for index in range(1000):
        cycle(index)
    assert footprint(device) == before


def test_replays_and_events_come_and_go_without_growth(device):
    x = lp.zeros(64, device=device)
    with lp.graph() as g:
        for _ in range(40):
            add_one[64](x)
    g.replay().wait()
    before = footprint(device)
    gc.collect()
    count = len(gc.get_objects())
    for index in range(10_000):
        event = add_one[64](x) if index % 10 else g.replay()
        if index % 100 == 0:
            event.wait()
    del event
    assert footprint(device) == before
    assert len(gc.get_objects()) < count + 200


def test_a_graph_that_nobody_holds_finishes_its_replays(device):
    x = lp.zeros(64, device=device)
    with lp.graph() as g:
        add_one[64](x)
    for _ in range(5):
        g.replay()
    del g
    gc.collect()
    assert (x.numpy() == 5).all()


def test_results_survive_the_release_of_what_they_came_from(device):
    source = lp.ones(1000, device=device)
    target = lp.zeros(1000, device=device).copy_from(source)
    source.release()
    add_one[1000](target)
    np.testing.assert_array_equal(target.numpy(), np.full(1000, 2, np.float32))
