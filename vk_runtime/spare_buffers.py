"""VkBuffers that arrays have let go of, for the next arrays of their size.

A loop that makes arrays pays a driver six calls for each: on an H200 a staging buffer took 55 µs, and takes 12 where
one is there already.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
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
        serial: names it in caches, whichever array uses it.
    """

    __slots__ = (
        "bindings",
        "device_address",
        "heap",
        "host_address",
        "key",
        "made",
        "may_be_spare",
        "nbytes",
        "places",
        "serial",
    )

    def __init__(self, made: Made, key: tuple[int, bool], serial: int) -> None:
        self.made = made
        self.key = key
        self.serial = serial
        self.places: list[Place] = []
        self.host_address = 0
        self.device_address = 0
        self.heap = 0
        """The heap that its memory is of."""
        self.nbytes = 0
        """Bytes of that memory, alignment included."""
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

    Each buffer is in one list at any time, here or its user's, and goes from one to the other in one step: a finaliser
    that makes or drops arrays in between finds it where it is, and so does whoever comes after Ctrl-C.

    Args:
        destroy: destroys one and gives its memory back; may be called again.
    """

    def __init__(self, destroy: Callable[[BufferStorage], None]) -> None:
        self._destroy = destroy
        self._spare: tuple[BufferStorage, ...] = ()
        """Oldest first; never changed, but replaced, see `free_list`."""
        self._dropped: list[BufferStorage] = []
        """What is being destroyed."""

    def take(self, key: tuple[int, bool], taker: list[BufferStorage]) -> bool:
        """Moves the latest of a kind to `taker`; returns whether there is one."""
        note = taker.append
        while True:
            spare = self._spare
            for place in range(len(spare) - 1, -1, -1):
                if spare[place].key == key:
                    break
            else:
                return False
            found, left = spare[place], spare[:place] + spare[place + 1 :]
            if self._spare is spare:
                self._spare = left
                note(found)
                return True

    def put(self, storage: BufferStorage, holder: list[BufferStorage]) -> None:
        """Keeps what nothing uses any more, and destroys the oldest where there are too many.

        Args:
            storage: to be kept.
            holder: has had it and nothing else; it is empty then.
        """
        forget = holder.pop
        while holder:
            spare = self._spare
            kept = (*spare, storage)
            if holder and self._spare is spare:
                self._spare = kept
                forget()
        # As many small ones as are kept are never too many bytes, so these need not be added up.
        is_large = storage.key[0] > MOST_BYTES // MOST_BUFFERS
        while len(self._spare) > MOST_BUFFERS or (is_large and self._bytes() > MOST_BYTES):
            self._drop_oldest()

    def _bytes(self) -> int:
        return sum([spare.key[0] for spare in self._spare])

    def bytes_in(self, heap: int) -> int:
        """Returns the bytes of memory that spare buffers hold of a heap, alignment included."""
        spare = sum([storage.nbytes for storage in self._spare if storage.heap == heap])
        dropped = [storage for storage in self._dropped if storage.heap == heap]
        return spare + sum([place.nbytes for storage in dropped for place in storage.places])

    def clear(self) -> None:
        """Destroys all."""
        while self._spare or self._dropped:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        dropped, note = self._dropped, self._dropped.append
        spare = self._spare
        left = spare[1:]
        if spare and self._spare is spare:
            self._spare = left
            note(spare[0])
        for storage in tuple(dropped):
            self._destroy(storage)
            with suppress(ValueError):  # a finaliser in between did it
                dropped.remove(storage)
