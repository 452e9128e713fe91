"""Owning a Vulkan object: made by its parent, destroyed once, never while a submission may use it.

A `Handle` is destroyed by `close`, by ``with``, or, as the net, when the last reference goes.  Python may
drop that reference inside any allocation, also while one of our locks is held, so a dropped handle is only
queued on its parent's `Graveyard`; the parent destroys what lies there at its next safe point.  Submissions
hold references to the handles they use, so nothing is queued before the device is done with it.

Ctrl-C may come behind any call.  So a handle is owned before it is made: the driver writes it where its destroy call
looks for it, which leaves nothing there when it is called.  Destroying nothing is allowed.
"""

from __future__ import annotations

import contextlib
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from .logical_device import LogicalDevice

_T = TypeVar("_T")


class Owned(weakref.ref["object"]):
    """What `destroy` is owed to: it is queued when the owner goes, by a function that is not Python's."""

    __slots__ = ("destroy",)
    __hash__ = object.__hash__
    __eq__ = object.__eq__

    destroy: Callable[[], None] | None
    """None once it was called."""


class Graveyard:
    """Destroy calls that wait for a safe point of the parent that owns them."""

    def __init__(self) -> None:
        self.pending: deque[Owned] = deque()
        """What waits; some of it may be done."""
        self._bury = self.pending.append
        self._living: dict[Owned, None] = {}
        """What was not destroyed, oldest first."""
        self._is_draining = False

    def register(self, owner: object, destroy: Callable[[], None]) -> Owned:
        """Arranges that `destroy` is queued when `owner` goes.  `destroy` must not refer to `owner`.

        Half the time of `weakref.finalize`; and Ctrl-C cannot come where it would be swallowed.
        """
        owned = Owned(owner, self._bury)
        owned.destroy = destroy
        self._living[owned] = None
        return owned

    def bury(self, owned: Owned) -> None:
        """Queues a destroy call now."""
        if owned in self._living:
            self._bury(owned)

    def drain(self) -> None:
        """Destroys what waits.  Call it where no submission can need it: references guarantee the rest.

        A finaliser in the middle of it destroys nothing: what is half destroyed would be so twice.
        """
        if self._is_draining:
            return
        try:
            self._is_draining = True
            self._destroy_pending()
        finally:
            self._is_draining = False

    def _destroy_pending(self) -> None:
        pending = self.pending
        while pending:
            try:
                owned = pending[0]
            except IndexError:  # a finaliser in between has destroyed the rest
                return
            self._destroy(owned)
            with contextlib.suppress(ValueError):  # as above
                pending.remove(owned)

    def _destroy(self, owned: Owned) -> None:
        destroy = owned.destroy
        if destroy is not None:
            destroy()  # called twice if Ctrl-C comes before the next line
            owned.destroy = None  # it may hold the last reference to objects whose turn is next
            self._living.pop(owned, None)

    def close(self) -> None:
        """Destroys everything that waits or still lives, newest first."""
        living = self._living
        while living or self.pending:
            self._destroy_pending()
            if living:
                self._destroy(next(reversed(living)))

    def __len__(self) -> int:
        """Number of objects that are alive or wait to be destroyed."""
        return len(self._living)


def living(found: Iterable[_T]) -> tuple[_T, ...]:
    """Returns what a set or dictionary holds that other threads, and finalisers, may add to meanwhile.

    Also one that is not weak: in Python 3.11 the tuple that is being made of it may start the garbage collector.
    """
    while True:
        with contextlib.suppress(RuntimeError):  # it changed size during iteration
            return tuple(found)


class Handle:
    """Base of objects that own a Vulkan object.

    Subclasses call `_make`, or `_own` before it exists.  `close` is idempotent.
    """

    _owned: Owned | None = None
    _graveyard: Graveyard

    is_closed: bool = True
    """Whether the Vulkan object is gone or on its way.  A plain attribute: every launch asks its queue."""

    def _make(self, device: LogicalDevice, kind: str, info: Any, what: str = "") -> Any:
        """Makes a Vulkan object with ``vkCreate{kind}``, owned from before that on, and returns it.

        Args:
            device: its parent.
            kind: ``Semaphore`` for a VkSemaphore.
            info: its VkSemaphoreCreateInfo.
            what: where a lack of memory is answered by a garbage collection and another attempt: what there is no
                memory for, for messages.

        Raises:
            Error: the driver refuses.
        """
        from .made import Made  # annotations of kernels load this module, and need no Vulkan

        made = Made(device, kind)
        self._own(device.graveyard, made.destroy)
        if what:
            device.memory.retried(what, lambda: made.create(info))
        else:
            made.create(info)
        return made.raw

    def _own(self, graveyard: Graveyard, destroy: Callable[[], None]) -> None:
        """Arranges that `destroy` is called once this goes: it may be called again, and before there is anything."""
        self._graveyard = graveyard
        self._owned = graveyard.register(self, destroy)
        self.is_closed = False

    def close(self) -> None:
        """Gives the Vulkan object up; it is destroyed at the parent's next safe point."""
        self.is_closed = True
        if self._owned is not None:
            self._graveyard.bury(self._owned)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
