"""VkBuffers that arrays have let go of, for the next arrays of their size.

A loop that makes arrays pays a driver six calls for each; an H200's takes 55 µs for them, of which a buffer that is
there already saves half.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .made import Made
    from .memory_block import Place
    from .sparse_memory import SparseBinding

LARGEST = 16 << 20
"""Bytes of the largest buffer that is kept: larger ones have memory of their own, which `memory_blocks` keeps."""

MOST_BYTES = 64 << 20
"""Of all spare buffers of a device together, looked at when one comes that is larger than the average of the most."""

MOST_BUFFERS = 64
"""Spare buffers of a device: as many as a loop has arrays."""


class BufferStorage:
    """A VkBuffer with its memory, without the array that uses it.

    Args:
        made: the VkBuffer.
        key: what another buffer must be alike in, to use it: size in bytes, and whether it is the host's.
    """

    __slots__ = (
        "bindings",
        "device_address",
        "heap",
        "host_address",
        "key",
        "made",
        "may_be_spare",
        "places",
    )

    def __init__(self, made: Made, key: tuple[int, bool]) -> None:
        self.made = made
        self.key = key
        self.places: list[Place] = []
        self.host_address = 0
        self.device_address = 0
        self.heap = 0
        """The heap that its memory is of."""
        self.bindings: list[SparseBinding] = []
        """Memory that is being put under it."""
        self.may_be_spare = False
        """Whether it is complete, and of a size that is kept."""

    @property
    def raw(self) -> Any:
        """The VkBuffer."""
        return self.made.raw


class SpareBuffers:
    """The spare buffers of one device.  Use it with the device's lock held.

    Args:
        destroy: destroys one and gives its memory back; may be called again.
    """

    def __init__(self, destroy: Callable[[BufferStorage], None]) -> None:
        self._destroy = destroy
        self._spare: list[BufferStorage] = []

    def find(self, key: tuple[int, bool]) -> BufferStorage | None:
        """Returns the latest of a kind, which stays here; None where there is none."""
        for storage in reversed(self._spare):
            if storage.key == key:
                return storage
        return None

    def take(self, storage: BufferStorage) -> None:
        """Takes out what `find` has returned."""
        self._spare.remove(storage)

    def put(self, storage: BufferStorage) -> None:
        """Keeps a buffer that nothing uses any more, and destroys the oldest where there are too many.

        May be called again where Ctrl-C came in between.
        """
        if storage not in self._spare:
            self._spare.append(storage)
        # So many small ones cannot be too much.
        is_large = storage.key[0] > MOST_BYTES // MOST_BUFFERS
        while len(self._spare) > MOST_BUFFERS or (is_large and self._bytes() > MOST_BYTES):
            self._drop_oldest()

    def _bytes(self) -> int:
        return sum(spare.key[0] for spare in self._spare)

    def bytes_in(self, heap: int) -> int:
        """Returns the bytes of memory that spare buffers hold of a heap, alignment included."""
        return sum(place.nbytes for spare in self._spare if spare.heap == heap for place in spare.places)

    def clear(self) -> None:
        """Destroys all."""
        while self._spare:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        self._destroy(self._spare[0])
        del self._spare[0]  # behind the call, so that it is destroyed again after Ctrl-C, which harms nothing
