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


@pytest.mark.native_only("graphs are not interpreted")
def test_a_queue_that_is_being_closed_takes_no_launches_of_other_threads(device, monkeypatch):
    queue, x = lp.Queue(device), lp.zeros(64, device=device)
    with lp.graph() as graph:
        add[64](1.0, x)
    add[64].on(queue)(1.0, x)
    wait = queue._wait_for_all

    def wait_while_others_launch():
        wait()
        for launch in (lambda: add[64].on(queue)(1.0, x), lambda: graph.replay(queue), queue.marker):
            with pytest.raises(lp.InvalidError, match="was closed"):
                launch()

    monkeypatch.setattr(queue, "_wait_for_all", wait_while_others_launch)
    queue.close()
    assert queue.is_closed and (x.numpy() == 1).all()


def test_ctrl_c_while_a_queue_is_closed_leaves_it_open(device, monkeypatch):
    queue, x = lp.Queue(device), lp.zeros(64, device=device)

    def interrupted():
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(queue, "_wait_for_all", interrupted)
        with pytest.raises(KeyboardInterrupt):
            queue.close()
    add[64].on(queue)(1.0, x)
    assert not queue.is_closed and (x.numpy() == 1).all()
    queue.close()


@pytest.mark.native_only("graphs are not interpreted")
def test_a_graph_that_another_thread_releases_is_refused(device, monkeypatch):
    x = lp.zeros(64, device=device)
    with lp.graph() as graph:
        add[64](1.0, x)
    check = graph._require_ready

    def check_before_another_thread():
        monkeypatch.undo()
        check()
        graph.release()

    monkeypatch.setattr(graph, "_require_ready", check_before_another_thread)
    with pytest.raises(lp.InvalidError, match="was released"):
        graph.replay()
    assert (x.numpy() == 0).all()


@pytest.mark.native_only("graphs are not interpreted")
def test_threads_replay_change_and_release_graphs(device):
    x, y = lp.zeros(64, device=device), lp.zeros(64, device=device)

    def recorded():
        with lp.graph() as graph:
            event = add[64](1.0, x)
        return graph, event

    current = [recorded()]

    def work(index):
        refused = 0
        for _ in range(60):
            graph, event = current[0]
            try:
                if index % 4 == 0:
                    current[0] = recorded()
                    graph.release()
                elif index % 4 == 1:
                    graph.update(event, amount=2.0)
                elif index % 4 == 2:
                    graph.bind(x, y).bind(y, x)
                else:
                    graph.replay()
            except lp.InvalidError:  # released, or the other array is bound
                refused += 1
        return refused

    assert len(in_threads(work)) == THREADS
    x.numpy()
