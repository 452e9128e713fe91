"""DeviceState: whether a VkDevice may be used, and why not; the lower half of `logical_device.LogicalDevice`.

A device that the driver lost, that hung, or that another process opened stays unusable, and says why at each use.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from ..ir.errors import DeviceLostError, Error
from .errors import check, result_name
from .held_locks import HeldLocks

_T = TypeVar("_T")


def forked_error(name: str) -> DeviceLostError:
    """Returns what is raised for a device that was opened before this process was forked."""
    return DeviceLostError(
        f"device '{name}' was opened before this process was forked, and a driver does not survive that: its "
        "threads stay in the parent; use it there only, or start processes with multiprocessing's 'spawn' method"
    )


class DeviceState:
    """Whether the device may be used.

    Args:
        name: of the device, for messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.lock = threading.RLock()
        self.lost_because = ""
        """Why the device is lost; empty as long as it is not."""
        self.is_hung = False
        """Whether it was given up because nothing ended any more."""
        self.is_forked = False
        self.is_closed = False
        self.is_unusable = False
        """Whether `require_usable` raises; one look instead of three, at each launch and wait."""
        self.is_destroyed = False
        """Whether the VkDevice is gone."""
        self.visits: deque[None] = deque()
        """One entry for each thread that is inside without the lock; see `visit`."""

    @abstractmethod
    def _drop_recordings(self) -> None:
        """Forgets what is recorded and will never be submitted.  Call it with the lock held."""

    @property
    def is_lost(self) -> bool:
        """Whether it cannot be used any more; `lost_because` says why."""
        return bool(self.lost_because)

    def check(self, result: int, function: str) -> None:
        """Raises what a VkResult means; a lost device stays lost."""
        if result >= 0:
            return
        try:
            check(result, function, self.name)
        except DeviceLostError:
            self.lose(f"{function} returned {result_name(result)}")
            raise

    def lose(self, reason: str) -> None:
        """Makes every later use raise a DeviceLostError that tells `reason`; the first one counts."""
        self.lost_because = self.lost_because or reason
        self.is_unusable = True
        held = HeldLocks()
        try:
            if held.take(self.lock, timeout_s=1):  # threads that wait for the device do not hold it
                self._drop_recordings()  # the next launch asks for a new one, and raises
        finally:
            held.give_back()

    def fail(self, result: int, function: str) -> None:
        """Raises what a VkResult of a submission means: whatever it is, the commands are lost, and with them
        the device, because nothing that waits for them would ever end.

        Raises:
            DeviceLostError: always.
        """
        self.lose(f"{function} returned {result_name(result)}")
        try:
            check(result, function, self.name)
        except DeviceLostError:
            raise
        except Error as error:
            raise DeviceLostError(
                f"device '{self.name}' did not take commands: {error}; its arrays and queues cannot be used any more"
            ) from error

    def require_usable(self) -> None:
        """Raises DeviceLostError where the device is lost, was taken down, or is another process's."""
        if self.is_unusable:
            raise self._refusal()

    def _refusal(self) -> DeviceLostError:
        if self.is_forked:
            return forked_error(self.name)
        if self.lost_because:
            return DeviceLostError(
                f"device '{self.name}' was lost earlier: {self.lost_because}; its arrays and queues cannot be used "
                "any more, start a new process"
            )
        return DeviceLostError(f"device '{self.name}' was closed when the runtime was shut down")

    def visit(self, use: Callable[[], _T]) -> _T:
        """Returns what `use` returns, and keeps the device from being destroyed while that uses it without the lock.

        No context manager: Ctrl-C may come before the first line of an `__exit__`, and the visit would never end.

        Raises:
            DeviceLostError: as `require_usable`.
        """
        visits = self.visits
        try:  # begins in front of `append`: Ctrl-C may come right behind it
            visits.append(None)  # first: either `close` sees it, or `require_usable` sees the closing
            self.require_usable()
            result = use()
        finally:
            visits.pop()
        return result
