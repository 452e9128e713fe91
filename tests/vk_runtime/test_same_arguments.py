"""Launches right behind an equal one: the same arguments are not looked at again, and whatever changes is noticed."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.arguments import ArgumentChecker

pytestmark = [pytest.mark.device, pytest.mark.native_only("counts what the runtime does")]

SIZE = 64


@lp.kernel
def add(out: lp.Array[lp.f32], a: lp.f32):
    out[lp.global_id(0)] += a


@lp.kernel
def increment(out: lp.Array[lp.f32]):
    out[lp.global_id(0)] += 1.0


@lp.kernel
def store(out: lp.Out[lp.f32], a: lp.f32):
    out[lp.global_id(0)] = a


@pytest.fixture
def x(device):
    device.default_queue.wait()
    return lp.zeros(SIZE, device=device)


@pytest.fixture
def checks(monkeypatch):
    """The kernels whose arguments were checked, one entry each time."""
    found, really_check = [], ArgumentChecker.quick_check

    def count(self, args, device):
        found.append(self)
        return really_check(self, args, device)

    monkeypatch.setattr(ArgumentChecker, "quick_check", count)
    return found


def repeat(x, times=5):
    for _ in range(times):
        increment[SIZE](x)


def test_the_same_objects_are_not_checked_again(x, checks):
    increment[SIZE](x).wait()
    checks.clear()
    repeat(x, 20)
    assert len(checks) <= 4, "the first may be submitted at once, and one more shows that they come again"
    assert np.all(x.numpy() == 21)


def test_scalars_that_change_and_come_back(x):
    for a in (1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0, 4.0, 1.0):
        add[SIZE](x, a)
    assert np.all(x.numpy() == 16)


def test_equal_scalars_of_other_bits(x):
    for _ in range(4):
        store[SIZE](x, 0.0)
    store[SIZE](x, -0.0)
    assert np.signbit(x.numpy()).all()


def test_a_scalar_that_is_changed_in_place(x):
    a = np.array(1.0, np.float32)
    for _ in range(4):
        add[SIZE](x, a)
    a[...] = 10.0
    add[SIZE](x, a)
    assert np.all(x.numpy() == 14)


def test_a_released_array_is_refused(x):
    repeat(x)
    x.release()
    with pytest.raises(lp.KernelArgumentError, match="released"):
        increment[SIZE](x)


def test_an_array_that_moved_to_other_memory(device, x):
    repeat(x)
    other = lp.full(SIZE, 100, np.float32, device=device)
    old = x.buffer
    x.replace_buffer(other.buffer)
    increment[SIZE](x)
    assert np.all(x.numpy() == 101)
    x.replace_buffer(old)
    assert np.all(x.numpy() == 5)


def test_another_number_of_arguments_is_refused(x):
    for _ in range(4):
        add[SIZE](x, 1.0)
    with pytest.raises(lp.KernelArgumentError, match="expected a value for parameter"):
        add[SIZE](x)
    assert np.all(x.numpy() == 4)


def test_another_type_of_an_equal_scalar_is_refused(x):
    for _ in range(4):
        add[SIZE](x, 1.0)
    with pytest.raises(lp.KernelArgumentError, match=r"expected lp\.f32"):
        add[SIZE](x, True)


def test_a_graph_records_it(x):
    repeat(x)
    with lp.graph() as g:
        increment[SIZE](x)
    assert np.all(x.numpy() == 5)
    g.replay().wait()
    assert np.all(x.numpy() == 6)


def test_traces_and_profiles_see_it(x):
    repeat(x)
    with lp.trace() as trace:
        repeat(x, 3)
    assert trace.count("launch") == 3
    with lp.profile() as profile:
        repeat(x, 3)
    assert sum(event.kind == "kernel" for event in profile.events) == 3
    assert np.all(x.numpy() == 11)


def test_other_launches_and_queues_in_between(device, x):
    other, y = lp.Queue(device), lp.zeros(SIZE, device=device)
    repeat(x)
    increment[SIZE](y)
    repeat(x)
    increment[SIZE].on(other)(x)
    repeat(x)
    device.default_queue.wait()
    repeat(x)
    assert np.all(x.numpy() == 21)
    assert np.all(y.numpy() == 1)


def test_more_launches_than_a_command_buffer_holds(x):
    repeat(x, 300)
    assert np.all(x.numpy() == 300)


def test_no_array_is_kept_alive_once_it_is_submitted(device, x):
    made = lp.zeros(SIZE, device=device)
    repeat(made)
    known = weakref.ref(made)
    del made
    device.default_queue.wait()
    gc.collect()
    assert known() is None


def test_threads_with_scalars_of_their_own(device):
    arrays = [lp.zeros(SIZE, device=device) for _ in range(4)]

    def run(array, a):
        for _ in range(200):
            add[SIZE](array, a)
            add[SIZE](array, a)

    threads = [threading.Thread(target=run, args=(array, float(a))) for a, array in enumerate(arrays)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [float(array.numpy()[0]) for array in arrays] == [400.0 * a for a in range(4)]


def test_threads_on_one_array(x):
    def run(a):
        for _ in range(200):
            add[SIZE](x, a)

    threads = [threading.Thread(target=run, args=(a,)) for a in (1.0, 2.0, 4.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.all(x.numpy() == 200 * 7)
