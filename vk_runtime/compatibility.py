"""Whether a device can run an image: its requirements and its environment against the device.  No Vulkan call."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..ir.kernel_info import Requirements
from ..ir.target_env import TargetEnv
from .device import Device


def is_supported(requirements: Requirements, device: Device) -> bool:
    """Returns whether a device has all that an image requires."""
    targets = requirements.fixed_targets
    return (
        all(device.has(aspect) for aspect in requirements.aspects)
        and (targets is None or any(device.has(target) for target in targets))
        and all(has_feature(device, name) for name in requirements.features)
        and all(is_work_group_size_supported(size, device) for size in requirements.work_group_sizes)
        and all(size in device.info.sub_group_sizes for size in requirements.sub_group_sizes)
    )


_SUB_GROUP_OPERATIONS = {"subgroupClustered": 0x40, "subgroupQuad": 0x80}
"""VkSubgroupFeatureFlagBits."""


def has_feature(device: Device, name: str) -> bool:
    """Returns whether a device has a Vulkan feature, or an operation of sub-groups, that is no aspect."""
    operation = _SUB_GROUP_OPERATIONS.get(name)
    if operation is not None:
        return bool(device.physical.subgroup_operations & operation)
    return name in device.physical.features


def is_work_group_size_supported(size: Sequence[int], device: Device) -> bool:
    """Returns whether work-groups of `size`, slowest dimension first, are within the device's limits."""
    info = device.info
    if not 1 <= len(size) <= 3 or min(size) < 1 or math.prod(size) > info.max_work_group_size:
        return False
    most = info.max_work_item_sizes[3 - len(size) :]
    return all(extent <= limit for extent, limit in zip(size, most, strict=True))


def is_environment_supported(env: TargetEnv, device: Device) -> bool:
    """Returns whether SPIR-V that was made for `env` may be given to a device."""
    own = device.target_env
    return (
        env.vulkan_version <= own.vulkan_version
        and env.max_push_constant_bytes <= own.max_push_constant_bytes
        and set(env.signed_zero_inf_nan_preserve_bits) <= set(own.signed_zero_inf_nan_preserve_bits)
    )
