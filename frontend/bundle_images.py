"""The device images that kernels of the application have, and which of them a new bundle gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..ir.aspects import Aspect
from ..spirv.device_image import DeviceImage as SpirvImage
from ..vk_runtime.bundle_errors import for_each
from ..vk_runtime.bundle_image import DeviceImage, of_input, of_spirv
from ..vk_runtime.bundle_state import BundleState
from ..vk_runtime.bundle_transitions import (
    build_bundle,
    common_environment,
    compile_bundle,
    link_parts,
    object_images,
)
from ..vk_runtime.context import Context
from ..vk_runtime.device import Device
from ..vk_runtime.kernel_bundle import KernelBundle, make_bundle
from ..vk_runtime.kernel_id import KernelId
from ..vk_runtime.requirements import unmet
from .built_in_images import built_in_images
from .bundle_toolchain import toolchain
from .unit_image import UnitImage
from .unit_images import all_images, images_of_kernel

Selector = Callable[[DeviceImage], object]

BUNDLE_STATES = (BundleState.INPUT, BundleState.OBJECT, BundleState.EXECUTABLE)
"""The states that kernels of the application have."""

_NEEDED_ASPECTS = {
    BundleState.INPUT: (Aspect.ONLINE_COMPILER, "an online compiler"),
    BundleState.OBJECT: (Aspect.ONLINE_LINKER, "an online linker"),
}


def lacking(devices: Sequence[Device], state: BundleState) -> str | None:
    """Returns which device lacks what bundles of a state need of it, as text; None where each has it."""
    aspect, needed = _NEEDED_ASPECTS.get(state, (None, ""))
    without = [] if aspect is None else [item for item in devices if not item.has(aspect)]
    if aspect is None or not without:
        return None
    return (
        f"state {state.name} needs {needed}, which device '{without[0].selector}' does not have "
        f"(aspect {aspect.spelling})"
    )


def input_images(
    what: str, devices: Sequence[Device], wanted: Sequence[KernelId] | None
) -> list[DeviceImage]:
    """Returns the images of the application that one of the devices supports.

    Args:
        what: the function that was called, for messages.
        devices: at least one.
        wanted: kernels whose images are returned; None: all but built-in kernels.

    Raises:
        InvalidError: a wanted kernel is gone.
    """
    env = common_environment(devices)
    if wanted is None:
        found = all_images(env)
    else:
        found = [image for id_ in wanted if id_.is_application for image in images_of_kernel(what, id_, env)]
        found += built_in_images([id_ for id_ in wanted if not id_.is_application], devices)
    return compatible(found, devices)


def unmet_by(what: str, id_: KernelId, device: Device) -> str:
    """Returns what a device lacks that a kernel of the application needs, for messages: `` (lacks fp64)``."""
    if not id_.is_application:
        return "" if id_.device in (None, device) else f" (it is built into '{id_.device.selector}')"
    images = [im for im in images_of_kernel(what, id_, device.target_env) if id_ in im.kernel_ids.values()]
    needs = [image.requirements for image in images]
    needs += [
        image.own_requirements[name]
        for image in images
        for name in image.own_requirements
        if image.kernel_ids[name] is id_
    ]
    found = dict.fromkeys(need for each in needs for need in unmet(device, each))
    return f" (lacks {', '.join(found)})" if found else ""


def compatible(images: Iterable[UnitImage], devices: Sequence[Device]) -> list[DeviceImage]:
    """Returns the images, each once, that one of some devices supports."""
    made = [of_input(image, toolchain) for image in dict.fromkeys(images)]
    return [image for image in made if any(image.is_compatible(item) for item in devices)]


def is_representable(image: DeviceImage, state: BundleState) -> bool:
    """Whether images of a state may hold its kernels: built-in kernels are executable only."""
    return state is BundleState.EXECUTABLE or all(id_.is_application for id_ in image.kernel_ids)


def bundle_of(
    ctx: Context, devices: tuple[Device, ...], images: Sequence[DeviceImage], state: BundleState
) -> KernelBundle:
    """Returns a bundle of input images, compiled and linked as far as `state` needs it; raises BuildError."""
    bundle = make_bundle(ctx, devices, BundleState.INPUT, images)
    if state is BundleState.INPUT:
        return bundle
    if state is BundleState.OBJECT:
        return compile_bundle(bundle, None, ())
    return build_bundle(bundle, None, (), toolchain)


# Selectors


def selected_bundle(
    ctx: Context,
    devices: tuple[Device, ...],
    images: Sequence[DeviceImage],
    state: BundleState,
    selector: Selector,
) -> KernelBundle:
    """Returns a bundle of the images that a selector keeps.

    The selector is called once for each image that a bundle of `state` can have.  What it sees is only compiled, and
    linked, when it looks into the code, and what it keeps when it has seen all.

    Raises:
        BuildError: an image that was kept, or looked into, cannot be compiled or linked.
    """
    if state is BundleState.INPUT:
        return bundle_of(ctx, devices, [image for image in images if selector(image)], state)
    objects = [made for image in images for made in object_images(image, devices, {})]
    if state is BundleState.OBJECT:
        kept = [made for made in objects if selector(made)]
    else:
        # Only images with kernels are left when a bundle is linked.
        kept = [made for made in objects if made.kernels and selector(_linked_preview(made, devices))]
    for_each(kept, lambda made: made.binary)  # reading it compiles the image
    bundle = make_bundle(ctx, devices, BundleState.OBJECT, kept)
    if state is BundleState.OBJECT:
        return bundle
    return link_parts([bundle], devices, (), toolchain, is_whole_program=True)


def _linked_preview(made: DeviceImage, devices: Sequence[Device]) -> DeviceImage:
    """Returns an object image as it will be when it is executable."""

    def link() -> SpirvImage:
        (linked,) = toolchain.link([made.binary], devices, is_whole_program=True)
        return linked.image

    return of_spirv(BundleState.EXECUTABLE, link, made)
