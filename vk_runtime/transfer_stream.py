"""TransferStream: a queue of the runtime's own for copies between host and device, beside what computes.

A GPU has engines that copy while its processors compute.  They belong to a queue family of their own, so large staged
copies go to a queue of that family: an upload overlaps with launches that do not use the array.  Semaphores order it
with the launches that do, exactly as between two queues of the user (see `CommandStream._take_over`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ir.errors import InvalidError
from .barriers import transfer_barriers
from .command_stream import CommandStream
from .event import Event

if TYPE_CHECKING:
    from .device import Device
    from .queue import Queue

LEAST_BYTES = 1 << 20
"""Smallest copy that goes there: a smaller one is done before two queues have agreed about it."""


class TransferStream(CommandStream):
    """Copies of one device.  Users see it only in the events of their copies.

    Args:
        device: whose copies.
        family: a queue family that only copies; None: that of the computing queue, whose VkQueue it shares.
        vk_queue: of that family.
    """

    def __init__(self, device: Device, family: int | None, vk_queue: Any) -> None:
        barriers = None if family is None else transfer_barriers(device.logical)
        super().__init__(device, family=family, barriers=barriers)
        self.vk_queue = vk_queue

    def wait_for(self, value: int) -> None:
        """Waits until the timeline reaches `value`."""
        self.block_until(value)
        with self._lock:
            self.retire()

    def drain(self) -> None:
        """Submits what is recorded and waits for every copy."""
        with self._lock:
            value = self.last_value
        self.wait_for(value)


class TransferEvent(Event):
    """The event of a copy that a queue has handed to a `TransferStream`."""

    __slots__ = ("_owner",)

    def __init__(self, owner: Queue, stream: TransferStream, value: int) -> None:
        super().__init__(stream, value)
        self._owner = owner

    @property
    def queue(self) -> Queue:
        """The queue that was asked for the copy."""
        return self._owner

    def __repr__(self) -> str:
        return f"<lapilli.Event of a copy of {self._owner!r}>"

    @property
    def elapsed_ns(self) -> float:
        """Raises InvalidError: copies of queues that are made with ``profiling=True`` stay in their queue."""
        raise InvalidError("this event was not timed; make its queue with lp.Queue(profiling=True)")
