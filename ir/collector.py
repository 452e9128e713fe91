"""Keeps the garbage collector from running for a while, and no longer: also after Ctrl-C, and in forked processes.

Standard library only.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

_stopped_by: list[int] = []
"""Threads that turned the collector off and have not turned it on again."""


@contextmanager
def collector_off(turn_on: Callable[[], object] = gc.enable) -> Generator[None]:
    """Turns the collector off within, if it is on; may nest.

    Args:
        turn_on: what turns it on again.
    """
    if not gc.isenabled():
        yield
        return
    thread = threading.get_ident()
    try:  # around the calls, behind which Ctrl-C may come
        _stopped_by.append(thread)
        gc.disable()
        yield
    finally:
        try:
            turn_on()
        finally:
            gc.enable()
            _stopped_by.remove(thread)


def _after_fork() -> None:
    """Turns the collector on that a thread has stopped which this process has not got."""
    own = threading.get_ident()
    if _stopped_by and own not in _stopped_by:
        _stopped_by.clear()
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
