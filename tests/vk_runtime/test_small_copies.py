"""Small copies to and from arrays that the host does not see: recordings that are kept say what is there now."""

# pyright: basic, reportArgumentType=false

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import small_copies
from lapilli.vk_runtime.buffer import Buffer
from lapilli.vk_runtime.device import Device
from lapilli.vk_runtime.staging import record_copy
from lapilli.vk_runtime.submitter import Submitter

SIZE = 100
TIMES = 12


@lp.kernel
def add(a: lp.f32, x: lp.Array[lp.f32]):
    x[lp.global_id(0)] += a


@lp.kernel
def copy(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
    y[lp.global_id(0)] = x[lp.global_id(0)]


@pytest.fixture
def home(device):
    """The device as a discrete GPU."""
    made = Device(device.physical, device.selector, staged_memory=True)
    yield made
    made.shut_down()


@pytest.fixture
def submissions(monkeypatch):
    """The command buffers of each submission."""
    found, really_prepare = [], Submitter.prepare

    def prepare(self, command_buffer, waits):
        found.append(command_buffer.count)
        really_prepare(self, command_buffer, waits)

    monkeypatch.setattr(Submitter, "prepare", prepare)
    return found


def read_again_and_again(x, times=TIMES):
    """Launches and reads in turn; returns what the array holds then."""
    start = x.numpy()[0]
    for count in range(times):
        add[SIZE](1.0, x)
        assert (x.numpy() == start + count + 1).all()
    return start + times


def test_a_launch_and_the_read_of_what_it_wrote_become_one_submission(home, submissions):
    x = lp.zeros(SIZE, device=home)
    read_again_and_again(x)
    assert submissions[-1] == 2, "the same two command buffers, time and again"
    count = len(submissions)
    read_again_and_again(x, 5)
    assert len(submissions) <= count + 2, "the read before the first launch is one of its own"


def test_what_was_written_since_is_read(home):
    x, y = lp.zeros(SIZE, device=home), lp.full(SIZE, 5.0, device=home)
    other = lp.Queue(home)
    for write, expected in (
        (lambda: x.fill(7.0), 7.0),
        (lambda: x.copy_from(np.full(SIZE, 3.0, np.float32)), 3.0),
        (lambda: x.copy_from(y), 5.0),
        (lambda: copy[SIZE](y, x), 5.0),
        (lambda: copy[SIZE].on(other)(y, x), 5.0),
    ):
        read_again_and_again(x)
        add[SIZE](1.0, x)  # the copy is submitted with it
        write()
        assert (x.numpy() == expected).all()


def test_a_copy_that_nobody_reads_is_the_last(home, submissions):
    x = lp.zeros(SIZE, device=home)
    value = read_again_and_again(x)
    submissions.clear()
    for _ in range(4):
        add[SIZE](1.0, x).wait()
    assert submissions == [1]
    assert (x.numpy() == value + 4).all()
    assert read_again_and_again(x, 2 * TIMES) == value + 4 + 2 * TIMES
    assert submissions[-1] == 2, "the pattern is back"


def test_memory_that_others_see_is_copied_when_it_is_read(home, submissions, monkeypatch):
    x = lp.zeros(SIZE, device=home)
    monkeypatch.setattr(home.logical, "has_shared_queues", True)
    read_again_and_again(x)
    assert set(submissions) == {1}


def test_what_the_application_wrote_to_the_memory_meanwhile_is_read(home):
    x, y = lp.zeros(SIZE, device=home), lp.full(SIZE, 5.0, device=home)
    read_again_and_again(x)
    add[SIZE](1.0, x)  # the copy is submitted with it
    logical = home.logical
    logical.share_queues()
    queue, behind = lp.Queue(home), Buffer(x.buffer.raw, x.nbytes, logical.memory.next_serial(), 0)
    home.default_queue.wait()
    with logical.lock:
        record_copy(queue, logical, y.buffer, behind, 0, 0, x.nbytes, "copy")
    queue.wait()
    assert (x.numpy() == 5.0).all()


def test_what_another_queue_wrote_follows_no_launch(home, submissions):
    x, y = lp.zeros(SIZE, device=home), lp.zeros(SIZE, device=home)
    for _ in range(2):
        y.numpy()
    for _ in range(4):
        add[SIZE](1.0, x).wait()
    other, value = lp.Queue(home), home.default_queue.last_value
    while other.last_value < value:  # timelines count alike
        copy[SIZE].on(other)(x, y).wait()
    assert (y.numpy() == 4.0).all()
    submissions.clear()
    add[SIZE](1.0, x).wait()
    assert set(submissions) <= {1}


def test_a_wait_in_between(home):
    x = lp.zeros(SIZE, device=home)
    for count in range(TIMES):
        add[SIZE](1.0, x).wait()
        assert (x.numpy() == count + 1).all() and (x.numpy() == count + 1).all()


def test_views_of_other_types_and_targets(home):
    x = lp.zeros(SIZE, device=home)
    value = read_again_and_again(x)
    for out in (np.empty(SIZE, ">f4"), np.empty((SIZE, 2), np.float32)[:, 0], np.empty(SIZE, np.float32)):
        for _ in range(2):
            out[:] = 0
            x.copy_to(out)
            assert (out == value).all()


def test_the_memory_of_a_kept_download_goes_with_its_array(home):
    heaps = home.memory_stats()
    for _ in range(3):
        x = lp.zeros(SIZE, device=home)
        read_again_and_again(x)
        del x
    gc.collect()
    with home.logical.lock:
        home.logical.collect()
    used = [heap.used for heap in home.memory_stats()]
    lp.zeros(SIZE, device=home).numpy()
    with home.logical.lock:
        home.logical.collect()
    assert [heap.used for heap in home.memory_stats()] == used and len(heaps) == len(used)
    assert not home.default_queue.downloads._kept


def test_a_queue_that_copied_goes_with_its_last_reference(home):
    queue, x, out = lp.Queue(home), lp.zeros(SIZE, device=home), np.empty(SIZE, np.float32)
    for _ in range(3):
        queue.copy(x, out).wait()
    home.default_queue.wait()
    x.numpy()
    left = weakref.ref(queue)
    gc.disable()
    try:
        del queue
        assert left() is None
    finally:
        gc.enable()


def test_only_so_many_are_kept(home, monkeypatch):
    monkeypatch.setattr(small_copies, "KEPT", 3)
    arrays = [lp.full(SIZE, value, device=home) for value in range(8)]
    for _ in range(4):
        for value, x in enumerate(arrays):
            assert (x.numpy() == value).all()
    assert len(home.default_queue.downloads._kept) == 3


def test_threads_read_one_array(home):
    x = lp.full(SIZE, 3.0, device=home)
    wrong = []

    def read():
        for _ in range(60):
            if not (x.numpy() == 3.0).all():
                wrong.append(x.numpy())

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_queue_that_is_timed_times_copies(home):
    x = lp.zeros(SIZE, device=home)
    read_again_and_again(x)
    with lp.profile() as profile:
        x.copy_from(np.ones(SIZE, np.float32))
        x.numpy()
    names = [event.name for event in profile.events if event.kind == "copy" and event.queue]
    assert names == ["upload", "download"]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 4095, 16383, 16384, 16385, 70001])
def test_uploads_of_any_size(home, count):
    x = np.random.default_rng(count).integers(0, 256, count).astype(np.uint8)
    array, behind = lp.asarray(x, device=home), lp.full(16, 7, lp.u8, device=home)
    for step in range(3):
        array.copy_from(x + np.uint8(step))
        assert np.array_equal(array.numpy(), x + np.uint8(step))
    assert (behind.numpy() == 7).all()
