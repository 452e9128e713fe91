"""Pipeline barriers: between commands that use the same memory, and before the host reads what they wrote.

vkCmdPipelineBarrier2 takes a struct that is made once, where vkCmdPipelineBarrier takes ten arguments that cffi
converts each time: 0.3 µs instead of 0.8.  Devices without synchronization2 take the latter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .constants import (
    VK_ACCESS_HOST_READ_BIT,
    VK_ACCESS_INDIRECT_COMMAND_READ_BIT,
    VK_ACCESS_SHADER_READ_BIT,
    VK_ACCESS_SHADER_WRITE_BIT,
    VK_ACCESS_TRANSFER_READ_BIT,
    VK_ACCESS_TRANSFER_WRITE_BIT,
    VK_ACCESS_UNIFORM_READ_BIT,
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
    VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT,
    VK_PIPELINE_STAGE_HOST_BIT,
    VK_PIPELINE_STAGE_TRANSFER_BIT,
)
from .headers import NULL, make

if TYPE_CHECKING:
    from .logical_device import LogicalDevice

FEATURE = "synchronization2"

Barrier = tuple[Any, ...]
"""Arguments of `Barriers.record` behind the command buffer: all commands before it happen before all after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Barriers:
    """The barriers of the queues of one family: ``barriers.record(command_buffer, *barriers.between)``."""

    record: Any
    """vkCmdPipelineBarrier2, or vkCmdPipelineBarrier."""
    between: Barrier
    """Orders the commands of the family."""
    before_indirect: Barrier
    """The same, before a dispatch whose work-group counts the device has written; for queues that compute.

    With the stage of indirect commands a barrier takes an NVIDIA H200 4.2 µs, without it 2.1."""
    for_host: Barrier
    """Lets the host read results: a timeline alone does not (Vulkan 1.3, 7.6).  An H200 takes 0.9 µs for it, so only
    submissions of which the host reads something have it."""
    wait_stages: int
    """Where commands that wait for a semaphore begin."""


def compute_barriers(device: LogicalDevice) -> Barriers:
    """Returns the barriers of queues that compute."""
    return _barriers(
        device,
        VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
        writes=VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
        # SHADER_READ leaves uniform buffers out: an NVIDIA H200 then reads what its constant caches hold.
        reads=VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_UNIFORM_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT,
    )


def transfer_barriers(device: LogicalDevice) -> Barriers:
    """Returns the barriers of queues that only copy: a stage of the others is an error there."""
    return _barriers(
        device,
        VK_PIPELINE_STAGE_TRANSFER_BIT,
        writes=VK_ACCESS_TRANSFER_WRITE_BIT,
        reads=VK_ACCESS_TRANSFER_READ_BIT,
    )


def _barriers(device: LogicalDevice, stages: int, *, writes: int, reads: int) -> Barriers:
    has_structs = FEATURE in device.features
    barrier = _as_struct if has_structs else _as_arguments
    both = writes | reads
    return Barriers(
        record=device.vk.vkCmdPipelineBarrier2 if has_structs else device.vk.vkCmdPipelineBarrier,
        between=barrier((stages, writes), (stages, both)),
        before_indirect=barrier(
            (stages, writes),
            (stages | VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, both | VK_ACCESS_INDIRECT_COMMAND_READ_BIT),
        ),
        for_host=barrier((stages, writes), (VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT)),
        wait_stages=stages,
    )


def _as_struct(source: tuple[int, int], target: tuple[int, int]) -> Barrier:
    """Returns what vkCmdPipelineBarrier2 takes for all memory; `source` and `target` are stages and accesses.

    The bits of these stages and accesses are the same in both functions.
    """
    memory = make(
        "VkMemoryBarrier2",
        srcStageMask=source[0],
        srcAccessMask=source[1],
        dstStageMask=target[0],
        dstAccessMask=target[1],
    )
    return (make("VkDependencyInfo", memoryBarrierCount=1, pMemoryBarriers=memory),)


def _as_arguments(source: tuple[int, int], target: tuple[int, int]) -> Barrier:
    """Returns what vkCmdPipelineBarrier takes for all memory; `source` and `target` are stages and accesses."""
    memory = make("VkMemoryBarrier", srcAccessMask=source[1], dstAccessMask=target[1])
    return (source[0], target[0], 0, 1, memory, 0, NULL, 0, NULL)
