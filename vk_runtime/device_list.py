"""The devices of this process by driver: their order, their selectors, and which one a program means by a text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ..ir.aspects import Aspect
from ..ir.config import config
from ..ir.errors import InvalidError
from .backend import VulkanObject
from .constants import (
    VK_DRIVER_ID_GOOGLE_SWIFTSHADER,
    VK_DRIVER_ID_MESA_LLVMPIPE,
    VK_PHYSICAL_DEVICE_TYPE_CPU,
    VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
    VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
    VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU,
)
from .device import Device
from .items import items
from .masking import Mask, aspect_named
from .physical_device import PhysicalDevice
from .runtime import require_devices, runtime_of_program

if TYPE_CHECKING:
    from .object_info import PlatformInfo
    from .runtime import Runtime

_SHORT_NAMES = {VK_DRIVER_ID_MESA_LLVMPIPE: "lavapipe", VK_DRIVER_ID_GOOGLE_SWIFTSHADER: "swiftshader"}
"""Selectors of software drivers, which have no stable vendor and device number."""

_MASKED_SELECTOR = r"(.*)\[((?:-|\w+=).*)\]"
"""A regular expression, compiled where a program names devices: a selector and, in brackets, the text of a mask."""

_TYPE_RANK = {
    VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: 0,
    VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: 1,
    VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: 2,
    VK_PHYSICAL_DEVICE_TYPE_CPU: 3,
}


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


def rank_of(physical: PhysicalDevice) -> tuple[int, int]:
    """Orders devices, best first: discrete, integrated, virtual, CPU; SwiftShader after any other."""
    return (
        _TYPE_RANK.get(physical.device_type, 4),
        int(physical.driver_id == VK_DRIVER_ID_GOOGLE_SWIFTSHADER),
    )


def make_devices(found: Sequence[PhysicalDevice]) -> tuple[Device, ...]:
    """Makes the list of devices, best first, each with a selector of its own."""
    mask = mask_of_options()
    counts: dict[str, int] = {}
    made: list[Device] = []
    for physical in sorted(found, key=rank_of):
        short = _SHORT_NAMES.get(physical.driver_id)
        stem = short or f"{physical.vendor_id:04x}:{physical.device_id:04x}"
        index = counts.get(stem, 0)
        counts[stem] = index + 1
        is_plain = short is not None and index == 0
        made.append(Device(physical, stem if is_plain else f"{stem}:{index}", mask=mask))
    return items(made)


def mask_of_options() -> Mask:
    """Returns what the option `disable_aspects` hides of every device; InvalidError for names that are no aspects."""
    return Mask(frozenset(aspect_named(name, "LAPILLI_DISABLE_ASPECTS") for name in config.disable_aspects))


def devices() -> tuple[Device, ...]:
    """Returns every Vulkan device of every driver, best first.

    Where there is none, the tuple is empty, a warning is logged, and ``devices()[0]`` raises RuntimeFailure, which says
    what was looked at and what to install.
    """
    return runtime_of_program().listed


def platforms() -> tuple[Platform, ...]:
    """Returns every driver that has a device; without one, as `devices`."""
    listed = devices()
    return (
        items(dict.fromkeys(device.platform for device in listed))
        if listed
        else cast("tuple[Platform, ...]", listed)
    )


def device(selector: Device | str | None = None) -> Device:
    """Returns one device.

    Args:
        selector: a device's `Device.selector`, a part of its name or of its driver's name, ``gpu`` or
            ``cpu``, or a Device.  None: LAPILLI_DEVICE, else the best device.  A text may end with a mask:
            ``lavapipe[-fp64,max_work_group_size=64]``, see `Device.masked`.

    Raises:
        InvalidError: nothing, or more than one device, matches.
        RuntimeFailure: there is no device at all.
    """
    if isinstance(selector, Device):
        return selector
    runtime = require_devices()
    if selector is None:
        return runtime.default_device
    if not isinstance(selector, str):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
        raise InvalidError(
            f"lp.device: expected the selector of a device as a text or None, found {selector!r}"
        )
    return select(runtime.devices, selector)


def default_device_of(runtime: Runtime) -> Device:
    """Returns the device that the option `device` names, else the best one."""
    wanted = config.device
    return select(runtime.devices, wanted, "LAPILLI_DEVICE=") if wanted else runtime.devices[0]


def visible_devices(found: Sequence[Device]) -> tuple[Device, ...]:
    """Returns the devices that the option `visible_devices` names, in its order; all of them without it.

    Raises:
        InvalidError: a name matches nothing, or more than one device.
    """
    wanted = config.visible_devices
    if wanted is None:
        return tuple(found)
    return tuple(dict.fromkeys(select(found, name, "LAPILLI_VISIBLE_DEVICES: ") for name in wanted))


def select(found: Sequence[Device], selector: str, prefix: str = "") -> Device:
    """Returns the one device of `found` that `selector` names; see `device`."""
    text = selector.strip().lower()
    if masked := re.fullmatch(_MASKED_SELECTOR, text):
        listed = select(found, masked[1], prefix)
        return listed.with_mask(listed.mask.joined(Mask.parsed(masked[2])))
    matches = [d for d in found if d.selector == text] or [d for d in found if _is_match(d, text)]
    if len(matches) == 1:
        return matches[0]
    listing = "\n".join(f"  {d.selector:20} {d.name} ({d.platform.name})" for d in matches or found)
    problem = "matches several devices; name one of" if matches else "matches no device; there are"
    raise InvalidError(f"{prefix}{selector!r} {problem}:\n{listing}")


def _is_match(candidate: Device, text: str) -> bool:
    if not text:
        return False
    if text in ("gpu", "cpu"):
        return candidate.has(Aspect[text.upper()])
    names = candidate.name.lower(), candidate.platform.name.lower()
    if text.isdigit():  # part of a model's name, not an index; the 1 of "LLVM 15.0.1" is none
        return any(re.search(rf"(?<![\w.]){text}(?![\w.])", name) for name in names)
    return any(text in name for name in names)


def resolve_device(choice: Device | str | None) -> Device:
    """Returns the device that a ``device=`` argument means.

    Raises:
        InvalidError: `choice` is neither a Device, nor a selector, nor None.
    """
    if choice is None or isinstance(choice, Device | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        return device(choice)
    raise InvalidError(
        f"device= takes an lp.Device, a selector string or None; found {type(choice).__name__}"
    )
