"""Copies between the host and an image, through staging buffers, and what an image begins as."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from . import profile
from .constants import (
    VK_ACCESS_TRANSFER_READ_BIT,
    VK_ACCESS_TRANSFER_WRITE_BIT,
    VK_IMAGE_ASPECT_COLOR_BIT,
    VK_IMAGE_LAYOUT_GENERAL,
    VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
    VK_PIPELINE_STAGE_TRANSFER_BIT,
)
from .graph_recording import refuse
from .headers import NULL, make
from .image_memory import xyz
from .staging import PIECE_BYTES
from .transfer import mapped, wait_for_uses

if TYPE_CHECKING:
    from .buffer import Buffer
    from .command_buffer import CommandBuffer
    from .image_memory import ImageMemory
    from .logical_device import LogicalDevice
    from .queue import Queue

_WHOLE: dict[str, Any] = {"aspectMask": VK_IMAGE_ASPECT_COLOR_BIT, "levelCount": 1, "layerCount": 1}
_LAYER: dict[str, Any] = {"aspectMask": VK_IMAGE_ASPECT_COLOR_BIT, "layerCount": 1}


def begin(queue: Queue, device: LogicalDevice, memory: ImageMemory, *, clears: bool) -> None:
    """Brings an image into the layout that it stays in; every image begins so.

    Args:
        queue: records the commands.
        device: of the image.
        memory: in `memory.layout`.
        clears: whether it becomes zeros; else its contents stay, if its layout has any.
    """

    def encode(command_buffer: CommandBuffer) -> None:
        queue.order(((memory, True),), command_buffer.value)
        command_buffer.keep.append(memory)  # before the commands: Ctrl-C may come in between
        barrier = make(
            "VkImageMemoryBarrier",
            dstAccessMask=VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
            oldLayout=memory.layout,
            newLayout=VK_IMAGE_LAYOUT_GENERAL,
            srcQueueFamilyIndex=0xFFFFFFFF,
            dstQueueFamilyIndex=0xFFFFFFFF,
            image=memory.raw,
            subresourceRange=_WHOLE,
        )
        vk = device.vk
        vk.vkCmdPipelineBarrier(
            command_buffer.raw,
            VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
            VK_PIPELINE_STAGE_TRANSFER_BIT,
            0,
            0,
            NULL,
            0,
            NULL,
            1,
            barrier,
        )
        memory.layout = VK_IMAGE_LAYOUT_GENERAL
        if clears:
            colour, whole = make("VkClearColorValue"), make("VkImageSubresourceRange", **_WHOLE)
            vk.vkCmdClearColorImage(command_buffer.raw, memory.raw, VK_IMAGE_LAYOUT_GENERAL, colour, 1, whole)

    with device.lock:
        device.require_usable()
        queue.record(encode)


def upload_image(
    queue: Queue, device: LogicalDevice, memory: ImageMemory, source: np.ndarray[Any, Any]
) -> None:
    """Copies `source`, of the image's host shape and dtype, into an image."""
    refuse("a copy from host memory")
    memory.require_copies(is_target=True)
    for first, rows in _slabs(source):
        nbytes = rows.nbytes
        with device.lock:
            device.require_usable()
            staging = device.memory.allocate(nbytes, for_host=True)
            with profile.span("copy", "to staging", device=queue.device.selector, nbytes=nbytes):
                np.copyto(mapped(staging, rows.dtype, rows.shape), rows)
            _record(queue, device, memory, staging, first, len(rows), is_upload=True)
        if nbytes < source.nbytes:
            queue.wait()


def download_image(
    queue: Queue, device: LogicalDevice, memory: ImageMemory, out: np.ndarray[Any, Any]
) -> None:
    """Copies an image into `out`, of its host shape and dtype, after the launches that write it."""
    refuse("reading an image on the host")
    memory.require_copies(is_target=False)
    if memory.queue is not queue:
        # What the other queue's kernels report is for whoever reads.
        wait_for_uses(device, memory, writes_only=True)
    for first, rows in _slabs(out):
        nbytes = rows.nbytes
        with device.lock:
            device.require_usable()
            staging = device.memory.allocate(nbytes, for_host=True)
            _record(queue, device, memory, staging, first, len(rows), is_upload=False)
            value = staging.last_write
        queue.wait_for(value)
        span = profile.span("copy", "from staging", device=queue.device.selector, nbytes=nbytes)
        with span:
            device.visit(partial(_take_rows, staging, rows))


def _take_rows(staging: Buffer, rows: np.ndarray[Any, Any]) -> None:
    np.copyto(rows, mapped(staging, rows.dtype.newbyteorder("="), rows.shape))


def _slabs(host: np.ndarray[Any, Any]) -> list[tuple[int, np.ndarray[Any, Any]]]:
    """Cuts a host array along dimension 0 into views that fit staging memory, each with where it begins."""
    count = max(1, PIECE_BYTES // max(host[:1].nbytes, 1))
    return [(first, host[first : first + count]) for first in range(0, len(host), count)]


def _record(
    queue: Queue,
    device: LogicalDevice,
    memory: ImageMemory,
    staging: Buffer,
    first: int,
    count: int,
    *,
    is_upload: bool,
) -> None:
    """Records the copy of `count` rows (pixels, slices) from row `first` on."""

    def encode(command_buffer: CommandBuffer) -> None:
        queue.order(((staging, not is_upload), (memory, is_upload)), command_buffer.value)
        command_buffer.keep.append((staging, memory))  # before the command: Ctrl-C may come in between
        ndim = len(memory.shape)
        offset = dict.fromkeys("xyz", 0)
        offset["xyz"[ndim - 1]] = first
        width, height, depth = xyz((count, *memory.shape[1:]))
        region = make(
            "VkBufferImageCopy",
            bufferOffset=staging.offset_bytes,
            imageSubresource=_LAYER,
            imageOffset=offset,
            imageExtent={"width": width, "height": height, "depth": depth},
        )
        if command_buffer.is_timed:
            name = "upload" if is_upload else "download"
            command = profile.command("copy", name, queue, command_buffer.value, staging.nbytes)
            command_buffer.begin_timing(None, command)
        vk, layout = device.vk, VK_IMAGE_LAYOUT_GENERAL
        if is_upload:
            vk.vkCmdCopyBufferToImage(command_buffer.raw, staging.raw, memory.raw, layout, 1, region)
        else:
            command_buffer.is_read_by_host = True
            vk.vkCmdCopyImageToBuffer(command_buffer.raw, memory.raw, layout, staging.raw, 1, region)
        if command_buffer.is_timed:
            command_buffer.end_timing()

    queue.record(encode)
