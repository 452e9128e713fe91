"""Keeps the garbage collector from running while a kernel is compiled."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Generator[None]:
    """Pauses the collector within; may nest.

    IR is made of cycles and lives until the compilation ends, so that every pass over it meanwhile finds nothing:
    an eighth of the compile time.  What has become garbage is collected when the collector runs next.
    """
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_collecting:
            gc.enable()
