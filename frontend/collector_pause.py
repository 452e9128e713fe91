"""Keeps the garbage collector from running while a kernel is compiled."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache

from ..ir.collector import collector_off
from ..ir.deferred_definitions import resume_collecting

_resume_first = cache(resume_collecting)


@contextmanager
def collector_paused() -> Generator[None]:
    """Pauses the collector within; may nest.

    IR is made of cycles and lives until the compilation ends, so that every pass over it meanwhile finds nothing:
    an eighth of the compile time.  What has become garbage is collected when the collector runs next; after the first
    pause of a process, most of whose objects stay (definitions, tables), at the next full collection.
    """
    with collector_off(_resume_first):
        yield
