"""Has a driver compile pipelines before they are launched, where it would do so at their first dispatch.

llvmpipe makes the machine code of a kernel when it is dispatched for the first time, which takes as long as the rest
of a build.  A dispatch of no work-groups is enough: it runs nothing, and so needs no arguments, only something bound
where these belong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..ir.errors import KernelNotSupportedError, MemoryAllocationError
from ..ir.kernel_info import ImageParameter, KernelInfo
from ..ir.lazy_logging import logger_of
from . import profile
from .constants import (
    VK_DRIVER_ID_MESA_LLVMPIPE,
    VK_PIPELINE_BIND_POINT_COMPUTE,
    VK_SHADER_STAGE_COMPUTE_BIT,
)
from .headers import NULL, ffi
from .pipeline import binding_table
from .queue import Queue

if TYPE_CHECKING:
    from .buffer import Buffer
    from .command_buffer import CommandBuffer
    from .device import Device
    from .pipeline import Pipeline

logger = logger_of(__name__)

_BUFFER_BYTES = 16
"""Of what stands for every array: within the limits of any device, a masked one too."""


def warm_up(device: Device, pipelines: Sequence[tuple[KernelInfo, Pipeline]]) -> None:
    """Returns when the driver has machine code of pipelines; at once on drivers that make it with the pipeline.

    Kernels with images are left out: what is made for them depends on the images.

    Args:
        device: where they run.
        pipelines: each with its kernel.

    Raises:
        DeviceLostError: the driver loses the device.
    """
    if device.physical.driver_id != VK_DRIVER_ID_MESA_LLVMPIPE:
        return
    cold = [
        (kernel, pipeline)
        for kernel, pipeline in pipelines
        if not (pipeline.is_warm or any(isinstance(item, ImageParameter) for item in kernel.parameters))
    ]
    if not cold:
        return
    logical = device.logical
    try:
        with profile.span("pipeline", "first dispatch", device=device.selector):
            queue = Queue(device)
            with logical.lock:
                array = logical.memory.allocate(_BUFFER_BYTES)
                block = logical.memory.allocate(max(kernel.abi.argument_block_bytes for kernel, _ in cold))
                for kernel, pipeline in cold:
                    queue.record(_dispatch(device, kernel, pipeline, array, block))
            queue.block_until(queue.last_value)
            queue.close()
    except (
        MemoryAllocationError,
        KernelNotSupportedError,
    ) as error:  # the launch says so, if it is still true then
        logger.info("kernels are not compiled before their first launch: %s", error)
        return
    for _, pipeline in cold:
        pipeline.is_warm = True


def _dispatch(
    device: Device, kernel: KernelInfo, pipeline: Pipeline, array: Buffer, block: Buffer
) -> Callable[[CommandBuffer], None]:
    """Returns what records a dispatch of no work-groups, with `array` for every array and `block` for the arguments."""
    layout, abi, vk = pipeline.layout, kernel.abi, device.logical.vk
    is_pushed = abi.argument_block_binding is None
    pushed = ffi.new("char[]", abi.argument_block_bytes if is_pushed else 0)
    descriptor_set = None
    if layout.set_layout is not None:
        bindings = [binding for binding, _ in binding_table(kernel)]
        uses = [(block if binding == abi.argument_block_binding else array, False) for binding in bindings]
        descriptor_set = layout.set_layout.set_for(uses, 0 if is_pushed else abi.argument_block_bytes)

    def encode(command_buffer: CommandBuffer) -> None:
        command_buffer.keep += (pipeline, descriptor_set, array, block)
        command_buffer.pipeline = command_buffer.layout = command_buffer.descriptor_set = None
        raw, point = command_buffer.raw, VK_PIPELINE_BIND_POINT_COMPUTE
        vk.vkCmdBindPipeline(raw, point, pipeline.raw)
        if descriptor_set is not None:
            sets, offsets = ffi.new("VkDescriptorSet[]", [descriptor_set.raw]), ffi.new("uint32_t[]", 1)
            vk.vkCmdBindDescriptorSets(
                raw, point, layout.raw, 0, 1, sets, int(not is_pushed), NULL if is_pushed else offsets
            )
        if len(pushed):
            vk.vkCmdPushConstants(raw, layout.raw, VK_SHADER_STAGE_COMPUTE_BIT, 0, len(pushed), pushed)
        vk.vkCmdDispatch(raw, 0, 0, 0)

    return encode
