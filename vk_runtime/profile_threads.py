"""What to call the threads of a profile, which may have ended by the time that it is saved."""

from __future__ import annotations

import threading
from dataclasses import dataclass


@dataclass(slots=True)
class _Names:
    """The names of the threads that had one number, which the system gives to the next when a thread has ended."""

    first: str
    last: str
    others: int = 0
    """Counted, not kept: a server may make a thread for each request."""


class ThreadNames:
    """The names of threads, by number."""

    def __init__(self) -> None:
        self._names: dict[int, _Names] = {}

    def note(self) -> int:
        """Notes the running thread; returns its number."""
        number, name = threading.get_ident(), threading.current_thread().name
        names = self._names.get(number)  # which no other thread changes
        if names is None:
            self._names[number] = _Names(name, name)
        elif names.last != name:
            names.last = name
            names.others += 1
        return number

    def shown(self) -> dict[int, str]:
        """Returns what to call each thread: by the first of its names, and how many others there were."""
        return {
            number: f"{names.first} and {names.others} more" if names.others else names.first
            for number, names in self._names.copy().items()
        }
