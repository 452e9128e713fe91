"""What a first launch leaves for later: work that can wait until the driver has the kernel.

A software driver compiles a kernel when it first runs, on a thread of its own, for longer than we do.  So a launch
that made a pipeline is submitted at once, and what is left of its compilation, writing it to the cache and collecting
its garbage, is done meanwhile, and so are imports for the kernel that comes next (`rest_of_compiler`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from ..vk_runtime import graph_recording
from ..vk_runtime.queue import Queue
from .collector_pause import collector_paused

in_the_wait: Final[list[Callable[[Callable[[], bool]], object]]] = []
"""What a launch that was submitted at once does for as long as its queue is busy, which each is given to ask."""


class _Later(threading.local):
    """What a thread has put off."""

    def __init__(self) -> None:
        self.work: list[Callable[[], object]] | None = None


_later: Final = _Later()


@contextmanager
def first_launch(queue: Queue) -> Generator[None]:
    """Submits, at its end, what was launched within, if pipelines were made for it.

    What `when_submitted` is given within, and the garbage collector, wait until then.
    """
    if _later.work is not None:
        yield
        return
    pipelines = queue.device.logical.pipelines
    made, is_submitted = pipelines.made, False
    work = _later.work = []
    try:
        with collector_paused():
            yield
            if pipelines.made != made and graph_recording.recorder() is None:
                queue.flush()
                is_submitted = True
    finally:
        _later.work = None
        for do in work:
            do()
    if is_submitted:
        for use in in_the_wait:
            use(queue.is_busy)


def when_submitted(do: Callable[[], object]) -> None:
    """Does something at the end of this thread's `first_launch`, at once outside of one."""
    if _later.work is None:
        do()
    else:
        _later.work.append(do)
