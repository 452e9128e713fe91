"""Calling functions when commands have ended: one thread for each queue that somebody watches.

The thread only waits and calls; it neither retires submissions nor takes errors that belong to whoever waits next.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable
from typing import Any, Protocol

from ..ir.errors import Error
from ..ir.lazy_logging import logger_of

logger = logger_of(__name__)

IDLE_S = 1.0
"""How long the thread stays when there is nothing to wait for."""


class Watched(Protocol):
    """What has a timeline to wait for; a queue is one."""

    def wait_slice(self, value: int) -> bool:
        """Waits for a while; returns whether the timeline has reached `value`."""
        ...


class Watcher:
    """The functions to call as the timeline of a queue goes on."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._jobs: list[tuple[int, int, Callable[[], Any]]] = []
        self._serials = itertools.count()
        self._thread: threading.Thread | None = None
        self._is_stopping = False

    def add(self, queue: Watched, value: int, function: Callable[[], Any]) -> None:
        """Arranges that `function` is called, in the thread, once the timeline of `queue` has reached `value`."""
        with self._changed:
            heapq.heappush(self._jobs, (value, next(self._serials), function))
            self._changed.notify()
            if self._thread is None:
                # A daemon: a hung driver must not keep the process. `LogicalDevice.close` ends it in order.
                self._thread = threading.Thread(
                    target=self._run, args=(queue,), name="lapilli callbacks", daemon=True
                )
                self._thread.start()

    def stop(self) -> None:
        """Ends the thread, after what has ended was called; for the device's end."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self, queue: Watched) -> None:
        while True:
            with self._changed:
                if not self._jobs and not self._is_stopping:
                    self._changed.wait(IDLE_S)
                if not self._jobs:
                    self._thread = None
                    return
                value = self._jobs[0][0]
            try:
                is_reached = queue.wait_slice(value)
            except Error:  # nothing will ever end: whoever waits for the event is told why
                is_reached, value = True, self._last_value()
            if is_reached:
                self._call(value)
            elif self._is_stopping:
                return

    def _last_value(self) -> int:
        with self._changed:
            return max((value for value, _, _ in self._jobs), default=0)

    def _call(self, value: int) -> None:
        ready: list[Callable[[], Any]] = []
        with self._changed:
            while self._jobs and self._jobs[0][0] <= value:
                ready.append(heapq.heappop(self._jobs)[2])
        for function in ready:
            try:
                call(function)
            except BaseException:  # SystemExit: the thread goes on, for whoever else waits for events
                logger.exception("a done callback raised")


def call(function: Callable[[], Any]) -> None:
    """Calls a function of the user; what it raises goes to the log, because nobody is there to catch it."""
    try:
        function()
    except Exception:
        logger.exception("a done callback raised")
