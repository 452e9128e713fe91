"""Launching kernels whose arguments were set before the kernel was made: a VkDescriptorSet of the application.

What the set shows is the application's: lapilli keeps none of it alive and knows nothing of who else uses it.  So a
barrier for all memory goes before such a kernel and after it; beyond the queue the application orders by events.
In a graph such a kernel runs when all that was recorded before it has run, and before all that was recorded behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..ir.errors import InvalidError, KernelArgumentError
from ..ir.kernel_info import KernelInfo, LocalParameter, StreamParameter
from . import graph_recording, profile
from .constants import VK_PIPELINE_BIND_POINT_COMPUTE, VK_SHADER_STAGE_COMPUTE_BIT
from .event import Event
from .headers import NULL, ffi
from .kernel_pipeline import kernel_pipeline
from .launch_plan import plan_launch

if TYPE_CHECKING:
    from ..spirv.device_image import DeviceImage as SpirvImage
    from .command_buffer import CommandBuffer
    from .launch_plan import LaunchPlan
    from .logical_device import LogicalDevice
    from .pipeline import Pipeline
    from .queue import Queue


@dataclass(frozen=True, slots=True)
class PresetArguments:
    """The arguments of a kernel, all of them."""

    descriptor_set: int
    """VkDescriptorSet, bound at set 0."""
    push_constants: bytes


@dataclass(frozen=True, slots=True, eq=False)
class BoundKernel:
    """A kernel that has its arguments, with its range."""

    device: LogicalDevice
    name: str
    pipeline: Pipeline
    plan: LaunchPlan
    preset: PresetArguments

    def encode(self, command_buffer: CommandBuffer) -> None:
        """Records the dispatches, and no barriers.  Call it with the device's lock held."""
        vk, bind_point, preset = self.device.vk, VK_PIPELINE_BIND_POINT_COMPUTE, self.preset
        raw, layout = command_buffer.raw, self.pipeline.layout.raw
        command_buffer.keep.append(self.pipeline)
        # Later launches bind their own again.
        command_buffer.pipeline = command_buffer.layout = command_buffer.descriptor_set = None
        command_buffer.pushed = None
        vk.vkCmdBindPipeline(raw, bind_point, self.pipeline.raw)
        sets = ffi.new("VkDescriptorSet[]", [ffi.cast("VkDescriptorSet", preset.descriptor_set)])
        vk.vkCmdBindDescriptorSets(raw, bind_point, layout, 0, 1, sets, 0, NULL)
        if preset.push_constants:
            data = ffi.from_buffer(preset.push_constants)
            size = len(preset.push_constants)
            vk.vkCmdPushConstants(raw, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, size, data)
        for piece in self.plan.pieces:
            vk.vkCmdDispatch(raw, *piece.groups)


def check_preset(kernel: KernelInfo, preset: PresetArguments, what: str) -> None:
    """Raises where a kernel cannot have its arguments in a descriptor set.

    Raises:
        InvalidError: it takes shared memory or streams, or its plain arguments lie in a buffer of lapilli's.
        KernelArgumentError: push constants of another size than the kernel's.
    """
    given = [p for p in kernel.parameters if isinstance(p, LocalParameter | StreamParameter)]
    if given:
        raise InvalidError(
            f"{what}: kernel '{kernel.name}' takes '{given[0].name}' ({given[0].dtype}), which only a launch can give"
        )
    if kernel.abi.argument_block_binding is not None:
        raise InvalidError(
            f"{what}: the plain arguments of kernel '{kernel.name}' lie in a buffer that lapilli makes; a "
            "descriptor set cannot hold them"
        )
    size = kernel.abi.argument_block_bytes
    if len(preset.push_constants) != size:
        raise KernelArgumentError(
            f"{what}: kernel '{kernel.name}' has {size} bytes of push constants; found push_constants= of "
            f"{len(preset.push_constants)} bytes"
        )


def launch_preset(
    queue: Queue,
    image: SpirvImage,
    kernel: KernelInfo,
    extents: tuple[int, ...],
    local: tuple[int, ...] | None,
    preset: PresetArguments,
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    spec_values: Mapping[str, bytes],
    wait_events: Sequence[Event],
    *,
    is_nd_range: bool,
) -> Event:
    """Records a kernel with arguments of its own; parameters as `launch.launch`.

    Raises:
        KernelArgumentError: there are arguments.
        others: as `launch.launch`.
    """
    if args or kwargs:
        raise KernelArgumentError(
            f"kernel '{kernel.name}' takes no arguments, found {len(args) + len(kwargs)}: a descriptor set was "
            "bound when it was made"
        )
    device = queue.device
    limits = device.logical.physical.limits
    plan = plan_launch(kernel, extents, local, limits, device.name, is_nd_range=is_nd_range)
    pipeline = kernel_pipeline(device, image, kernel, plan, spec_values)
    bound = None if pipeline is None else BoundKernel(device.logical, kernel.name, pipeline, plan, preset)
    if graph_recording.active and (graph := graph_recording.recorder()) is not None:
        return graph.add_preset(queue, bound, wait_events)
    event = Event(queue, 0)
    if bound is None:
        return event
    queue.wait_for_other_devices(wait_events)

    def encode(command_buffer: CommandBuffer) -> None:
        queue.wait_for_own_device(wait_events)
        queue.barrier()
        event.value = command_buffer.value
        if command_buffer.is_timed:
            command_buffer.begin_timing(event, profile.command("kernel", bound.name, queue, event.value))
        bound.encode(command_buffer)
        if command_buffer.is_timed:
            command_buffer.end_timing()
        queue.barrier()

    with device.logical.lock:
        queue.record(encode)
    return event
