"""Copies in host memory on several threads."""

from __future__ import annotations

import threading
import time
from functools import cache

import pytest

from lapilli.vk_runtime import copy_threads
from lapilli.vk_runtime.copy_threads import CopyThreads


def test_all_have_ended_behind_the_block() -> None:
    ended: list[int] = []
    with CopyThreads() as threads:
        for number in range(20):
            threads.start(lambda number=number: ended.append(number))
    assert sorted(ended) == list(range(20))


def test_what_one_raises_is_raised_when_all_have_ended() -> None:
    ended: list[int] = []
    release = threading.Event()

    def fail() -> None:
        raise ValueError("this one")

    def wait() -> None:
        release.wait(30)
        ended.append(1)

    with pytest.raises(ValueError, match="this one"), CopyThreads() as threads:
        threads.start(fail)
        threads.start(wait)
        release.set()
    assert ended == [1]


def test_an_exception_in_the_block_waits_for_all() -> None:
    ended: list[int] = []
    with pytest.raises(ValueError, match="that one"), CopyThreads() as threads:
        threads.start(lambda: (time.sleep(0.01), ended.append(1)))
        raise ValueError("that one")
    assert ended == [1]


def test_where_no_threads_start_any_more_the_caller_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended:
        def submit(self, copy: object) -> None:
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    monkeypatch.setattr(copy_threads, "_threads", Ended)
    found: list[int] = []
    with CopyThreads() as threads:
        assert threads.start(lambda: found.append(threading.get_ident())).done()
    assert found == [threading.get_ident()]


def test_a_copy_for_which_no_thread_starts_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool keeps what it has no thread for, and would make the copy again once it has one."""
    monkeypatch.setattr(copy_threads, "_threads", cache(copy_threads._threads.__wrapped__))
    made: list[int] = []

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch, CopyThreads() as threads:
        patch.setattr(threading.Thread, "start", refuse)
        threads.start(lambda: made.append(1))
    with CopyThreads() as threads:
        threads.start(lambda: made.append(2))
    copy_threads._threads().shutdown()
    assert made == [1, 2]
