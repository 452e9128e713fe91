"""Kernels of bundles over arrays that are larger than a descriptor shows: their form that takes addresses.

Building a bundle does not compile it: most arrays are smaller, and every kernel would be compiled twice.  The first
launch with such an array does, from the IR that the bundle's images came of.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..ir.errors import BuildError
from ..ir.target_env import BindingModel
from .bundle_image import linked, of_spirv
from .bundle_state import BundleState

if TYPE_CHECKING:
    from .bundle_image import DeviceImage
    from .device import Device


def by_address(image: DeviceImage, device: Device) -> DeviceImage | None:
    """Returns an image with the same kernels that takes addresses of arrays.

    Args:
        image: executable.
        device: where it runs.

    Returns:
        The image, made once for each device; None where its kernels have no such form, as they take images, or there
        is no IR, as of files and of SPIR-V sources.
    """
    known = image.addressed
    if device not in known:
        known[device] = _made(image, device) if device.logical.has_buffer_addresses else None
    return known[device]


def _made(image: DeviceImage, device: Device) -> DeviceImage | None:
    objects = [_object(part, device) for part in image.parts]
    found = [part for part in objects if part is not None]
    if not found or len(found) < len(objects):
        return None
    toolchain = found[0].toolchain
    try:
        items = toolchain.link([part.binary for part in found], (device,), is_whole_program=True)
    except BuildError:
        return None
    item = next(item for item in items if item.parts[0] == 0)
    return linked(item.image, [found[number] for number in item.parts], item.spec_symbols)


def _object(part: DeviceImage, device: Device) -> DeviceImage | None:
    """Returns an object image as it would have been compiled for addresses; not compiled yet."""
    if part.origin is None:
        return None
    source, env = part.origin
    chosen = replace(
        device.target_env,
        debug_info=env.debug_info,
        emulates_spec_constants=env.emulates_spec_constants,
        freezes_spec_constants=env.freezes_spec_constants,
        binding_model=BindingModel.ADDRESS,
    )
    return of_spirv(BundleState.OBJECT, lambda: source.translate(chosen, (device,)), part, chosen)
