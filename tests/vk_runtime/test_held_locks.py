"""Locks are noted as they are taken: Ctrl-C at any point leaves none behind, and gives none back twice."""

from __future__ import annotations

import threading

import pytest

from lapilli.vk_runtime.held_locks import HeldLocks
from tests.interruption import interrupted_at


def is_free(lock: threading.RLock) -> bool:
    """Returns whether another thread could take it."""
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(lock.acquire(timeout=0) and lock.release() is None))
    thread.start()
    thread.join()
    return found == [True]


def test_ctrl_c_at_any_point() -> None:
    first, second = threading.RLock(), threading.RLock()
    count = 0
    for count in range(1000):
        held = HeldLocks()

        def use(held: HeldLocks = held) -> None:
            try:
                assert held.take(first) and held.take(second) and held.take(first)
                held.give_back()
            finally:
                held.give_back()

        is_interrupted = interrupted_at(count, use)
        held.give_back()  # the `finally` may have been interrupted, too
        assert is_free(first) and is_free(second), f"point {count}"
        if not is_interrupted:
            break
    assert count > 5


def test_a_lock_that_stays_taken() -> None:
    lock, held, is_taken, may_end = threading.RLock(), HeldLocks(), threading.Event(), threading.Event()

    def keep() -> None:
        with lock:
            is_taken.set()
            may_end.wait(60)

    thread = threading.Thread(target=keep)
    thread.start()
    is_taken.wait(60)
    assert not held.take(lock, timeout_s=0.001)
    held.give_back()
    may_end.set()
    thread.join()
    assert held.take(lock)
    held.give_back()
    with pytest.raises(RuntimeError):  # it is nobody's any more
        lock.release()


def test_threads_give_back_their_own() -> None:
    """Two threads may fork at once: the second waits for what the first gives back."""
    lock, held = threading.RLock(), HeldLocks()
    assert held.take(lock)
    thread = threading.Thread(target=held.give_back)
    thread.start()
    thread.join()
    assert not is_free(lock)
    held.give_back()
    assert is_free(lock)


def test_what_was_taken_before_stays_taken() -> None:
    first, second, held = threading.RLock(), threading.RLock(), HeldLocks()
    held.begin()
    held.take(first)
    held.begin()
    held.take(first)
    held.take(second)
    held.give_back()
    assert is_free(second) and not is_free(first)
    held.give_back()
    assert is_free(first)
