"""Compiling what is nested deeper than Python's recursion limit allows, such as an ``elif`` chain of 500 arms.

The compiler walks syntax trees and IR by recursion.  A text that needs more frames than the limit is compiled again
in a thread with a stack that has room for them; whatever is deeper than that ends in the error as before.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

STACK_BYTES: Final = 512 << 20
"""Address space of the thread's stack; only what is used becomes memory."""
FRAMES: Final = 60_000
"""Recursion limit meanwhile.  A frame that C code calls takes about 500 bytes of stack in CPython 3.11."""

_NAME: Final = "lapilli-compiler"
_lock = threading.RLock()
"""The stack size of new threads and the recursion limit belong to the process."""


def with_deep_stack(compute: Callable[[], T]) -> T:
    """Returns ``compute()``, called again in a thread with a large stack where the recursion limit stops it.

    Raises:
        RecursionError: that was not enough.
        Exception: whatever `compute` raises.
    """
    try:
        return compute()
    except RecursionError:
        if threading.current_thread().name == _NAME:
            raise
    # Outside of the `except`: the traceback in there would keep every frame alive.
    return _in_thread(compute)


def _in_thread(compute: Callable[[], T]) -> T:
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(compute())
        except BaseException as error:  # handed to the caller's thread
            errors.append(error)

    with _lock:
        size, limit = threading.stack_size(STACK_BYTES), sys.getrecursionlimit()
        try:
            sys.setrecursionlimit(max(limit, FRAMES))
            context = contextvars.copy_context()
            thread = threading.Thread(target=context.run, args=(run,), name=_NAME)
            thread.start()
            thread.join()
        finally:
            threading.stack_size(size)
            sys.setrecursionlimit(limit)
    if errors:
        raise errors[0]
    return results[0]
