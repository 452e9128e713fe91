"""Which of the images of a bundle that hold a kernel a device runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..ir.errors import KernelNotSupportedError
from .requirements import require_device

if TYPE_CHECKING:
    from .bundle_image import DeviceImage
    from .device import Device
    from .kernel_id import KernelId


def image_for(
    holding: Sequence[DeviceImage],
    devices: Sequence[Device],
    takes_values: Callable[[DeviceImage], bool],
    kernel: KernelId,
    device: Device,
) -> DeviceImage:
    """Returns the first image that a device can run: a frozen one where every constant of it has its default, else one
    that takes values.

    Args:
        holding: the images of the bundle with the kernel.
        devices: of the bundle.
        takes_values: whether an image computes with the bundle's values of specialization constants.
        kernel: for messages.
        device: where it is to run.

    Raises:
        KernelNotSupportedError: none; with what the device lacks, where that is why.
    """
    if device in devices:
        for image in sorted(holding, key=lambda image: (image.format != "native", not image.frozen)):
            if image.is_compatible(device) and takes_values(image):
                return image
        for image in filter(takes_values, holding):
            name = image.name_of(kernel)
            if name is not None:
                require_device(device, image.info(name), image.requirements)
    names = ", ".join(f"'{item.selector}'" for item in devices)
    raise KernelNotSupportedError(
        f"kernel '{kernel.qualified_name}': the kernel bundle has no image of it for device '{device.selector}' "
        f"({device.name}); the bundle is for {names}"
    )
