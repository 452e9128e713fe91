"""Platforms: a driver of a VkInstance.  Vulkan has no platform object: the native is (VkInstance, VkDriverId)."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, cast

from ...ir.errors import Error, InvalidError
from ..bundle_errors import ConstraintError
from ..device import Device
from ..device_list import Platform, devices
from ..headers import address_of
from ..instance import Instance
from ..loader import EntryPointError, open_loader
from ..physical_device import UnusableDeviceError, read_physical_device
from ..runtime import runtime
from .handle_refs import given_out, share
from .natives import Native, handle, native_int, require_dispatchable

_lock = threading.RLock()


@dataclass(slots=True, eq=False)
class ForeignInstance:
    """A VkInstance of the application, with the devices that were made of it."""

    instance: Instance
    devices: tuple[Device, ...]


_instances: dict[int, ForeignInstance] = {}


def native_platform(platform: Platform) -> tuple[Native, int]:
    """Returns (VkInstance, VkDriverId)."""
    for device in (*devices(), *foreign_devices()):
        if device.platform == platform:
            physical = device.physical
            return given_out("VkInstance", physical.instance.raw, physical.instance), physical.driver_id
    raise InvalidError(f"get_native: no device of this process is of platform '{platform.name}'")


def make_platform(native: object) -> Platform:
    """Returns the platform of a VkInstance.

    The instance may be the application's: made with the system's loader, apiVersion 1.2 or newer, and kept until no
    object of lapilli uses it.  lapilli never destroys it.

    Args:
        native: a VkInstance, or (VkInstance, VkDriverId) as `get_native` gives them.

    Raises:
        InvalidError: no VkInstance, none with a usable device, or one with several drivers and no VkDriverId.
        TypeError: not a handle.
    """
    what = "make_platform"
    if isinstance(native, tuple):
        pair = cast("tuple[object, ...]", native)
        if len(pair) != 2 or not isinstance(pair[1], int):
            raise ConstraintError(f"{what} takes a VkInstance or (VkInstance, VkDriverId), found {native!r}")
        number, driver = native_int(what, pair[0], "VkInstance"), pair[1]
    else:
        number, driver = native_int(what, native, "VkInstance"), None
    found = _devices_of(what, number)
    platforms = {
        device.physical.driver_id: device.platform
        for device in found
        if driver is None or device.physical.driver_id == driver
    }
    if len(platforms) != 1:
        names = ", ".join(f"{d.physical.driver_id} ('{d.platform.name}')" for d in found) or "none"
        raise InvalidError(
            f"{what}: expected one driver of the VkInstance{'' if driver is None else f' with VkDriverId {driver}'}; "
            f"its usable drivers are {names}; pass (VkInstance, VkDriverId)"
        )
    return next(iter(platforms.values()))


def foreign_devices() -> list[Device]:
    """Returns the devices of the application's instances."""
    with _lock:
        return [device for item in _instances.values() for device in item.devices]


def _devices_of(what: str, number: int) -> tuple[Device, ...]:
    """Returns the devices of an instance: the runtime's, or one of the application's, which is looked at once."""
    own = [d for d in runtime().devices if address_of(d.physical.instance.raw) == number]
    if own:
        return tuple(own)
    with _lock:
        known = _instances.get(number)
        if known is None:
            known = _instances[number] = _adopt(what, number)
        return known.devices


def _adopt(what: str, number: int) -> ForeignInstance:
    require_dispatchable(what, number, "VkInstance")
    try:
        instance = Instance(open_loader(), handle("VkInstance", number))
    except EntryPointError as error:
        raise InvalidError(
            f"{what}: instances of the application need the system's Vulkan loader: {error}"
        ) from error
    found: list[Device] = []
    problems: list[str] = []
    for raw in instance.physical_devices():
        try:
            physical = read_physical_device(instance, raw)
        except (UnusableDeviceError, Error, AttributeError) as error:
            problems.append(str(error))
            continue
        found.append(Device(physical, f"vulkan:{address_of(raw):#x}"))
    if not found:
        reasons = "; ".join(problems) or "it lists no device"
        raise InvalidError(
            f"{what}: the VkInstance {number:#x} has no device that lapilli can use: {reasons}"
        )
    runtime().foreign.extend(found)
    share("VkInstance", number, instance)
    return ForeignInstance(instance, tuple(found))


def release_instance(native: Any) -> None:
    """Forgets a VkInstance of the application, which may then destroy it.

    Devices, contexts and arrays of it must not be used any more.  One that lapilli does not know is no error.
    """
    number = native_int("release_instance", native, "VkInstance")
    with _lock:
        known = _instances.pop(number, None)
    for device in () if known is None else known.devices:
        device.shut_down()
        if device in runtime().foreign:
            runtime().foreign.remove(device)
