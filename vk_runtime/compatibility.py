"""Whether a device can run an image: its requirements and its environment against the device.  No Vulkan call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir.kernel_info import Requirements
from ..ir.target_env import TargetEnv
from .bundle_errors import ConstraintError, type_name
from .device import Device
from .requirements import own_requirements, unmet

if TYPE_CHECKING:
    from .bundle_image import DeviceImage


def checked_device(what: str, value: object) -> Device:
    """Returns what a user gave for a device; TypeError in the name of `what` where it is none."""
    if not isinstance(value, Device):
        raise ConstraintError(f"{what} takes an lp.Device, found {value!r:.80} of type {type_name(value)}")
    return value


def is_supported(requirements: Requirements, device: Device) -> bool:
    """Returns whether a device has all that an image requires."""
    return next(unmet(device, requirements), None) is None


def runs_kernel(image: DeviceImage, name: str, device: Device) -> bool:
    """Returns whether a device that can run an image has what one kernel of it needs: fixed targets that stand for
    that in the image's requirements may not have it."""
    if image.requirements.fixed_targets is None:
        return True
    source = image.input
    own = own_requirements(image.info(name)) if source is None else source.own_requirements.get(name)
    return own is None or is_supported(own, device)


def is_environment_supported(env: TargetEnv, device: Device) -> bool:
    """Returns whether SPIR-V that was made for `env` may be given to a device."""
    return not unmet_environment(env, device)


def unmet_environment(env: TargetEnv, device: Device) -> list[str]:
    """Returns what a device lacks of what SPIR-V made for `env` relies on, in words."""
    own = device.target_env
    found: list[str] = []
    if env.vulkan_version > own.vulkan_version:
        found.append(f"Vulkan {'.'.join(map(str, env.vulkan_version))}")
    if env.max_push_constant_bytes > own.max_push_constant_bytes:
        found.append(f"{env.max_push_constant_bytes} bytes of push constants (maxPushConstantsSize)")
    missing = set(env.signed_zero_inf_nan_preserve_bits) - set(own.signed_zero_inf_nan_preserve_bits)
    return [*found, *(f"SignedZeroInfNanPreserve {bits}" for bits in sorted(missing))]
