"""Copies on a queue of their own: the same order, the same results, and what waits for them."""

# pyright: basic, reportArgumentType=false

from __future__ import annotations

import asyncio
import gc
import threading

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import staging
from lapilli.vk_runtime.device import Device
from lapilli.vk_runtime.launch import launch
from lapilli.vk_runtime.transfer_stream import LEAST_BYTES, TransferEvent

from . import kernels

COUNT = LEAST_BYTES // 4 + 5
"""Elements of the smallest arrays that take it, and a few."""


@pytest.fixture
def home(device):
    """The device as a discrete GPU with a family of queues for copies; it shares the driver's one queue."""
    made = Device(device.physical, device.selector, staged_memory=True, own_transfers=True)
    yield made
    made.shut_down()


def saxpy(queue, a, x, y, wait=()):
    image, kernel = kernels.saxpy()
    return launch(queue, image, kernel, (x.size,), None, (a, x, y), {}, wait)


def random(seed, count=COUNT):
    return np.random.default_rng(seed).integers(0, 100, count).astype(np.float32)


def test_arrays_are_not_mapped_and_large_copies_go_beside(home):
    small, large = lp.zeros(16, device=home), lp.asarray(random(1), device=home)
    assert not small.buffer.host_address and not large.buffer.host_address
    assert large.buffer.queue is home.logical.transfer_stream(home)
    small.copy_from(np.ones(16, np.float32))
    assert small.buffer.queue is home.default_queue
    np.testing.assert_array_equal(large.numpy(), random(1))


def test_many_pieces(home, monkeypatch):
    monkeypatch.setattr(staging, "PIECE_BYTES", 100_000)
    x = random(2)
    array = lp.asarray(x, device=home)
    np.testing.assert_array_equal(array.numpy(), x)
    out = np.empty(COUNT, ">f4")
    array.copy_to(out)
    np.testing.assert_array_equal(out, x)


def test_launches_and_copies_take_turns(home):
    x = lp.zeros(COUNT, device=home)
    y = lp.zeros(COUNT, device=home)
    expected = np.zeros(COUNT, np.float32)
    queues = [lp.Queue(home) for _ in range(2)]
    for step in range(12):
        source = random(step)
        x.copy_from(source)  # behind the launch that read it
        saxpy(queues[step % 2], 2.0, x, y)
        expected += 2 * source
        if step % 3 == 2:
            np.testing.assert_array_equal(y.numpy(), expected)
    np.testing.assert_array_equal(y.numpy(), expected)


def test_the_event_of_a_copy(home):
    queue, target = lp.Queue(home), lp.zeros(COUNT, device=home)
    called = threading.Event()
    event = queue.copy(random(3), target)
    assert isinstance(event, TransferEvent) and event.queue is queue
    event.add_done_callback(lambda _: called.set())
    assert called.wait(60) and event.wait() is event and event.done
    with pytest.raises(lp.InvalidError, match="not timed"):
        _ = event.elapsed_ns
    y = lp.zeros(COUNT, device=home)
    other = lp.Queue(home)
    copied = queue.copy(random(4), target)
    saxpy(other, 1.0, lp.ones(COUNT, device=home), y, [copied]).wait()
    assert copied.done


def test_the_event_of_a_copy_is_awaited(home):
    queue, target = lp.Queue(home), lp.zeros(COUNT, device=home)

    async def main():
        event = queue.copy(random(5), target)
        assert isinstance(event, TransferEvent)
        assert await event is event and event.done

    asyncio.run(main())


def test_waiting_for_the_queue_waits_for_its_copies(home):
    queue, target = lp.Queue(home), lp.zeros(COUNT, device=home)
    event = queue.copy(random(5), target)
    queue.wait()
    assert event.value <= home.logical.transfer_stream(home)._clock.completed
    event = queue.copy(random(6), target)
    queue.marker().wait()
    assert event.done


@pytest.mark.parametrize("options", [{"in_order": True}, {"profiling": True}])
def test_queues_in_order_and_timed_ones_keep_their_copies(home, options):
    if options.get("profiling") and not home.physical.timestamp_valid_bits:
        pytest.skip("no timestamps")
    queue, target = lp.Queue(home, **options), lp.zeros(COUNT, device=home)
    assert not isinstance(queue.copy(random(7), target), TransferEvent)
    assert target.buffer.queue is queue
    np.testing.assert_array_equal(target.numpy(), random(7))


def test_copies_while_a_profile_runs_are_timed(home):
    with lp.profile() as p:
        array = lp.asarray(random(8), device=home)
        array.numpy()
    assert {"upload", "download"} <= {event.name for event in p.events}


@lp.kernel
def tell(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    if i == 0:
        print("told")
    x[i] += 1.0


def test_reading_shows_what_kernels_printed(home, capsys):
    x = lp.zeros(COUNT, device=home)
    tell[COUNT](x)
    assert (x.numpy() == 1).all()
    assert capsys.readouterr().out == "told\n"


def test_arrays_may_go_before_their_copy_ends(home):
    for seed in range(10):
        lp.asarray(random(seed), device=home)
    gc.collect()
    home.default_queue.wait()
    np.testing.assert_array_equal(lp.asarray(random(9), device=home).numpy(), random(9))


def test_threads_that_copy(home):
    wrong = []

    def work(seed):
        for k in range(5):
            x = random(seed + k)
            y = lp.zeros(COUNT, device=home)
            saxpy(home.default_queue, 3.0, lp.asarray(x, device=home), y)
            if not np.array_equal(y.numpy(), 3 * x):
                wrong.append((seed, k))

    threads = [threading.Thread(target=work, args=(100 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_end_of_a_device_with_copies_in_flight(device):
    made = Device(device.physical, device.selector, staged_memory=True, own_transfers=True)
    array = lp.asarray(random(11), device=made)
    made.default_queue.copy(random(12), array)
    made.shut_down()
    with pytest.raises(lp.DeviceLostError):
        array.numpy()
    with pytest.raises(lp.DeviceLostError):
        array.copy_from(random(13))
