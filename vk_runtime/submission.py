"""Whether the calling thread is inside of a command group: some calls are not allowed there."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager


class _State(threading.local):
    depth = 0


_state = _State()


def is_submitting() -> bool:
    """Returns whether a command group of this thread is being written."""
    return _state.depth > 0


@contextmanager
def submitting() -> Generator[None]:
    """Marks the thread as writing a command group while the context lasts."""
    _state.depth += 1
    try:
        yield
    finally:
        _state.depth -= 1
