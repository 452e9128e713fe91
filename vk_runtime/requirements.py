"""Whether a device can run a kernel, decided before anything reaches the driver."""

from __future__ import annotations

from ..ir.aspects import aspect_spelling
from ..ir.errors import KernelNotSupportedError
from ..ir.kernel_info import KernelInfo
from .device import Device, devices
from .pipeline import binding_table


def require_aspects(device: Device, kernel: KernelInfo) -> None:
    """Raises where the device lacks an aspect that the kernel uses.

    Raises:
        KernelNotSupportedError: names the aspect, kernel and device, the source line that uses it, and the
            devices of this machine that have all the kernel needs.
    """
    missing = [aspect for aspect in kernel.aspects if not device.has(aspect)]
    if not missing:
        return
    # The first line is the seed's, word for word.
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
    lines.append(f"  {_alternatives(kernel)}")
    location = next((use.location for use in uses if use.location is not None), kernel.location)
    raise KernelNotSupportedError("\n".join(lines), location=location)


def _alternatives(kernel: KernelInfo) -> str:
    able = [d for d in devices() if all(d.has(aspect) for aspect in kernel.aspects)]
    if not able:
        return "no device present has all that the kernel needs"
    names = ", ".join(f"'{d.selector}' ({d.name})" for d in able)
    return f"devices present that have all the kernel needs: {names}"


def require_limits(device: Device, kernel: KernelInfo) -> None:
    """Raises where a kernel's interface is over a limit of the device.

    Raises:
        KernelNotSupportedError: too many arrays, too large an argument block, or a sub-group size that the
            device does not have.
    """
    limits = device.physical.limits
    arrays = len(binding_table(kernel))
    if arrays > limits.max_storage_buffers:
        raise _over(
            kernel, device, f"{arrays} storage buffers", limits.max_storage_buffers, "maxStorageBuffers"
        )
    abi = kernel.abi
    is_pushed = abi.argument_block_binding is None
    if is_pushed and abi.argument_block_bytes > limits.max_push_constant_bytes:
        need = f"{abi.argument_block_bytes} bytes of push constants"
        raise _over(kernel, device, need, limits.max_push_constant_bytes, "maxPushConstantsSize")
    size = kernel.required_sub_group_size
    if size is not None and size not in device.info.sub_group_sizes:
        raise KernelNotSupportedError(
            f"kernel '{kernel.name}' requires sub-groups of {size}; device '{device.name}' has "
            f"{', '.join(map(str, device.info.sub_group_sizes))}",
            location=kernel.location,
        )


def _over(kernel: KernelInfo, device: Device, need: str, limit: int, name: str) -> KernelNotSupportedError:
    return KernelNotSupportedError(
        f"kernel '{kernel.name}' needs {need}; device '{device.name}' allows {limit} ({name})",
        location=kernel.location,
    )
