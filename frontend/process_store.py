"""Compiled kernels of this process, where there is no cache on disk.

A function that makes kernels and a cell of a notebook that is run again define a kernel anew, which has nothing of the
one before but its text; compiling it again would take 10 ms and more.  The entries are those that a cache on disk has,
found and checked in the same way (`image_cache`).
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final


class ProcessStore:
    """Entries in memory, an `image_cache.Store`.  Use it with the compile lock held.

    Args:
        limit_bytes: of all payloads; those that were not used for longest go.
    """

    outlives_process = False

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._entries: OrderedDict[str, bytes] = OrderedDict()
        self._size_bytes = 0

    def load(self, name: str) -> bytes | None:
        """Returns what was stored under `name`."""
        payload = self._entries.get(name)
        if payload is not None:
            self._entries.move_to_end(name)
        return payload

    def store(self, name: str, payload: bytes) -> bool:
        """Keeps `payload` under `name`; returns False where it is too large."""
        self.remove(name)
        if len(payload) > self._limit_bytes:
            return False
        self._entries[name] = payload
        self._size_bytes += len(payload)
        while self._size_bytes > self._limit_bytes:
            _, gone = self._entries.popitem(last=False)
            self._size_bytes -= len(gone)
        return True

    def remove(self, name: str) -> None:
        """Forgets `name`."""
        self._size_bytes -= len(self._entries.pop(name, b""))

    def clear(self) -> None:
        """Forgets everything."""
        self._entries.clear()
        self._size_bytes = 0


process_store: Final = ProcessStore(16 << 20)
"""That of this process."""
