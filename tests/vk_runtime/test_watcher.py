"""The thread that calls functions when commands have ended."""

from __future__ import annotations

import threading

import pytest

from lapilli.vk_runtime.watcher import Watcher


class _Ended:
    """A queue whose commands have all ended."""

    def wait_slice(self, value: int) -> bool:
        return True


def test_a_thread_that_cannot_start_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    watcher, calls, done = Watcher(), list[int](), threading.Event()

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as limited:
        limited.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            watcher.add(_Ended(), 1, lambda: calls.append(1))
    watcher.add(_Ended(), 2, lambda: (calls.append(2), done.set()))
    assert done.wait(60)
    watcher.stop()
    assert calls == [2]  # who was refused was told so
