"""Pipeline barriers: between commands that use the same memory, and before the host reads what they wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .constants import (
    VK_ACCESS_HOST_READ_BIT,
    VK_ACCESS_INDIRECT_COMMAND_READ_BIT,
    VK_ACCESS_SHADER_READ_BIT,
    VK_ACCESS_SHADER_WRITE_BIT,
    VK_ACCESS_TRANSFER_READ_BIT,
    VK_ACCESS_TRANSFER_WRITE_BIT,
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
    VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT,
    VK_PIPELINE_STAGE_HOST_BIT,
    VK_PIPELINE_STAGE_TRANSFER_BIT,
)
from .headers import NULL, make

if TYPE_CHECKING:
    from .command_buffer import CommandBuffer
    from .logical_device import LogicalDevice

_SHADER = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT
_TRANSFER = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT
_WRITES = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT

STAGES = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT
"""Where the commands of a queue touch memory."""

_BETWEEN: Any = make(
    "VkMemoryBarrier",
    srcAccessMask=_WRITES,
    dstAccessMask=_SHADER | _TRANSFER | VK_ACCESS_INDIRECT_COMMAND_READ_BIT,
)
_FOR_HOST: Any = make("VkMemoryBarrier", srcAccessMask=_WRITES, dstAccessMask=VK_ACCESS_HOST_READ_BIT)

BARRIER: tuple[Any, ...] = (
    STAGES, STAGES | VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, 0, 1, _BETWEEN, 0, NULL, 0, NULL
)  # fmt: skip
"""Arguments of vkCmdPipelineBarrier behind the command buffer: all before it happens before all after it."""

HOST_BARRIER: tuple[Any, ...] = (STAGES, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, _FOR_HOST, 0, NULL, 0, NULL)
"""The same, for what lets the host read results: a timeline alone does not (Vulkan 1.3, 7.6)."""


def record_barrier(device: LogicalDevice, command_buffer: CommandBuffer) -> None:
    """Records a barrier between everything before and everything after."""
    device.vk.vkCmdPipelineBarrier(command_buffer.raw, *BARRIER)


def record_host_barrier(device: LogicalDevice, command_buffer: CommandBuffer) -> None:
    """Records what lets the host read the results of everything before."""
    device.vk.vkCmdPipelineBarrier(command_buffer.raw, *HOST_BARRIER)
