"""Platform: one driver, as SYCL sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..ir.aspects import Aspect
from .backend import VulkanObject
from .items import items

if TYPE_CHECKING:
    from .device import Device
    from .object_info import PlatformInfo


@dataclass(frozen=True, slots=True)
class Platform(VulkanObject):
    """One driver."""

    name: str
    """The driver's name."""
    version: str
    """The driver's own version text."""
    source: str
    """``loader``, or ``embedded`` for a driver that was opened without one."""
    library: str
    """The library that was opened: the loader's, or the driver's."""

    @property
    def devices(self) -> tuple[Device, ...]:
        """Its devices, best first."""
        from .device_list import devices

        return items(device for device in devices() if device.platform == self)

    def get_devices(self) -> list[Device]:
        """Returns `devices` as a list."""
        return list(self.devices)

    def has(self, aspect: Aspect | int) -> bool:
        """Returns whether every one of its devices has an aspect."""
        return all(device.has(aspect) for device in self.devices)

    @property
    def info(self) -> PlatformInfo:
        """Names, under those of SYCL's ``info::platform``."""
        from .object_info import PlatformInfo

        vendor = next((device.info.vendor for device in self.devices), "")
        return PlatformInfo(self.name, vendor, self.version)

    def get_info(self, descriptor: object) -> Any:
        """Returns what ``lp.info.platform.x`` asks for, the same as ``info.x``; TypeError for other descriptors."""
        from .info_descriptors import answer

        return answer("Platform", "platform", self.info, descriptor)
