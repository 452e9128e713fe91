"""Waits that leave what kernels have reported for later.

Apart from `reports`, which the end of a program would load otherwise, whether or not a kernel has reported anything.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager


class _Quiet(threading.local):
    """Whether this thread's waits leave reports for later."""

    depth = 0


_quiet = _Quiet()


def is_quiet() -> bool:
    """Whether waits of this thread show no reports."""
    return _quiet.depth > 0


@contextmanager
def quiet() -> Generator[None]:
    """Waits of this thread show no reports while the context lasts: nobody asked for them."""
    _quiet.depth += 1
    try:
        yield
    finally:
        _quiet.depth -= 1
