"""Modules of other compilers as drivers with faults need them: `module_for`, `image_for`.

The faults are in `vk_runtime.quirks`; which remedies a driver needs, its `TargetEnv` says.  Standard library only.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.target_env import TargetEnv
from .binary import Module, parse, serialise
from .carry_values import values_carried
from .clamp_atomics import atomics_clamped
from .device_image import DeviceImage
from .own_positions import positions_owned
from .split_copies import copies_split


def module_for(module: Module, env: TargetEnv) -> Module:
    """Returns a valid module as drivers need it.

    Raises:
        SpirvError: a driver loses what loops compute, and a function has more of them than are looked at.
    """
    if env.clamps_atomics:
        module = atomics_clamped(module)
    return values_carried(positions_owned(copies_split(module))) if env.loses_reads else module


def image_for(image: DeviceImage, env: TargetEnv) -> DeviceImage:
    """Returns an image from a file, made of another compiler's module, as drivers need it.

    Raises:
        SpirvError: as `module_for`.
    """
    had = image.target_env
    missing = TargetEnv(
        loses_reads=env.loses_reads and not had.loses_reads,
        clamps_atomics=env.clamps_atomics and not had.clamps_atomics,
    )
    if missing == TargetEnv():
        return image
    return marked(replace(image, spirv=serialise(module_for(parse(image.spirv), missing))), env)


def marked(image: DeviceImage, env: TargetEnv) -> DeviceImage:
    """Returns an image that says which remedies it has."""
    had = image.target_env
    return replace(
        image,
        target_env=replace(
            had,
            loses_reads=had.loses_reads or env.loses_reads,
            clamps_atomics=had.clamps_atomics or env.clamps_atomics,
        ),
    )
