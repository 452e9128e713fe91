"""Queues and events: laziness, hazards, several queues, profiling, closing."""

from __future__ import annotations

import asyncio
import gc

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import command_stream, submitted_commands
from lapilli.vk_runtime.device import Device
from lapilli.vk_runtime.launch import launch

from . import kernels


def saxpy(queue, a, x, y, wait=()):
    image, kernel = kernels.saxpy()
    return launch(queue, image, kernel, (x.size,), None, (a, x, y), {}, wait)


@pytest.fixture
def queue(device):
    return lp.Queue(device)


@pytest.fixture
def x(device):
    return lp.ones(256, device=device)


def zeros(device):
    return lp.zeros(256, device=device)


def test_launches_wait_in_the_open_command_buffer(device, queue, x):
    y, begin = zeros(device), queue.last_value
    first, second = saxpy(queue, 1.0, x, y), saxpy(queue, 1.0, x, y)
    assert first.value == second.value == begin + 1
    assert first.wait() is first
    assert first.done and second.done and saxpy(queue, 1.0, x, y).value == begin + 2


def test_polling_submits(device, queue, x):
    event = saxpy(queue, 1.0, x, zeros(device))
    for _ in range(10**6):
        if event.done:
            return
    pytest.fail("an event that is only polled never ends")


def test_many_pending_launches_submit_themselves(device, queue, x):
    y, begin = zeros(device), queue.last_value
    events = [saxpy(queue, 1.0, x, y) for _ in range(command_stream.SUBMIT_AFTER + 1)]
    assert [events[0].value, events[-1].value] == [begin + 1, begin + 2]
    assert (y.numpy() == len(events)).all()


def test_submissions_in_flight_are_bounded(device, queue, x, monkeypatch):
    monkeypatch.setattr(command_stream, "SUBMIT_AFTER", 1)
    monkeypatch.setattr(submitted_commands, "MAX_IN_FLIGHT", 3)
    y = zeros(device)
    for _ in range(50):
        saxpy(queue, 1.0, x, y)
        assert len(queue.in_flight) <= 4
    assert (y.numpy() == 50).all()


def count_barriers(queue, action):
    before = queue._epoch
    action()
    return queue._epoch - before


def test_barriers_only_where_memory_is_shared(device, queue, x):
    a, b = zeros(device), zeros(device)
    saxpy(queue, 1.0, x, a)
    assert count_barriers(queue, lambda: saxpy(queue, 1.0, x, b)) == 0  # both only read x
    assert count_barriers(queue, lambda: saxpy(queue, 1.0, x, a)) == 1  # writes what was written
    assert count_barriers(queue, lambda: saxpy(queue, 1.0, x, b)) == 0  # that barrier covers b too
    assert count_barriers(queue, lambda: saxpy(queue, 1.0, a, b)) == 1  # reads what was written
    c = zeros(device)
    saxpy(queue, 1.0, c, b)
    assert count_barriers(queue, lambda: saxpy(queue, 1.0, x, c)) == 1  # writes what was read
    assert (a.numpy() == 2).all() and (b.numpy() == 4).all() and (c.numpy() == 1).all()


def test_hazards_reach_across_submissions(device, queue, x):
    y = zeros(device)
    saxpy(queue, 1.0, x, y)
    queue.flush()
    assert count_barriers(queue, lambda: saxpy(queue, 1.0, x, y)) == 1


def test_queues_that_share_an_array_take_turns(device, x):
    queues = [lp.Queue(device) for _ in range(3)]
    y = zeros(device)
    for step in range(60):
        saxpy(queues[step % 3], 1.0, x, y)
    assert (y.numpy() == 60).all()


def test_wait_events_order_queues_without_a_shared_array(device, x):
    first, second = lp.Queue(device), lp.Queue(device)
    y = zeros(device)
    event = saxpy(first, 1.0, x, y)
    later = saxpy(second, 1.0, lp.ones(256, device=device), zeros(device), [event])
    later.wait()
    assert event.done


def test_event_of_another_device_is_waited_for(device, x):
    other = next((d for d in lp.devices() if d is not device), None)
    if other is None:
        pytest.skip("one device only")
    event = saxpy(other.default_queue, 1.0, lp.ones(256, device=other), zeros(other))
    saxpy(device.default_queue, 1.0, x, zeros(device), [event])
    assert event.value <= other.default_queue._clock.completed


def test_queue_that_nobody_holds_finishes_its_work(device, x):
    y = zeros(device)
    saxpy(lp.Queue(device), 3.0, x, y)
    assert (y.numpy() == 3).all()


def test_arrays_may_go_before_their_launch_ends(device, queue):
    for _ in range(20):
        y = lp.zeros(100_000, device=device)
        saxpy(queue, 1.0, lp.ones(100_000, device=device), y)
    assert (y.numpy() == 1.0).all()


def test_elapsed_ns(device, x):
    queue = lp.Queue(device, profiling=True)
    y = zeros(device)
    events = [saxpy(queue, 1.0, x, y) for _ in range(command_stream.SUBMIT_AFTER + 3)]
    assert all(0 < event.elapsed_ns < 60e9 for event in events)
    assert (y.numpy() == len(events)).all()


