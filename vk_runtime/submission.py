"""Whether this thread is inside of a command group: then no specialization constant of a bundle may be set."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager


class _State(threading.local):
    depth = 0


_state = _State()


@contextmanager
def submitting() -> Generator[None]:
    """Marks that this thread runs a command group."""
    _state.depth += 1
    try:
        yield
    finally:
        _state.depth -= 1


def is_submitting() -> bool:
    """Returns whether this thread runs a command group."""
    return _state.depth > 0
