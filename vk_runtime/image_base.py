"""What tells images from other arguments: a launch without any need not load `images`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir.process_object import ProcessObject

if TYPE_CHECKING:
    from .device import Device
    from .image_memory import ImageMemory


class ImageBase(ProcessObject):
    """Base of `images.Image`."""

    __slots__ = ("_buffer", "_device")
    _device: Device
    _buffer: ImageMemory | None

    @property
    def device(self) -> Device:
        """The device it lies on."""
        return self._device

    @property
    def is_released(self) -> bool:
        """Whether `release` was called."""
        return self._buffer is None
