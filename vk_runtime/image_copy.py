"""Copies on the device that an image takes part in: between two images, or an image and an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ir.errors import InvalidError
from . import graph_recording, profile
from .array import Array
from .constants import VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_LAYOUT_GENERAL
from .headers import make
from .image_memory import ImageMemory, xyz
from .images import Image

if TYPE_CHECKING:
    from .buffer import Buffer
    from .command_buffer import CommandBuffer
    from .logical_device import LogicalDevice
    from .queue import Queue

_LAYER: dict[str, Any] = {"aspectMask": VK_IMAGE_ASPECT_COLOR_BIT, "layerCount": 1}


def require_copyable(source: Array | Image, target: Array | Image) -> None:
    """Raises InvalidError where all pixels of an image, or all elements of an array, are not those of the other, or
    the VkImage of an application was not made for copies."""
    for side in (source, target):
        if isinstance(side, Image):
            side.buffer.require_copies(is_target=side is target)
    if isinstance(source, Image) and isinstance(target, Image):
        if (source.shape, source.format) != (target.shape, target.format):
            raise InvalidError(
                f"copy: the source is an lp.{source.signature} of shape {source.shape}; expected format "
                f"{target.format.name} and shape {target.shape}, as of the target"
            )
        return
    array, image = (source, target) if isinstance(target, Image) else (target, source)
    assert isinstance(array, Array) and isinstance(image, Image)
    what = "the source" if array is source else "the target"
    if array.host_shape != image.host_shape or array.dtype.base != image.dtype:
        raise InvalidError(
            f"copy: {what} is an lp.{array.signature} of host shape {array.host_shape}; expected {image.dtype} and "
            f"{image.host_shape}, as the pixels of an lp.{image.signature}"
        )
    if array.buffer.offset_bytes % image.format.pixel_bytes:
        raise InvalidError(
            f"copy: {what} begins {array.buffer.offset_bytes} bytes into its VkBuffer; expected a multiple of the "
            f"{image.format.pixel_bytes} bytes of a pixel"
        )


def copy_image(queue: Queue, source: Array | Image, target: Array | Image) -> None:
    """Records the copy of all pixels; at least one of the two is an image, and `require_copyable` has passed."""
    if graph_recording.active and (graph := graph_recording.recorder()) is not None:
        graph.add_copy(queue, source, target)
        return
    if source.buffer is target.buffer:
        return
    device = queue.device.logical

    def encode(command_buffer: CommandBuffer) -> None:
        uses = ((source.buffer, False), (target.buffer, True))
        queue.order(uses, command_buffer.value)
        command_buffer.keep.append(uses)  # before the command: Ctrl-C may come in between
        if command_buffer.is_timed:
            command = profile.command("copy", "copy", queue, command_buffer.value, source.nbytes)
            command_buffer.begin_timing(None, command)
        encode_image_copy(device, command_buffer, source.buffer, target.buffer)
        if command_buffer.is_timed:
            command_buffer.end_timing()

    with device.lock:
        device.require_usable()
        queue.record(encode)


def encode_image_copy(
    device: LogicalDevice,
    command_buffer: CommandBuffer,
    source: Buffer | ImageMemory,
    target: Buffer | ImageMemory,
) -> None:
    """Records the command alone.  Call it with the device's lock held."""
    vk, raw, layout = device.vk, command_buffer.raw, VK_IMAGE_LAYOUT_GENERAL
    if isinstance(source, ImageMemory) and isinstance(target, ImageMemory):
        region = make("VkImageCopy", srcSubresource=_LAYER, dstSubresource=_LAYER, extent=_extent(source))
        vk.vkCmdCopyImage(raw, source.raw, layout, target.raw, layout, 1, region)
    elif isinstance(target, ImageMemory):
        region = _region(source, target)
        vk.vkCmdCopyBufferToImage(raw, source.raw, target.raw, layout, 1, region)
    elif isinstance(source, ImageMemory):
        vk.vkCmdCopyImageToBuffer(raw, source.raw, layout, target.raw, 1, _region(target, source))


def _region(buffer: Buffer | ImageMemory, image: ImageMemory) -> Any:
    assert not isinstance(buffer, ImageMemory)
    return make(
        "VkBufferImageCopy",
        bufferOffset=buffer.offset_bytes,
        imageSubresource=_LAYER,
        imageExtent=_extent(image),
    )


def _extent(image: ImageMemory) -> dict[str, int]:
    width, height, depth = xyz(image.shape)
    return {"width": width, "height": height, "depth": depth}
