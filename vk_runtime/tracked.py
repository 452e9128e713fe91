"""What launches use and queues keep in order: the memory of arrays and images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .handle import Handle

if TYPE_CHECKING:
    from .timeline import Timeline


generation: object = object()
"""Another object after every `note_change`: what was found out about arrays before is found out again."""


def note_change() -> None:
    """Notes that an array has let go of its memory, or moved to other memory."""
    global generation
    generation = object()


class Tracked(Handle):
    """A handle that knows which launches use it.

    Args:
        serial: names the Vulkan object, as kernels see it, among those of its device; another one gets it only where
            it is that same object, which an array has let go of.
        nbytes: its size.
    """

    # Of the class: every array has one of these, and few have anything else there.
    lender: object = None
    """Kept as long as this lives: who lent the memory."""
    is_borrowed = False
    """Whether the Vulkan object or its memory belongs to somebody else."""

    def __init__(self, serial: int, nbytes: int) -> None:
        self.serial = serial
        """Names it in caches."""
        self.nbytes = nbytes
        """Bytes that kernels see of it."""
        # The following belong to the queue that used it last; see `Queue.order`.
        self.queue: Timeline | None = None
        self.read_epoch = -1
        self.write_epoch = -1
        self.last_use = 0
        """Timeline value of the last submission that uses it."""
        self.last_write = 0
        """Timeline value of the last submission that writes it."""
