"""Whether this thread records a graph, for the places where commands are made.

Those places ask ``active`` first, a plain set, so that a launch outside of any graph pays for one look at it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ..ir.errors import InvalidError

if TYPE_CHECKING:
    from .graph import Graph


class _State(threading.local):
    graph: Graph | None = None


_state = _State()

active: set[int] = set()
"""The threads that record a graph.  A count would be wrong after a Ctrl-C between counting and the rest."""


def recorder() -> Graph | None:
    """Returns the graph that this thread records."""
    return _state.graph


def begin(graph: Graph) -> None:
    """Makes this thread record its commands into `graph`."""
    active.add(threading.get_ident())
    _state.graph = graph


def end() -> None:
    """Makes this thread's commands run again."""
    _state.graph = None
    active.discard(threading.get_ident())


def refuse(what: str) -> None:
    """Raises InvalidError where this thread records a graph, in which `what` has no place."""
    if active and _state.graph is not None:
        raise InvalidError(
            f"{what} cannot be recorded in a graph, which holds what runs on the device at each replay: launches, "
            "copies between arrays of one device, fills; do it before the with block, or after g.replay()",
            code="LP1601",
        )
