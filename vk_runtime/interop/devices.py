"""Devices: VkPhysicalDevice."""

from __future__ import annotations

from ...ir.errors import InvalidError
from ..device import Device
from ..headers import address_of
from ..runtime import runtime
from .handle_refs import given_out
from .natives import Native, native_int
from .platforms import foreign_devices


def native_device(device: Device) -> Native:
    """Returns the VkPhysicalDevice."""
    return given_out("VkPhysicalDevice", device.physical.raw, device)


def make_device(native: object) -> Device:
    """Returns the device of a VkPhysicalDevice, the same object at every call.

    Args:
        native: a VkPhysicalDevice of an instance of lapilli, or of one that `make_platform` was given.

    Raises:
        InvalidError: a handle that none of these instances lists.
        TypeError: not a handle.
    """
    number = native_int("make_device", native, "VkPhysicalDevice")
    for device in (*runtime().devices, *foreign_devices()):
        if address_of(device.physical.raw) == number:
            return device
    if isinstance(native, Native) and isinstance(native.owner, Device):
        return native.owner  # masked, and so in no list
    raise InvalidError(
        f"make_device: no known VkInstance lists the VkPhysicalDevice {number:#x}; pass the VkInstance that it was "
        "enumerated with to lp.vulkan.make_platform first"
    )
