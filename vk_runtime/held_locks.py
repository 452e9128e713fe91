"""Locks that are taken without a ``with`` block, and given back whatever comes in between."""

from __future__ import annotations

from functools import partial
from itertools import compress
from threading import RLock, local


class HeldLocks(local):
    """Locks that this thread has taken, the latest at the end; each thread sees its own."""

    def __init__(self) -> None:
        self._held: list[RLock | None] = []

    def take(self, lock: RLock, timeout_s: float = -1) -> bool:
        """Acquires a lock; returns whether it was free in time.

        It is noted in the same step: Ctrl-C comes before both or behind both.
        """
        before = len(self._held)
        self._held.extend(compress((lock,), iter(partial(lock.acquire, timeout=timeout_s), None)))
        return len(self._held) > before

    def begin(self) -> None:
        """Has the next `give_back` release what is taken from here on, and no more."""
        self._held.append(None)

    def give_back(self) -> None:
        """Releases all since `begin`, the latest first; without that, after Ctrl-C it may be called again."""
        latest = iter(self._held.pop, None)
        while self._held:
            for lock in latest:
                assert lock is not None, "it would have ended the iteration"
                lock.release()
                break
            else:
                return
