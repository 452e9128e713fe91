"""Modules of other compilers for drivers that lose what loops compute: `module_for`, `image_for`.

Such drivers are `vk_runtime.quirks` lost-reads and its kin.  Standard library only.
"""

from __future__ import annotations

from dataclasses import replace

from .binary import Module, parse, serialise
from .carry_values import values_carried
from .device_image import DeviceImage
from .own_positions import positions_owned


def module_for(module: Module, *, loses_reads: bool) -> Module:
    """Returns a valid module as a driver needs it.

    Raises:
        SpirvError: the driver loses what loops compute, and a function has more of them than are looked at.
    """
    return values_carried(positions_owned(module)) if loses_reads else module


def image_for(image: DeviceImage, *, loses_reads: bool) -> DeviceImage:
    """Returns an image from a file, made of another compiler's module, as a driver needs it.

    Raises:
        SpirvError: as `module_for`.
    """
    if not loses_reads or image.target_env.loses_reads:
        return image
    module = module_for(parse(image.spirv), loses_reads=True)
    return replace(image, spirv=serialise(module), target_env=replace(image.target_env, loses_reads=True))
