"""Threads may share devices, queues, kernels and arrays."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

THREADS = 8


@lp.kernel
def add(amount: lp.f32, x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] + amount


def in_threads(work):
    start = threading.Barrier(THREADS)

    def run(index):
        start.wait()
        return work(index)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def test_one_queue_for_all(device):
    shared = lp.zeros(500, device=device)
    in_threads(lambda _: [add[500](1.0, shared) for _ in range(100)])
    assert (shared.numpy() == 100 * THREADS).all()


def test_a_queue_for_each_over_one_array(device):
    shared = lp.zeros(500, device=device)

    def work(index):
        queue = lp.Queue(device)
        for step in range(30):
            event = add[500].on(queue)(1.0, shared)
            if step % 7 == index:
                event.wait()

    in_threads(work)
    assert (shared.numpy() == 30 * THREADS).all()


def test_own_arrays_come_and_go(device):
    def work(index):
        for step in range(30):
            x = lp.full(64 + step, index, device=device)
            add[x.size](float(step), x)
            if not (x.numpy() == index + step).all():
                return False
        return True

    assert all(in_threads(work))


def test_waiting_for_one_event_in_every_thread(device):
    x = lp.zeros(10_000, device=device)
    event = add[x.size](1.0, x)
    assert all(found is event for found in in_threads(lambda _: event.wait()))
    np.testing.assert_array_equal(x.numpy(), np.ones(10_000, np.float32))
