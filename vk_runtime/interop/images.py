"""Images: VkImage as lp.UnsampledImage and lp.SampledImage."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any, SupportsIndex, cast

from ...ir.errors import InvalidError
from ...ir.image_formats import ImageFormat
from ..array_creation import normalise_shape
from ..bundle_errors import ConstraintError, type_name
from ..constants import (
    VK_IMAGE_LAYOUT_GENERAL,
    VK_IMAGE_USAGE_SAMPLED_BIT,
    VK_IMAGE_USAGE_STORAGE_BIT,
    VK_IMAGE_USAGE_TRANSFER_DST_BIT,
    VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
)
from ..context import Context
from ..device import Device
from ..event import Event
from ..image_data import checked_format
from ..image_memory import ImageMemory
from ..image_sampler import ImageSampler
from ..image_support import require_images, require_shape
from ..image_transfer import begin
from ..images import Image, SampledImage, UnsampledImage
from .buffers import chosen_device
from .handle_refs import given_out, share
from .natives import Native, handle, native_int, require_own
from .queues import require_context


def native_image(image: Image) -> list[tuple[Native, ...]]:
    """Returns VkImage and VkImageView, of a sampled image VkSampler too, for each device that has one; launches that
    are recorded on it are submitted.  The image is in the layout GENERAL."""
    memory = image.buffer
    if memory.queue is not None:
        memory.queue.submit_up_to(memory.last_use)
    natives = [
        given_out("VkImage", memory.raw, image, memory, image.device.logical),
        given_out("VkImageView", memory.view, image, memory),
    ]
    if isinstance(image, SampledImage):
        sampler = image.sampler_object
        natives.append(given_out("VkSampler", sampler.raw, image, sampler))
    return [tuple(natives)]


def make_unsampled_image(
    vk_image: object,
    ctx: Context,
    *,
    format: ImageFormat | str,
    shape: int | tuple[int, ...],
    layout: int = VK_IMAGE_LAYOUT_GENERAL,
    usage: int | None = None,
    available_event: Event | None = None,
    device: Device | None = None,
) -> UnsampledImage:
    """Returns the image of a VkImage, which stays the application's.

    Kernels use it where it is, its first level and layer.  It was made with optimal tiling, one sample, and usage
    TRANSFER_SRC and TRANSFER_DST for reading and writing it from the host, SAMPLED for kernels that read it, STORAGE
    for kernels that write it.

    Args:
        vk_image: of the context's VkDevice, bound to memory.
        ctx: a context; of several devices, `device` says which.
        format: the VkFormat that it was made with, as an `lp.ImageFormat` or its name.
        shape: extents, slowest first.
        layout: the VkImageLayout that it is in; from here on it is in GENERAL.
        usage: VkImageUsageFlags that it was made with; None: all that the device has for the format.
        available_event: the image is used only after it.
        device: of `ctx`.

    Raises:
        InvalidError: no handle, one of another VkDevice, a format or shape that cannot be, or a device that is not
            the context's.
        FeatureNotSupportedError: the device has no images, or none of the format.
        TypeError: an argument of the wrong kind.
    """
    what = "make_unsampled_image"
    target, memory = _adopted(what, vk_image, ctx, format, shape, layout, usage, available_event, device)
    image = UnsampledImage.of_memory(target, memory)
    share("VkImage", native_int(what, vk_image, "VkImage"), image)
    return image


def make_sampled_image(
    vk_image: object,
    ctx: Context,
    sampler: ImageSampler,
    available_event: Event | None = None,
    *,
    format: ImageFormat | str,
    shape: int | tuple[int, ...],
    layout: int = VK_IMAGE_LAYOUT_GENERAL,
    usage: int | None = None,
    device: Device | None = None,
) -> SampledImage:
    """Returns the image of a VkImage with a sampler; see `make_unsampled_image`.

    Args:
        vk_image: as there.
        ctx: as there.
        sampler: how kernels sample it; the VkSampler is lapilli's.
        available_event: as there.
        format: as there.
        shape: as there.
        layout: as there.
        usage: as there.
        device: as there.

    Raises: as `make_unsampled_image`; FeatureNotSupportedError also where the device does not filter the format.
    """
    what = "make_sampled_image"
    if not isinstance(sampler, ImageSampler):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
        raise ConstraintError(f"{what} takes an lp.ImageSampler, found {type_name(sampler)}")
    target, memory = _adopted(what, vk_image, ctx, format, shape, layout, usage, available_event, device)
    image = SampledImage.of_memory(target, memory, sampler)
    share("VkImage", native_int(what, vk_image, "VkImage"), image)
    return image


def _checked_pixels(
    what: str, given: object, shape: int | tuple[int, ...]
) -> tuple[ImageFormat, tuple[int, ...]]:
    """Returns format and extents of a native image, whose VkImage does not tell them."""
    image_format = checked_format(what, given)
    if image_format is None:
        raise ConstraintError(f"{what}(format=…) takes an lp.ImageFormat, found None")
    extents = normalise_shape(shape)
    if 0 in extents:
        raise InvalidError(
            f"{what}(shape=…): an image has at least one pixel in each dimension, found {extents}"
        )
    return image_format, extents


def _adopted(
    what: str,
    vk_image: object,
    ctx: Context,
    given: object,
    shape: int | tuple[int, ...],
    layout: object,
    usage: object,
    available_event: object,
    device: Device | None,
) -> tuple[Device, ImageMemory]:
    """Returns device and memory of a native image, in the layout that images stay in."""
    require_context(what, ctx)
    raw: Any = handle("VkImage", native_int(what, vk_image, "VkImage"))
    chosen = chosen_device(what, ctx, device)
    require_own(what, vk_image, chosen)
    require_images(chosen)
    image_format, extents = _checked_pixels(what, given, shape)
    if available_event is not None and not isinstance(available_event, Event):
        raise ConstraintError(
            f"{what}(available_event=…) takes an lp.Event, found {type_name(available_event)}"
        )
    logical = chosen.logical
    logical.require_usable()
    support = logical.images.support(image_format, len(extents))
    require_shape(chosen, support, extents)
    flags = None if usage is None else _number(what, "usage", usage)
    if flags is not None:
        support = replace(
            support,
            reads=support.reads and bool(flags & VK_IMAGE_USAGE_SAMPLED_BIT),
            writes=support.writes and bool(flags & VK_IMAGE_USAGE_STORAGE_BIT),
        )
    before = _number(what, "layout", layout)
    with logical.lock:
        logical.require_usable()  # again: it may have been shut down since
        memory = ImageMemory(logical, support, extents, borrowed=raw)
    memory.lender = vk_image
    if flags is not None:
        memory.is_copied_from = bool(flags & VK_IMAGE_USAGE_TRANSFER_SRC_BIT)
        memory.is_copied_to = bool(flags & VK_IMAGE_USAGE_TRANSFER_DST_BIT)
    if isinstance(available_event, Event):
        if available_event.timeline.device is chosen:
            memory.queue = available_event.timeline
            memory.last_use = memory.last_write = available_event.value
        else:
            available_event.wait()
    memory.layout = before
    if before != VK_IMAGE_LAYOUT_GENERAL:
        begin(chosen.default_queue, logical, memory, clears=False)
    return chosen, memory


def _number(what: str, name: str, value: object) -> int:
    try:
        number = -1 if isinstance(value, bool) else operator.index(cast("SupportsIndex", value))
    except TypeError:
        number = -1
    if not 0 <= number < 1 << 31:
        raise ConstraintError(f"{what}({name}=…) takes a number of Vulkan, found {value!r:.60}")
    return number
