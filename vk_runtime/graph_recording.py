"""Whether a graph is being recorded, for the places where commands are made.

Those places ask ``active`` first, a plain set, so that a launch outside of any graph pays for one look at it.

A graph takes what its ``with`` block launches: in the thread that entered it and, where the block awaits, in the task
of asyncio that did and in those that it starts.  Other tasks of the thread come in between and know nothing of it.
"""

from __future__ import annotations

import threading
import weakref
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from ..ir.errors import InvalidError

if TYPE_CHECKING:
    from .graph import Graph


class _Recording(NamedTuple):
    graph: weakref.ref[Graph]
    """A task that is started in the block may live for long, and has a copy of this."""
    thread: int


_recording: ContextVar[_Recording | None] = ContextVar("lapilli: the graph that is recorded", default=None)

active: set[weakref.ref[Graph]] = set()
"""The graphs that are recorded; one that goes without being left leaves it.  A count would be wrong after a Ctrl-C
between counting and the rest."""


def recorder() -> Graph | None:
    """Returns the graph that takes what is launched here."""
    found = _recording.get()
    if found is None or found.thread != threading.get_ident():
        return None
    return found.graph() if found.graph in active else None


def begin(graph: Graph) -> None:
    """Has a graph take what is launched here."""
    reference = weakref.ref(graph, active.discard)
    active.add(reference)
    _recording.set(_Recording(reference, threading.get_ident()))


def end(graph: Graph) -> None:
    """Makes commands run again, wherever the block was entered."""
    active.discard(weakref.ref(graph))  # equal to the one that is there
    found = _recording.get()
    if found is not None and found.graph() is graph:
        _recording.set(None)


def refuse(what: str) -> None:
    """Raises InvalidError where a graph is recorded, in which `what` has no place."""
    if active and recorder() is not None:
        raise InvalidError(
            f"{what} cannot be recorded in a graph, which holds what runs on the device at each replay: launches, "
            "copies between arrays of one device, fills; do it before the with block, or after g.replay()",
            code="LP1601",
        )
