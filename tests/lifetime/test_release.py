"""Nothing grows over many lives, whoever lets go of what, and in whatever order."""

# pyright: basic, reportArgumentType=false

from __future__ import annotations

import gc
import linecache
import math
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend import compile as compiling
from lapilli.vk_runtime import launch_cache, pipeline, watcher
from lapilli.vk_runtime.device import Device
from lapilli.vk_runtime.memory_blocks import SPARE_BYTES

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


SCALE = """
import lapilli as lp

@lp.kernel
def scale_{n}(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] * {n}.0
"""


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


def test_kernels_come_and_go_without_growth(device):
    """A kernel that nobody holds takes its image along; the pipelines of a device are bounded."""
    x = lp.ones(8, device=device)

    def live(n):
        lp.kernel_from_source(SCALE.format(n=n))[8](x)

    for n in range(3):
        live(n)
    footprint(device)
    kept = weakref.ref(lp.kernel_from_source(SCALE.format(n=77)))
    gc.collect()
    assert kept() is None
    count = len(gc.get_objects())
    for n in range(3, 13):
        live(n)
    footprint(device)
    assert len(gc.get_objects()) < count + 10 * 2000


def test_the_texts_of_kernels_go_with_them():
    text = SCALE.format(n=78)
    one, two = lp.kernel_from_source(text), lp.kernel_from_source(text)
    file = one.function.__code__.co_filename
    del one
    gc.collect()
    assert two.source.text and file in linecache.cache
    del two
    gc.collect()
    assert file not in linecache.cache


@lp.kernel
def add_constant(x: lp.Array[lp.i32], n: lp.Const[lp.i32]):
    x[lp.global_id(0)] += n


def test_compiled_constants_are_bounded(device, monkeypatch):
    monkeypatch.setattr(compiling, "COMPILED_LIMIT", 4)
    x = lp.zeros(8, lp.i32, device=device)
    for n in range(10):
        add_constant[8](x, n % 6)
        assert len(add_constant.compiled) <= 4
    assert (x.numpy() == sum(n % 6 for n in range(10))).all()


OFFSET = lp.SpecializationId(lp.i32, 0)


@lp.kernel
def add_offset(x: lp.Array[lp.i32]):
    x[lp.global_id(0)] += OFFSET


def test_pipelines_that_only_prepared_launches_hold_are_bounded(device, monkeypatch):
    monkeypatch.setattr(pipeline, "LIVING_PIPELINES", 6)
    monkeypatch.setattr(pipeline, "CACHED_PIPELINES", 2)
    own = Device(device.physical, device.selector)
    x = lp.zeros(8, lp.i32, device=own)
    living = own.logical.pipelines._living
    held = add_offset[8].spec({OFFSET: 1})
    for n in range(30):
        held(x)
        add_offset[8].spec({OFFSET: n})(x)
        own.default_queue.wait()
        assert len(living) <= 7
    assert (x.numpy() == 30 + sum(range(30))).all()
    own.shut_down()


def test_large_pipelines_that_nobody_holds_are_bounded_by_their_code(device, monkeypatch):
    own = Device(device.physical, device.selector)
    x, store = lp.ones(8, device=own), own.logical.pipelines
    made = lp.kernel_from_source(SCALE.format(n=2))
    made[8](x)
    monkeypatch.setattr(pipeline, "CACHED_CODE_BYTES", 7 * next(iter(store._living.values())).code_bytes // 2)
    for n in range(3, 11):
        lp.kernel_from_source(SCALE.format(n=n))[8](x)
    assert len(store._pipelines) == 3
    made[8](x)
    assert (x.numpy() == 2 * math.factorial(10)).all()
    own.shut_down()


@pytest.mark.parametrize(
    ("said", "is_kept"), [(32, False), (33, True), (1000, True), ((32 << 20) + 1, False)]
)
def test_a_driver_s_cache_that_may_grow_without_end_is_begun_anew(device, monkeypatch, said, is_kept):
    """A header alone says nothing of what the driver keeps, and more than is saved is of no use."""
    monkeypatch.setattr(pipeline, "PIPELINES_PER_CACHE", 3)
    own = Device(device.physical, device.selector)
    x = lp.zeros(8, lp.i32, device=own)
    store, first = own.logical.pipelines, own.logical.pipelines.cache

    def size_of(device, cache, size, data):
        size[0] = said
        return 0

    monkeypatch.setattr(own.logical.vk, "vkGetPipelineCacheData", size_of)
    for n in range(100, 102):
        add_offset[8].spec({OFFSET: n})(x)
    assert store.cache is first
    add_offset[8].spec({OFFSET: 102})(x)
    assert (store.cache is first) == is_kept
    add_offset[8].spec({OFFSET: 103})(x)
    assert (x.numpy() == sum(range(100, 104))).all()
    monkeypatch.undo()
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


def test_bindings_of_kernels_that_come_and_go_are_bounded(device, monkeypatch):
    monkeypatch.setattr(launch_cache, "BINDING_LIMIT", 5)
    x = lp.zeros(4, device=device)
    for number in range(12):
        kernel = lp.kernel_from_source(
            f"@lp.kernel\ndef add_{number}(x: lp.Array[lp.f32]):\n    x[lp.global_id(0)] += {number}.0\n"
        )
        kernel[4](x)
    assert (x.numpy() == sum(range(12))).all()
    assert len(device.logical.launches.bindings) <= 5


def test_a_queue_goes_while_the_thread_of_its_callbacks_idles(device, monkeypatch):
    monkeypatch.setattr(watcher, "IDLE_S", 60.0)
    queue, called, callbacks = lp.Queue(device), threading.Event(), watcher.Watcher()
    callbacks.add(queue, queue.marker().wait().value, called.set)
    assert called.wait(20)
    gone = threading.Event()
    weakref.finalize(queue, gone.set)
    del queue
    is_gone = gone.wait(20)
    callbacks.stop()
    assert is_gone
