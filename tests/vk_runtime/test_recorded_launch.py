"""Launches right behind an equal one: the same arguments are not looked at again, and whatever changes is noticed."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend import launch
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


@lp.kernel
def axpy(a: lp.f32, x: lp.In[lp.f32], y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = a * x[i] + y[i]


def repeat(x, times=5):
    for _ in range(times):
        increment[SIZE](x)


def test_the_same_objects_are_not_checked_again(x, checks):
    increment[SIZE](x).wait()
    checks.clear()
    repeat(x, 20)
    assert len(checks) <= 4, "the first may be submitted at once, and one more shows that they come again"
    assert np.all(x.numpy() == 21)


def test_launches_in_turn_are_not_checked_again(device, x, checks):
    y, z = lp.zeros(SIZE, device=device), lp.ones(SIZE, device=device)
    for count in range(20):
        increment[SIZE](x)
        axpy[SIZE](2.0, x, y)
        add[SIZE](z, 1.0)
        if count == 1:
            device.default_queue.wait()
            checks.clear()
    assert len(checks) <= 9, "each is looked at until it has come again in one command buffer"
    assert (x.numpy()[0], y.numpy()[0], z.numpy()[0]) == (20, 420, 21)


def test_arrays_that_change_places(device, x):
    y = lp.ones(SIZE, device=device)
    a, b = 0, 1
    for _ in range(8):
        increment[SIZE](x)
        axpy[SIZE](1.0, x, y)
        axpy[SIZE](1.0, y, x)
        a += 1
        b += a
        a += b
    assert (x.numpy()[0], y.numpy()[0]) == (a, b)


def test_launches_in_turn_on_a_queue_with_a_local_size_are_not_checked_again(device, x, checks):
    queue, y = lp.Queue(device), lp.zeros(SIZE, device=device)
    range_ = lp.NdRange(SIZE, 32)
    for count in range(20):
        increment[range_].on(queue)(x)
        axpy[lp.NdRange(SIZE, 32)].on(queue)(1.0, x, y)
        if count == 1:
            queue.wait()
            checks.clear()
    assert len(checks) <= 6
    queue.wait()
    assert np.all(x.numpy() == 20)
    assert np.all(y.numpy() == 210)


def test_kernels_in_turn_print_each_time(x, capsys):
    @lp.kernel
    def say(out: lp.Array[lp.f32]):
        if lp.global_id(0) == 0:
            print("value", out[0])

    for _ in range(6):
        say[SIZE](x)
        increment[SIZE](x)
    x.device.default_queue.wait()
    assert capsys.readouterr().out.split() == [word for n in range(6) for word in ("value", f"{n}.0")]


def test_scalars_in_turn_are_pushed_again(x):
    for _ in range(4):
        add[SIZE](x, 1.0)
        increment[SIZE](x)
        add[2 * SIZE](x, 10.0)
    add[SIZE](x, 100.0)
    increment[SIZE](x)
    add[SIZE](x, 1.0)
    assert np.all(x.numpy() == 4 * 12 + 102)


def test_writes_of_others_in_between_are_seen(device, x):
    """The same launch again reads what a launch, a fill and a copy in between wrote."""
    y, z = lp.zeros(SIZE, device=device), lp.full(SIZE, 7, np.float32, device=device)
    queue = device.default_queue
    for _ in range(3):
        axpy[SIZE](1.0, x, y)
        increment[SIZE](x)
    assert np.all(y.numpy() == 3)
    for step in (lambda: x.fill(5.0), lambda: queue.copy(z, x)):
        for _ in range(3):
            axpy[SIZE](1.0, x, y)
        step()
        axpy[SIZE](1.0, x, y)
    assert np.all(y.numpy() == 3 + 9 + 5 + 15 + 7)


def test_a_released_array_is_refused_in_turn(device, x):
    y = lp.zeros(SIZE, device=device)
    for _ in range(3):
        increment[SIZE](x)
        axpy[SIZE](1.0, x, y)
    y.release()
    with pytest.raises(lp.KernelArgumentError, match="released"):
        axpy[SIZE](1.0, x, y)
    increment[SIZE](x)
    assert np.all(x.numpy() == 4)


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


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("change", ["released", "moved"])
def test_an_array_that_changes_while_it_is_launched(device, x, change, is_first, monkeypatch):
    """As a finaliser or another thread may do it, behind the look at the arguments."""
    other, really_check = lp.full(SIZE, 100, np.float32, device=device), ArgumentChecker.quick_check

    def check(self, args, device):
        found = really_check(self, args, device)
        if change == "released":
            x.release()
        else:
            x.replace_buffer(other.buffer)
        return found

    increment[SIZE](x).wait()
    # The arguments of the first launch of a command buffer are remembered, else those of a second.
    if not is_first:
        increment[SIZE](lp.zeros(SIZE, device=device))
        increment[SIZE](x)
    with monkeypatch.context() as patch:
        patch.setattr(ArgumentChecker, "quick_check", check)
        if change == "released":
            with pytest.raises(lp.KernelArgumentError, match="released"):
                increment[SIZE](x)
        else:
            increment[SIZE](x)
    if change == "released":
        with pytest.raises(lp.KernelArgumentError, match="released"):
            increment[SIZE](x)
    else:
        increment[SIZE](x)
        assert np.all(x.numpy() == 102)


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


def test_an_option_that_changes_in_between_counts(x, checks):
    repeat(x)
    checks.clear()
    with lp.config.override(interpret=True):
        increment[SIZE](x)
    assert checks, "the interpreter looks at the arguments"
    repeat(x)
    assert np.all(x.numpy() == 11)


def test_a_thread_that_prepared_with_other_options_in_between(x, monkeypatch):
    """Between any two of its steps another thread launches with the options of now."""

    @lp.kernel
    def beyond(out: lp.Array[lp.f32]):
        out[lp.global_id(0) + SIZE] = 1.0

    really_shorten, late, steps = launch._shorten, [], 0

    def step(frame, event, argument):
        nonlocal steps
        if frame.f_code is not really_shorten.__code__:
            return None
        frame.f_trace_opcodes = True
        with pytest.raises(lp.KernelTrap):
            beyond[SIZE](x).wait()
        steps += 1
        return step

    with monkeypatch.context() as patch:
        patch.setattr(launch, "_shorten", lambda *args: late.append(args))
        beyond[SIZE](x).wait()
    with lp.config.override(debug=True):
        with pytest.raises(lp.KernelTrap):
            beyond[SIZE](x).wait()
        sys._getframe().f_trace_opcodes = True
        sys.settrace(step)
        try:
            really_shorten(*late[0])
        finally:
            sys.settrace(None)
    assert steps > 20
    beyond[SIZE](x).wait()


def test_a_launch_without_arrays_goes_where_it_is_told(device):
    @lp.kernel
    def nothing(a: lp.f32):
        pass

    queue = lp.Queue(device)
    for _ in range(3):
        assert nothing[1].on(queue)(1.0).queue is queue
        assert nothing[1](1.0).queue is lp.device().default_queue


def test_a_closed_queue_refuses_it(device, x):
    queue = lp.Queue(device)
    for _ in range(5):
        increment[SIZE].on(queue)(x)
    queue.close()
    with pytest.raises(lp.InvalidError, match="closed"):
        increment[SIZE].on(queue)(x)
    assert np.all(x.numpy() == 5)


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


def test_threads_in_turn_while_another_submits(device, x):
    y, ended = lp.zeros(SIZE, device=device), threading.Event()

    def run():
        for _ in range(200):
            increment[SIZE](x)
            add[SIZE](y, 2.0)

    def submit():
        while not ended.is_set():
            device.default_queue.wait()

    threads = [threading.Thread(target=run) for _ in range(2)]
    submitting = threading.Thread(target=submit)
    for thread in (submitting, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    ended.set()
    submitting.join()
    assert (x.numpy()[0], y.numpy()[0]) == (400, 800)


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
