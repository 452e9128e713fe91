"""The device images of built-in kernels: those of `built_in_library`, under the ids of one device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..vk_runtime.device import Device
from ..vk_runtime.kernel_id import KernelId
from .unit_image import UnitImage
from .unit_images import images_of_unit
from .units import BUILT_IN_UNIT

_images: dict[KernelId, UnitImage] = {}


def built_in_images(wanted: Sequence[KernelId], devices: Sequence[Device]) -> list[UnitImage]:
    """Returns an image for each built-in kernel that is of one of some devices; nothing is compiled."""
    return [_image(id_) for id_ in wanted if id_.device in devices]


def _image(id_: KernelId) -> UnitImage:
    found = _images.get(id_)
    if found is None:
        from . import built_in_library

        assert built_in_library.__name__ == BUILT_IN_UNIT and id_.device is not None
        unit = images_of_unit(BUILT_IN_UNIT, id_.device.target_env)
        source = next(image for image in unit if id_.name in image.kernel_ids)
        found = _images[id_] = replace(source, kernel_ids={id_.name: id_}, only_on=id_.device)
    return found
