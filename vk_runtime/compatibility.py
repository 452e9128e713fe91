"""Whether a device can run an image: its requirements and its environment against the device.  No Vulkan call."""

from __future__ import annotations

from ..ir.kernel_info import Requirements
from ..ir.target_env import TargetEnv
from .device import Device
from .requirements import unmet


def is_supported(requirements: Requirements, device: Device) -> bool:
    """Returns whether a device has all that an image requires."""
    return next(unmet(device, requirements), None) is None


def is_environment_supported(env: TargetEnv, device: Device) -> bool:
    """Returns whether SPIR-V that was made for `env` may be given to a device."""
    own = device.target_env
    return (
        env.vulkan_version <= own.vulkan_version
        and env.max_push_constant_bytes <= own.max_push_constant_bytes
        and set(env.signed_zero_inf_nan_preserve_bits) <= set(own.signed_zero_inf_nan_preserve_bits)
    )
