"""A launch that is waited for again and again is recorded once; whatever changes is recorded anew."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import repeated_launches
from lapilli.vk_runtime.launch import launch

from . import kernels

SIZE = 64
TIMES = 12


def saxpy(queue, a, x, y):
    image, kernel = kernels.saxpy()
    return launch(queue, image, kernel, (SIZE,), None, (a, x, y), {})


@pytest.fixture
def queue(device):
    return lp.Queue(device)


@pytest.fixture
def x(device):
    return lp.ones(SIZE, device=device)


@pytest.fixture
def y(device):
    return lp.zeros(SIZE, device=device)


def repeat(queue, x, y, times=TIMES):
    for _ in range(times):
        saxpy(queue, 1.0, x, y).wait()


def test_it_is_recorded_a_few_times_only(queue, x, y, opened):
    repeat(queue, x, y)
    assert np.all(y.numpy() == TIMES)
    assert len(opened) <= repeated_launches.ENOUGH + 2
    before = len(opened)
    repeat(queue, x, y)
    assert len(opened) == before, "reading the array back is no launch"
    assert np.all(y.numpy() == 2 * TIMES)


def test_another_scalar_is_another_launch(queue, x, y):
    repeat(queue, x, y)
    for a in (2.0, 2.0, 2.0, 0.5, 2.0):
        saxpy(queue, a, x, y).wait()
    assert np.all(y.numpy() == TIMES + 8.5)


def test_equal_scalars_of_other_bits_are_another_launch(device, queue, opened):
    @lp.kernel
    def fill(out: lp.Out[lp.f32], value: lp.f32):
        out[lp.global_id(0)] = value

    out = lp.zeros(SIZE, device=device)
    for _ in range(TIMES):
        fill[SIZE].on(queue)(out, 0.0).wait()
    assert not np.signbit(out.numpy()).any()
    fill[SIZE].on(queue)(out, -0.0).wait()
    assert np.signbit(out.numpy()).all()


def test_arrays_in_turn_are_all_kept(device, queue, x, y, opened):
    for _ in range(TIMES):
        saxpy(queue, 1.0, x, y).wait()
        saxpy(queue, 1.0, y, x).wait()
    a, b = x.numpy()[0], y.numpy()[0]  # a copy of its own where the host does not see the memory
    before = len(opened)
    saxpy(queue, 1.0, x, y).wait()
    assert len(opened) == before
    assert (x.numpy()[0], y.numpy()[0]) == (a, a + b)


def test_more_arrays_than_are_kept(device, queue, x):
    arrays = [lp.zeros(SIZE, device=device) for _ in range(repeated_launches.KEPT + 5)]
    for _ in range(4):
        for array in arrays:
            saxpy(queue, 1.0, x, array).wait()
    assert all(np.all(array.numpy() == 4) for array in arrays)


def test_launches_that_are_not_waited_for_go_together_again(queue, x, y, opened):
    repeat(queue, x, y)
    for _ in range(5):
        saxpy(queue, 1.0, x, y)
    before = len(opened)
    for _ in range(5):
        saxpy(queue, 1.0, x, y)
    assert len(opened) == before, "all five are in the open command buffer"
    assert np.all(y.numpy() == TIMES + 10)


def test_no_array_is_kept_alive(device, queue, x):
    y = lp.zeros(SIZE, device=device)
    buffer = weakref.ref(y.buffer)
    repeat(queue, x, y)
    device.default_queue.wait()  # it may have filled the array
    del y
    gc.collect()
    assert buffer() is None


def test_a_new_array_in_the_place_of_a_released_one(device, queue, x):
    for count in range(1, 6):
        y = lp.full(SIZE, count, np.float32, device=device)
        repeat(queue, x, y)
        assert np.all(y.numpy() == count + TIMES)
        y.release()


def test_what_it_wrote_is_seen_by_another_queue_and_back(device, queue, x, y):
    other = lp.Queue(device)
    repeat(queue, x, y)
    repeat(other, x, y)
    repeat(queue, x, y, 1)
    saxpy(other, 1.0, y, x)
    saxpy(queue, 1.0, x, y).wait()
    assert np.all(x.numpy() == 2 * TIMES + 2)
    assert np.all(y.numpy() == 4 * TIMES + 3)


@lp.kernel
def increment(out: lp.Array[lp.f32]):
    out[lp.global_id(0)] += 1.0


@lp.kernel
def add(out: lp.Array[lp.f32], a: lp.f32):
    out[lp.global_id(0)] += a


def wait_for_each(x, times=TIMES, a=2.0):
    """Two kernels in turn."""
    for _ in range(times):
        increment[SIZE](x).wait()
        add[SIZE](x, a).wait()


def test_the_same_objects_are_not_checked_again(x, checks, opened):
    wait_for_each(x)
    checks.clear(), opened.clear()
    wait_for_each(x)
    assert not checks
    assert not opened
    assert np.all(x.numpy() == 1 + 3 * 2 * TIMES)


def test_other_arguments_are_looked_at(device, x, checks):
    y = lp.zeros(SIZE, device=device)
    wait_for_each(x)
    wait_for_each(y)
    add[SIZE](x, 5.0).wait()
    checks.clear()
    add[SIZE](x, 7.0).wait()
    with pytest.raises(lp.KernelArgumentError, match="expected a value for parameter"):
        add[SIZE](x)
    with pytest.raises(lp.KernelArgumentError, match=r"expected lp\.f32"):
        add[SIZE](x, True)
    with pytest.raises(lp.KernelArgumentError):
        add[SIZE](np.zeros(SIZE, np.float32), 7.0)
    assert checks
    assert np.all(x.numpy() == 1 + 3 * TIMES + 12)
    assert np.all(y.numpy() == 3 * TIMES)


def test_an_array_that_moved_or_went_is_looked_at(device, x):
    wait_for_each(x)
    other = lp.full(SIZE, 100, np.float32, device=device)
    old = x.buffer
    x.replace_buffer(other.buffer)
    increment[SIZE](x).wait()
    assert np.all(x.numpy() == 101)
    x.replace_buffer(old)
    increment[SIZE](x).wait()
    assert np.all(x.numpy() == 2 + 3 * TIMES)
    x.release()
    with pytest.raises(lp.KernelArgumentError, match="released"):
        increment[SIZE](x)


def test_none_in_the_place_of_an_array_that_went_is_refused(device):
    y = lp.zeros(SIZE, device=device)
    wait_for_each(y)
    queue, known = device.default_queue, weakref.ref(y)
    del y
    gc.collect()
    assert known() is None
    with pytest.raises(lp.KernelArgumentError, match="found None"):
        increment[SIZE].on(queue)(None)


def test_a_launch_that_is_not_waited_for_comes_first(x):
    wait_for_each(x)
    for _ in range(5):
        add[SIZE](x, 3.0)
        increment[SIZE](x).wait()
    assert np.all(x.numpy() == 1 + 3 * TIMES + 20)


def test_a_graph_records_it(x):
    wait_for_each(x)
    with lp.graph() as g:
        increment[SIZE](x)
    assert np.all(x.numpy() == 1 + 3 * TIMES)
    g.replay().wait()
    assert np.all(x.numpy() == 2 + 3 * TIMES)


def test_threads_that_wait_for_each(device):
    arrays = [lp.zeros(SIZE, device=device) for _ in range(3)]
    threads = [threading.Thread(target=wait_for_each, args=(array, 60)) for array in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [float(array.numpy()[0]) for array in arrays] == [180.0] * 3


def test_threads_that_wait_for_one_array(device):
    array = lp.zeros(SIZE, device=device)
    wait_for_each(array)
    threads = [threading.Thread(target=wait_for_each, args=(array, 60)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.all(array.numpy() == 3 * (TIMES + 180))


def test_no_array_of_a_kernel_is_kept_alive(device):
    y = lp.zeros(SIZE, device=device)
    wait_for_each(y)
    array, buffer = weakref.ref(y), weakref.ref(y.buffer)
    del y
    gc.collect()
    assert array() is None and buffer() is None


def test_a_released_array_gives_its_memory_back(device):
    y = lp.zeros(SIZE, device=device)
    wait_for_each(y)
    buffer = weakref.ref(y.buffer)
    y.release()
    gc.collect()
    assert buffer() is None


def test_traces_count_it(queue, x, y):
    repeat(queue, x, y)
    with lp.trace() as trace:
        repeat(queue, x, y, 3)
    assert trace.count("launch") == 3


def test_profiles_time_it(queue, x, y):
    repeat(queue, x, y)
    with lp.profile() as profile:
        repeat(queue, x, y, 3)
    assert sum(event.kind == "kernel" for event in profile.events) == 3


def test_a_closed_queue_refuses_it(queue, x, y):
    repeat(queue, x, y)
    queue.close()
    with pytest.raises(lp.InvalidError, match="closed"):
        saxpy(queue, 1.0, x, y)
