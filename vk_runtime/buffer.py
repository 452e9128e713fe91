"""Buffer: a VkBuffer with its memory, and which launches use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .constants import (
    VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT,
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
    VK_BUFFER_USAGE_TRANSFER_DST_BIT,
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
    VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT,
)
from .headers import ffi
from .tracked import Tracked

if TYPE_CHECKING:
    from weakref import WeakSet

    from .array import Array
    from .logical_device import LogicalDevice

BUFFER_USAGE = (
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT
    | VK_BUFFER_USAGE_TRANSFER_DST_BIT
    | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT
    | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
    | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT
)


class Buffer(Tracked):
    """A VkBuffer with its memory, and which launches use it.  Made by `MemoryAllocator.allocate`.

    What lies behind the end of a borrowed one is its owner's.
    """

    # Of the class, as in `Tracked`.
    device_address = 0
    """Where kernels see it, 0 on a device without bufferDeviceAddress."""
    offset_bytes = 0
    """Where it begins in the VkBuffer: 0 but for a part of a buffer that the application owns."""
    is_concurrent = False
    """Whether the queues of every family that the device uses may touch it."""
    allocation_bytes = 0
    """Size of the VkDeviceMemory of a buffer that has one of its own to share, else 0."""
    memory: Any = None
    """That VkDeviceMemory."""
    is_imported = False
    """Whether that is another's, of which a file descriptor came in."""
    was_read = False
    """Whether it was downloaded before; see `small_copies`."""
    sharers: WeakSet[Array] | None = None
    """The arrays that were ever made of another's memory here, and those others; None where there were none."""

    def __init__(self, raw: Any, nbytes: int, serial: int, host_address: int) -> None:
        super().__init__(serial, nbytes)
        self.raw = raw
        self.padded_nbytes = nbytes
        """Bytes of the VkBuffer from where it begins, as far as the array may use them."""
        self.host_address = host_address
        """Where the host sees it, 0 where it does not."""

    @property
    def is_shared(self) -> bool:
        """Whether others than this process's arrays may see the memory, or have what lies behind its end."""
        return self.is_borrowed or self.allocation_bytes > 0

    def takes_words(self, nbytes: int) -> bool:
        """Whether a command that writes whole words may write the first `nbytes`, and up to 3 behind them."""
        return not self.is_shared or (nbytes % 4 == 0 and self.offset_bytes % 4 == 0)

    def host_bytes(self, nbytes: int | None = None) -> Any:
        """Returns the mapped memory as a writable buffer object; valid while this object lives."""
        assert self.host_address, "not visible to the host"
        return ffi.buffer(ffi.cast("char*", self.host_address), self.nbytes if nbytes is None else nbytes)


def shared_view(device: LogicalDevice, buffer: Buffer, nbytes: int) -> Any:
    """Returns the mapped memory as a writable buffer object that keeps `buffer` alive as long as anything uses it.

    It also keeps `device` from being destroyed, which would take the memory from under it.
    """
    address = ffi.cast("char*", buffer.host_address)
    views = device.views
    views.append(None)

    def keep(_: Any, kept: Buffer = buffer) -> None:
        """Holds the buffer for as long as cffi holds this function, and is called when the view goes."""
        views.pop()

    return ffi.buffer(ffi.gc(address, keep), nbytes)