def test_elapsed_ns_needs_a_profiling_queue(device, queue, x):
    with pytest.raises(lp.InvalidError, match="profiling=True"):
        _ = saxpy(queue, 1.0, x, zeros(device)).elapsed_ns


def test_await(device, queue, x):
    y = zeros(device)

    async def run():
        return await saxpy(queue, 1.0, x, y)

    assert asyncio.run(run()).done and (y.numpy() == 1).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda queue: lp.empty(8, queue=queue),
        lambda queue: lp.zeros(8, queue=queue),
        lambda queue: lp.full(8, 2.0, device=queue.device, queue=queue),
        lambda queue: lp.asarray([1.0, 2.0], queue=queue),
        lambda queue: lp.asarray(lp.ones(8, device=queue.device), queue=queue),
        lambda queue: lp.zeros(0, queue=queue),
    ],
    ids=["empty", "zeros", "full", "asarray", "asarray of an array", "no elements"],
)
def test_closed_queue_makes_no_arrays(queue, make):
    queue.close()
    with pytest.raises(lp.InvalidError, match="this queue was closed"):
        make(queue)


def test_closed_queue_has_finished_and_refuses_more(device, queue, x):
    y = zeros(device)
    event = saxpy(queue, 1.0, x, y)
    queue.close()
    queue.close()
    assert event.done
    with pytest.raises(lp.InvalidError, match="closed"):
        saxpy(queue, 1.0, x, zeros(device))
    host = np.ones(256, np.float32)
    for use in (
        lambda: queue.fill(x, 3.0),
        lambda: queue.fill(lp.zeros(0, device=device), 3.0),
        lambda: queue.copy(x, y),
        lambda: queue.copy(host, x),
        lambda: queue.copy(x, host),
    ):
        with pytest.raises(lp.InvalidError, match="this queue was closed"):
            use()
    saxpy(device.default_queue, 1.0, x, y)  # y was last used by the closed queue
    np.testing.assert_array_equal(y.numpy(), np.full(256, 2, np.float32))


def test_queue_of_a_selector(device):
    assert lp.Queue(device.selector).device is device
    with pytest.raises(lp.InvalidError):
        lp.Queue(7)


def test_lost_device_stays_lost(device):
    """VK_ERROR_DEVICE_LOST poisons the device and nothing else."""
    from lapilli.vk_runtime.constants import VK_ERROR_DEVICE_LOST

    own = Device(device.physical, device.selector)
    array = lp.zeros(256, device=own)
    queue = lp.Queue(own)
    with pytest.raises(lp.DeviceLostError, match=device.name.replace("(", r"\(").replace(")", r"\)")):
        own.logical.check(VK_ERROR_DEVICE_LOST, "vkQueueSubmit")
    for use in (array.numpy, lambda: saxpy(queue, 1.0, array, array), lambda: lp.zeros(1, device=own)):
        with pytest.raises(lp.DeviceLostError):
            use()
    own.shut_down()
    assert not lp.zeros(4, device=device).numpy().any()


def test_queues_that_nobody_waits_for_run_and_go(device, x):
    kept = len(device.logical.queues)
    y = [zeros(device) for _ in range(4 * command_stream.MAX_BUSY)]
    for array in y:
        saxpy(lp.Queue(device), 1.0, x, array)
    assert sum(queue.recording is not None for queue in device.logical.busy) <= command_stream.MAX_BUSY
    assert all((array.numpy() == 1).all() for array in y)
    del y, array
    device.default_queue.wait()
    with device.logical.lock:
        device.logical.collect()
    gc.collect()
    assert len(device.logical.queues) <= kept + command_stream.MAX_BUSY + 1


@pytest.mark.parametrize("function", ["vkEndCommandBuffer", "vkQueueSubmit"])
def test_a_submission_that_the_driver_refuses_is_an_error_and_not_a_hang(device, function):
    own = Device(device.physical, device.selector)
    x, y = lp.ones(256, device=own), zeros(own)
    y.numpy()
    setattr(own.logical.vk, function, lambda *_: -1)  # VK_ERROR_OUT_OF_HOST_MEMORY
    event = saxpy(lp.Queue(own), 1.0, x, y)
    for use in (event.wait, event.wait, lambda: event.done, lambda: lp.zeros(3, device=own)):
        with pytest.raises(lp.DeviceLostError):
            use()
    own.shut_down()


def test_a_device_that_is_shut_down_meanwhile_gets_no_queue(device, monkeypatch):
    """Between the question whether a device is usable and the lock another thread may end it."""
    masked = device.masked(limits={"max_mem_alloc_size": (1 << 29) + 4096})
    logical = masked.logical
    made, create = [], logical.vk.vkCreateSemaphore

    class ShutDownAtLock:
        def __enter__(self):
            logical.is_closed = logical.is_unusable = True

        def __exit__(self, *error):
            logical.is_closed = logical.is_unusable = False

    monkeypatch.setattr(logical, "lock", ShutDownAtLock())
    monkeypatch.setattr(logical.vk, "vkCreateSemaphore", lambda *args: made.append(1) or create(*args))
    with pytest.raises(lp.DeviceLostError):
        lp.Queue(masked)
    assert not made
