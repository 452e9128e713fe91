"""Made: a Vulkan object that is owned before it is made.

Apart from `handle`, which annotations of kernels load: they need no Vulkan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .headers import NULL, ffi

if TYPE_CHECKING:
    from .logical_device import LogicalDevice


class Made:
    """A Vulkan object of a device, or none: what is destroyed twice, or before it is made, harms nothing.

    Args:
        device: borrowed.
        kind: ``Semaphore`` for a VkSemaphore.
    """

    __slots__ = ("_create", "_destroy", "_device", "_function", "out")

    def __init__(self, device: LogicalDevice, kind: str) -> None:
        self._device = device
        self._function = f"vkCreate{kind}"
        self._create = getattr(device.vk, self._function)
        self._destroy = getattr(device.vk, f"vkDestroy{kind}")
        self.out = ffi.new(f"Vk{kind}*")
        """Where the driver writes it."""

    @property
    def raw(self) -> Any:
        """The handle, NULL where there is none."""
        return self.out[0]

    def create(self, info: Any) -> None:
        """Makes it; raises where the driver refuses."""
        result = self._create(self._device.raw, info, NULL, self.out)
        if result < 0:
            self.out[0] = NULL  # else undefined (Vulkan 1.3, 3.7.2)
            self._device.check(result, self._function)

    def destroy(self) -> None:
        """Destroys it if it is there."""
        out = self.out
        # Python does not look for signals between these two.
        raw, out[0] = out[0], NULL
        self._destroy(self._device.raw, raw, NULL)
