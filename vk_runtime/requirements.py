"""Whether a device can run a kernel, decided before anything reaches the driver and before an image's code is read.

The first line of each message is that of DPC++'s design for optional kernel features, word for word; the lines
after it name kernel, need, limit and device.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from ..ir.aspects import aspect_spelling
from ..ir.errors import KernelNotSupportedError, Location
from ..ir.kernel_info import KernelInfo, Requirements
from .constants import (
    VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
    VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC,
    VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
    VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
)
from .device import Device
from .device_list import devices
from .image_descriptors import DESCRIPTOR_TYPES
from .pipeline import binding_table

_STORAGE_BUFFERS = (VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC)
_UNIFORM_BUFFERS = (VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC)

NO_REQUIREMENTS = Requirements()


def require_device(device: Device, kernel: KernelInfo, requirements: Requirements = NO_REQUIREMENTS) -> None:
    """Raises where a device cannot run a kernel: what the kernel needs itself, and what its image does.

    In the order of DPC++'s design: fixed targets, aspects, sub-group sizes, work-group sizes.

    Raises:
        KernelNotSupportedError: names the need, kernel and device, and for an aspect the source line that uses it
            and the devices of this machine that have all the kernel needs.
    """
    _require_targets(device, kernel, requirements.fixed_targets)
    require_aspects(device, kernel, requirements.aspects)
    own = kernel.required_sub_group_size
    for size in sorted({*requirements.sub_group_sizes, *(() if own is None else (own,))}):
        if size not in device.info.sub_group_sizes:
            raise _unsupported_size(
                kernel, device, "sub-group", str(size), f"has {_listed(device.info.sub_group_sizes)}"
            )
    groups = [kernel.required_work_group_size, *requirements.work_group_sizes]
    for group in groups:
        problem = None if group is None else work_group_problem(device, group)
        if group is not None and problem is not None:
            raise _unsupported_size(kernel, device, "work-group", _listed(group), problem)


def require_aspects(device: Device, kernel: KernelInfo, also: Iterable[int] = ()) -> None:
    """Raises where the device lacks an aspect that the kernel uses, or one of `also`, which its image needs.

    Raises:
        KernelNotSupportedError: see `require_device`.
    """
    needed = tuple(dict.fromkeys((*kernel.aspects, *also)))
    missing = [aspect for aspect in needed if not device.has(aspect)]
    if not missing:
        return
    lines = [
        f"Kernel uses optional feature corresponding to 'aspect::{aspect_spelling(missing[0])}' but device "
        "does not support this aspect.",
        f"  kernel '{kernel.name}', device '{device.name}' ({device.selector}) lacks "
        + ", ".join(aspect_spelling(aspect) for aspect in missing),
    ]
    uses = [use for use in kernel.aspect_uses if use.aspect in missing]
    lines += [
        f"  {use.location or kernel.location or 'unknown place'}: {use.what or 'this'} "
        f"uses {aspect_spelling(use.aspect)}"
        for use in uses
    ]
    lines.append(f"  {_alternatives(needed)}")
    location = next((use.location for use in uses if use.location is not None), kernel.location)
    raise _refusal(lines, location)


def _require_targets(device: Device, kernel: KernelInfo, targets: Sequence[int] | None) -> None:
    if targets is None or any(device.has(target) for target in targets):
        return
    names = ",".join(_target_names(targets))
    found = ", ".join(device.targets) or "none of the device configuration"
    raise _refusal(
        [
            f"Kernel was compiled with '-fsycl-fixed-targets={names}' but was submitted to a different device.",
            f"  kernel '{kernel.name}', device '{device.name}' ({device.selector}), which is target {found}",
        ],
        kernel.location,
    )


def _target_names(targets: Sequence[int]) -> list[str]:
    """Returns the names of fixed targets; the number of one that the device configuration does not have."""
    from ..ir.device_config import device_config  # seldom needed

    config = device_config()
    return [config.name_of(target) or str(target) for target in targets]


_SUB_GROUP_OPERATIONS = {"subgroupClustered": 0x40, "subgroupQuad": 0x80}
"""VkSubgroupFeatureFlagBits."""


def has_feature(device: Device, name: str) -> bool:
    """Returns whether a device has a Vulkan feature, or an operation of sub-groups, that is no aspect."""
    operation = _SUB_GROUP_OPERATIONS.get(name)
    if operation is not None:
        return bool(device.physical.subgroup_operations & operation)
    return name in device.physical.features


def unmet(device: Device, requirements: Requirements) -> Iterator[str]:
    """Yields what a device lacks of what an image requires, in words; nothing where it can run it."""
    targets = requirements.fixed_targets
    if targets is not None and not any(device.has(target) for target in targets):
        yield f"fixed target {' or '.join(_target_names(targets))}" if targets else "any fixed target"
    yield from (aspect_spelling(aspect) for aspect in requirements.aspects if not device.has(aspect))
    yield from (name for name in requirements.features if not has_feature(device, name))
    for size in requirements.sub_group_sizes:
        if size not in device.info.sub_group_sizes:
            yield f"sub-group size {size}"
    for group in requirements.work_group_sizes:
        if work_group_problem(device, group) is not None:
            yield f"work-group size {_listed(group)}"


def own_requirements(kernel: KernelInfo) -> Requirements:
    """Returns what a kernel needs by itself.  Of an image with fixed targets that is more than its requirements say."""
    group, sub_group = kernel.required_work_group_size, kernel.required_sub_group_size
    return Requirements(
        aspects=kernel.aspects,
        work_group_sizes=() if group is None else (group,),
        sub_group_sizes=() if sub_group is None else (sub_group,),
    )


def work_group_problem(device: Device, sizes: Sequence[int]) -> str | None:
    """Returns why a device cannot run work-groups of a size, slowest dimension first; None where it can."""
    most, each = device.info.max_work_group_size, device.info.max_work_item_sizes
    if not 1 <= len(sizes) <= len(each) or min(sizes) < 1:  # of an image from outside
        return "has work-groups of 1 to 3 dimensions of at least 1"
    if math.prod(sizes) > most:
        return f"allows {most} work-items (max_work_group_size), {math.prod(sizes)} are needed"
    limits = each[3 - len(sizes) :]
    if any(size > limit for size, limit in zip(sizes, limits, strict=True)):
        return f"allows at most {limits} (max_work_item_sizes)"
    return None


def require_limits(device: Device, kernel: KernelInfo) -> None:
    """Raises where a kernel's interface is over a limit of the device.

    Raises:
        KernelNotSupportedError: too many arrays, or too large an argument block.
    """
    limits = device.physical.limits
    kinds = [kind for _, kind in binding_table(kernel)]
    uniforms = sum(kind in _UNIFORM_BUFFERS for kind in kinds)
    if uniforms > limits.max_uniform_buffers:
        raise _over(
            kernel, device, f"{uniforms} uniform buffers", limits.max_uniform_buffers, "maxUniformBuffers"
        )
    _require_image_limits(device, kernel, kinds)
    arrays = sum(kind in _STORAGE_BUFFERS for kind in kinds)
    if arrays > limits.max_storage_buffers:
        raise _over(
            kernel, device, f"{arrays} storage buffers", limits.max_storage_buffers, "maxStorageBuffers"
        )
    abi = kernel.abi
    is_pushed = abi.argument_block_binding is None
    if is_pushed and abi.argument_block_bytes > limits.max_push_constant_bytes:
        need = f"{abi.argument_block_bytes} bytes of push constants"
        raise _over(kernel, device, need, limits.max_push_constant_bytes, "maxPushConstantsSize")


def _require_image_limits(device: Device, kernel: KernelInfo, kinds: Sequence[int]) -> None:
    limits = device.physical.limits
    counts = {
        "storage images": (("storage",), limits.max_storage_images, "maxStorageImages"),
        "sampled images": (("fetched", "sampled"), limits.max_sampled_images, "maxSampledImages"),
        "samplers": (("sampled", "sampler"), limits.max_samplers, "maxSamplers"),
    }
    for what, (names, limit, limit_name) in counts.items():
        need = sum(kinds.count(DESCRIPTOR_TYPES[name]) for name in names)
        if need > limit:
            raise _over(kernel, device, f"{need} {what}", limit, limit_name)


def _alternatives(needed: Sequence[int]) -> str:
    able = [d for d in devices() if all(d.has(aspect) for aspect in needed)]
    if not able:
        return "no device present has all that the kernel needs"
    names = ", ".join(f"'{d.selector}' ({d.name})" for d in able)
    return f"devices present that have all the kernel needs: {names}"


def _unsupported_size(
    kernel: KernelInfo, device: Device, kind: str, size: str, why: str
) -> KernelNotSupportedError:
    lines = [
        f"Kernel has a required {kind} size of '{size}' but device does not support this {kind} size.",
        f"  kernel '{kernel.name}', device '{device.name}' ({device.selector}) {why}",
    ]
    return _refusal(lines, kernel.location)


def _refusal(lines: Sequence[str], location: Location | None) -> KernelNotSupportedError:
    return KernelNotSupportedError("\n".join(lines), location=location)


def _over(kernel: KernelInfo, device: Device, need: str, limit: int, name: str) -> KernelNotSupportedError:
    return KernelNotSupportedError(
        f"kernel '{kernel.name}' needs {need}; device '{device.name}' allows {limit} ({name})",
        location=kernel.location,
    )


def _listed(sizes: Iterable[int]) -> str:
    return ", ".join(map(str, sizes))
