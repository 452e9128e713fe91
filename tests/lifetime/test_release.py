"""Nothing grows over many lives, whoever lets go of what, and in whatever order."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.kernel
def add_one(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] + 1.0


def footprint(device):
    """What the process holds on a device: Vulkan objects, bytes, blocks."""
    logical = device.logical
    device.default_queue.wait()
    gc.collect()
    with logical.lock:
        logical.collect()
    return len(logical.graveyard), logical.memory.used_bytes, logical.memory.reserved_bytes


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
    assert footprint(device) == before


def test_large_arrays_give_their_memory_back(device):
    before = footprint(device)
    for _ in range(5):
        lp.empty(33 << 20, "u8", device=device)  # more than a shared block
    assert footprint(device) == before


def test_queues_come_and_go_without_growth(device):
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
