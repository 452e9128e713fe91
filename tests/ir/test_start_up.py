"""Importing while drivers start: both are done when the call returns, whatever goes wrong in either."""

from __future__ import annotations

import sys
import threading

import pytest

from lapilli.ir import start_up
from lapilli.ir.start_up import import_at_start_up, import_libraries, import_now, side_by_side


def fail(error: BaseException) -> None:
    raise error


def test_one_goes_on_while_the_other_waits() -> None:
    imported = threading.Event()
    # Only side by side: on one thread the wait, which comes first, would end without the event.
    assert side_by_side(lambda: imported.wait(30), imported.set)


def test_the_thread_has_ended_afterwards() -> None:
    before = threading.active_count()
    assert side_by_side(threading.get_ident, lambda: None) != threading.get_ident()
    assert threading.active_count() == before


def test_an_error_of_the_work_is_the_callers() -> None:
    done: list[str] = []
    with pytest.raises(KeyError, match="driver"):
        side_by_side(lambda: fail(KeyError("driver")), lambda: done.append("imported"))
    assert done == ["imported"]


def test_an_error_of_the_imports_waits_for_the_work() -> None:
    released, done = threading.Event(), list[str]()

    def work() -> None:
        released.wait(30)
        done.append("opened")

    def meanwhile() -> None:
        released.set()
        raise ImportError("broken")

    with pytest.raises(ImportError, match="broken"):
        side_by_side(work, meanwhile)
    assert done == ["opened"]


@pytest.mark.parametrize("reason", ["no thread", "small stacks", "the end"])
def test_without_a_thread_one_comes_after_the_other(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason == "no thread":
        monkeypatch.setattr(threading.Thread, "start", lambda _: fail(RuntimeError("can't start new thread")))
    elif reason == "the end":
        monkeypatch.setattr(sys, "is_finalizing", lambda: True)
    else:
        monkeypatch.setattr(threading, "stack_size", lambda: 1 << 16)
    done: list[str] = []
    assert side_by_side(lambda: [*done, threading.get_ident()], lambda: done.append("imported")) == [
        "imported",
        threading.get_ident(),
    ]


def test_each_import_is_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_up, "_imports", {})
    done: list[str] = []

    def load() -> None:
        done.append("loaded")

    import_at_start_up(load)
    import_at_start_up(load)
    import_now()
    import_now()
    assert done == ["loaded"]


def test_libraries_come_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_up, "_imports", {})
    monkeypatch.setattr(start_up, "_libraries", {})
    done: list[str] = []
    import_at_start_up(lambda: done.append("loaded"), lambda: done.append("libraries"))
    import_libraries()
    assert done == ["libraries"]
    import_now()
    import_libraries()
    assert done == ["libraries", "loaded"]
