"""Owning a Vulkan object: made by its parent, destroyed once, never while a submission may use it.

A `Handle` is destroyed by `close`, by ``with``, or, as the net, when the last reference goes.  Python may
drop that reference inside any allocation, also while one of our locks is held, so a dropped handle is only
queued on its parent's `Graveyard`; the parent destroys what lies there at its next safe point.  Submissions
hold references to the handles they use, so nothing is queued before the device is done with it.
"""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self


class Graveyard:
    """Destroy calls that wait for a safe point of the parent that owns them."""

    def __init__(self) -> None:
        self.pending: deque[Callable[[], None]] = deque()
        """What waits."""
        self._living: dict[int, Callable[[], None]] = {}
        self._serials = itertools.count()

    def register(self, owner: object, destroy: Callable[[], None]) -> weakref.finalize[..., object]:
        """Arranges that `destroy` is queued when `owner` goes.  `destroy` must not refer to `owner`."""
        serial = next(self._serials)
        self._living[serial] = destroy
        finalizer = weakref.finalize(owner, self._bury, serial)
        # The runtime takes everything down in order at exit; see `runtime`.
        finalizer.atexit = False
        return finalizer

    def _bury(self, serial: int) -> None:
        destroy = self._living.pop(serial, None)
        if destroy is not None:
            self.pending.append(destroy)

    def drain(self) -> None:
        """Destroys what waits.  Call it where no submission can need it: references guarantee the rest."""
        pending = self.pending
        while pending:
            with contextlib.suppress(IndexError):  # another thread took the last one
                pending.popleft()()

    def close(self) -> None:
        """Destroys everything that waits or still lives, newest first."""
        self.drain()
        while self._living:
            _, destroy = self._living.popitem()
            destroy()

    def __len__(self) -> int:
        """Number of objects that are alive or wait to be destroyed."""
        return len(self._living) + len(self.pending)


class Handle:
    """Base of objects that own a Vulkan object.

    Subclasses call `_own` once it exists.  `close` is idempotent.
    """

    _finalizer: weakref.finalize[..., object] | None = None

    is_closed: bool = True
    """Whether the Vulkan object is gone or on its way.  A plain attribute: every launch asks its queue."""

    def _own(self, graveyard: Graveyard, destroy: Callable[[], None]) -> None:
        self._finalizer = graveyard.register(self, destroy)
        self.is_closed = False

    def close(self) -> None:
        """Gives the Vulkan object up; it is destroyed at the parent's next safe point."""
        self.is_closed = True
        if self._finalizer is not None:
            self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
