"""The targets of ``lapilli build``: names of the device configuration, hardware ids, or selectors of devices."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ..ir.device_config import Target, device_config
from ..ir.errors import Error, InvalidError
from ..ir.kernel_info import Requirements
from ..spirv.device_image import DeviceImage
from ..vk_runtime.compatibility import is_supported
from ..vk_runtime.device import Device
from ..vk_runtime.device_list import device, devices
from ..vk_runtime.requirements import own_requirements

_HARDWARE = re.compile(r"(?:vk_)?([0-9a-f]{4,8})[_:]([0-9a-f]{4,8})")


@dataclass(frozen=True, slots=True)
class BuildTarget:
    """One target that was asked for."""

    name: str
    """As the user wrote it; tags its native images."""
    described: Target | None
    """What the device configuration says of it; None: a device that it does not list."""
    device: Device | None
    """A device of this machine that it is, whose driver can make native code; None: there is none here."""

    def can_run(self, image: DeviceImage) -> bool:
        """Returns whether an image runs on the target; its driver need not take the code of any other.

        Of images with fixed targets what each kernel uses counts as well: it is only asserted that the targets have it.
        """
        needs = [image.requirements]
        if image.requirements.fixed_targets is not None:
            needs += map(own_requirements, image.kernels)
        return all(map(self._meets, needs))

    def _meets(self, requirements: Requirements) -> bool:
        if self.described is None:
            return self.device is None or is_supported(requirements, self.device)
        fixed = requirements.fixed_targets
        return (
            not self.described.lacking(requirements.aspects)
            and all(map(self.described.has_sub_group_size, requirements.sub_group_sizes))
            and all(map(self.described.has_work_group_size, requirements.work_group_sizes))
            and (fixed is None or self.described.aspect_number in fixed)
        )


def find_target(name: str) -> BuildTarget:
    """Returns a target.

    Args:
        name: of the device configuration; ``vk_10de_2335``, vendor and device number of a Vulkan device; or the
            selector of a device of this machine.

    Raises:
        InvalidError: it is none of these.
    """
    config = device_config()
    known = config.targets.get(name)
    hardware = _HARDWARE.fullmatch(name)
    if known is None and hardware is not None:
        number = f"{hardware[1]}:{hardware[2]}"
        known = next((target for target in config.targets.values() if target.device == number), None)
        if known is None:
            return BuildTarget(name, None, _present(lambda item: _number(item) == number))
    if known is not None:
        found = known.name
        return BuildTarget(name, known, _present(lambda item: found in item.targets))
    try:
        return BuildTarget(name, None, device(name))
    except Error as error:
        raise InvalidError(
            f"there is no target '{name}': the device configuration has {', '.join(sorted(config.targets))}, "
            "and it is no device of this machine",
            code="LP1011",
        ) from error


def _number(item: Device) -> str:
    return f"{item.physical.vendor_id:04x}:{item.physical.device_id:04x}"


def _present(is_target: Callable[[Device], bool]) -> Device | None:
    try:
        return next((item for item in devices() if is_target(item)), None)
    except Error:  # no Vulkan on this machine: SPIR-V and tables need none
        return None
