"""What tells images from other arguments: a launch without any need not load `images`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .device import Device


class ImageBase:
    """Base of `images.Image`."""

    __slots__ = ("_device",)
    _device: Device

    @property
    def device(self) -> Device:
        """The device it lies on."""
        return self._device
