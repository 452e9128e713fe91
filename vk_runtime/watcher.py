"""Calling functions when commands have ended: one thread for each queue that somebody watches.

The thread only waits and calls; it neither retires submissions nor takes errors that belong to whoever waits next.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ..ir.errors import Error, InvalidError
from ..ir.lazy_logging import logger_of

if TYPE_CHECKING:
    from .watchdog import Watchdog

logger = logger_of(__name__)

IDLE_S = 1.0
"""How long the thread stays when there is nothing to wait for."""


class Watched(Protocol):
    """What has a timeline to wait for; a queue is one."""

    def wait_slice(self, value: int) -> bool:
        """Waits for a while; returns whether the timeline has reached `value`."""
        ...

    def new_watchdog(self) -> Watchdog | None:
        """Returns what notices that its device gets nowhere; None where something else decides how long it takes."""
        ...


class Watcher:
    """The functions to call as the timeline of a queue goes on."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._jobs: list[tuple[int, int, Callable[[], Any]]] = []
        self._serials = itertools.count()
        self._queue: Watched | None = None
        """What is waited for; None while there is nothing to call, so that the queue may go."""
        self._watchdog: Watchdog | None = None
        """Of the wait that goes on."""
        self._thread: threading.Thread | None = None
        self._is_stopping = False

    def add(self, queue: Watched, value: int, function: Callable[[], Any]) -> None:
        """Arranges that `function` is called, in the thread, once the timeline of `queue` has reached `value`.

        Raises:
            InvalidError: the device is being closed: callbacks that watch what they launch would never end.
        """
        with self._changed:
            if self._is_stopping:
                raise InvalidError("the device is being closed: no callback is added any more")
            if self._thread is None:
                # A daemon: a hung driver must not keep the process. `LogicalDevice.close` ends it in order.
                thread = threading.Thread(target=self._run, name="lapilli callbacks", daemon=True)
                thread.start()  # or raises, where the system has no more threads: then nothing has changed
                self._thread = thread
            heapq.heappush(self._jobs, (value, next(self._serials), function))
            self._queue = queue
            self._changed.notify()

    def stop(self) -> None:
        """Ends the thread, after what has ended was called; for the device's end."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        while self._has_jobs():
            is_reached, value = self._wait()
            if is_reached:
                self._call(value)
            elif self._is_stopping:
                return

    def _has_jobs(self) -> bool:
        """Waits for something to call; returns whether there is anything, else the thread has ended."""
        with self._changed:
            if not self._jobs:
                self._queue = None
                if not self._is_stopping:
                    self._changed.wait(IDLE_S)
            if not self._jobs:
                self._thread = None
            return bool(self._jobs)

    def _wait(self) -> tuple[bool, int]:
        """Waits for a while for the next; returns whether the timeline has reached its value, and that."""
        with self._changed:
            queue, value = self._queue, self._jobs[0][0]
        assert queue is not None, "what is to be called waits for a queue"
        try:
            is_reached = queue.wait_slice(value)
            if is_reached:
                self._watchdog = None
            elif self._watchdog is None:
                self._watchdog = queue.new_watchdog()
            else:
                self._watchdog.look()
            return is_reached, value
        except Error:  # nothing will ever end: whoever waits for the event is told why
            return True, self._last_value()

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
