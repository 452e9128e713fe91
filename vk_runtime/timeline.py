"""Timeline: what an event waits for, a queue's own semaphore or semaphores of somebody else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .device import Device


class Timeline(Protocol):
    """Counts up as commands end; `vk_runtime.queue.Queue` is one."""

    @property
    def device(self) -> Device:
        """The device whose queues can wait for it without the host."""
        ...

    is_closed: bool
    """Whether everything has ended and nothing needs to be waited for."""

    @property
    def has_reports(self) -> bool:
        """Whether kernels that end may have something to tell those who wait."""
        ...

    def points(self, value: int) -> Sequence[tuple[Any, int]]:
        """Returns the (VkSemaphore, value) pairs that say when `value` is reached: all of them."""
        ...

    def submit_up_to(self, value: int) -> None:
        """Submits what is recorded towards `value`, so that waiting for it ends."""
        ...

    def poll(self, value: int) -> bool:
        """Returns whether `value` is reached, without waiting."""
        ...

    def wait_for(self, value: int) -> None:
        """Waits until `value` is reached; Ctrl-C ends the wait."""
        ...

    def watch(self, value: int, function: Callable[[], object]) -> None:
        """Calls `function` once `value` is reached: in a thread, or here where it is already."""
        ...

    def read_reports(self) -> int:
        """Reads what kernels have reported; returns the value to wait for before `show_ended`, 0 for none."""
        ...

    def show_ended(self) -> None:
        """Shows what kernels have reported whose launches have all ended; waits for nothing."""
        ...
