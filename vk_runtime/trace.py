"""Counting what the runtime and the compiler do: ``with lapilli.trace() as t``."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, get_args

from ..ir.errors import InvalidError

if TYPE_CHECKING:
    from typing import Protocol

    class Identified(Protocol):
        """What an event is about: an image."""

        @property
        def digest(self) -> bytes:
            """What identifies it; computed for those who ask, in as long as an eighth of its emission."""
            ...

    class Collector(Protocol):
        """What gets the events while it is in `active`."""

        def add(self, event: TraceEvent) -> None:
            """Takes an event."""
            ...


TraceKind = Literal["compile", "link", "module", "pipeline", "cache_hit", "launch"]
"""``compile``: source to SPIR-V; ``link``: modules joined; ``module``: a VkShaderModule; ``pipeline``: a
VkPipeline; ``cache_hit``: an image that needed no compiling; ``launch``: a kernel recorded on a queue."""


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One thing that the compiler or the runtime did while a trace ran: what, of which kernel or image, where."""

    kind: TraceKind
    kernel: str
    """Kernel name; empty where it concerns a whole image."""
    image: str
    """The image's digest as hexadecimal text; empty where there is none."""
    device: str
    """The device's selector; empty where no device is concerned."""


class Trace:
    """Collects events of all threads while its ``with`` block runs; blocks may nest."""

    def __init__(self) -> None:
        self.events: list[TraceEvent] = []
        """What was done, in order."""

    def __repr__(self) -> str:
        return f"<lapilli.Trace of {len(self.events)} events>"

    def add(self, event: TraceEvent) -> None:
        """Takes an event."""
        self.events.append(event)

    def count(self, kind: TraceKind) -> int:
        """Returns how many events are of `kind`; InvalidError for what is no kind."""
        if kind not in get_args(TraceKind):
            raise InvalidError(f"trace.count takes one of {', '.join(get_args(TraceKind))}, found {kind!r}")
        return sum(event.kind == kind for event in self.events)

    def __enter__(self) -> Self:
        with _lock:
            active.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        with _lock:
            if self not in active:
                raise InvalidError("this trace does not run; write with lp.trace() as t: …")
            active.remove(self)


_lock = threading.RLock()
_thread = threading.local()

active: list[Collector] = []
"""The traces, profiles and logs that run now.  Test ``if active`` before building an event: it costs nothing while
none does."""


def trace() -> Trace:
    """Returns a context manager that counts compilations, modules, pipelines and launches."""
    return Trace()


def record(kind: TraceKind, *, kernel: str = "", image: Identified | None = None, device: str = "") -> None:
    """Tells every running trace of an event."""
    if active and not getattr(_thread, "is_unobserved", False):
        event = TraceEvent(kind, kernel, "" if image is None else image.digest.hex(), device)
        for collector in tuple(active):
            collector.add(event)


@contextmanager
def unobserved() -> Generator[None]:
    """While its block runs, nothing that this thread does is told to traces: for what nobody asked for."""
    before = getattr(_thread, "is_unobserved", False)
    _thread.is_unobserved = True
    try:
        yield
    finally:
        _thread.is_unobserved = before
