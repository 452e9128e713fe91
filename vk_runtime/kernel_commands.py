"""What goes before a dispatch of a kernel: pipeline, descriptors, and its scalars as push constants or in memory.

Commands are recorded through raw function pointers, with structs that are made once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from ..ir.kernel_info import KernelInfo
from ..spirv.device_image import DeviceImage
from . import trace
from .argument_packer import ArgumentPacker
from .arguments import ArgumentChecker
from .buffer import Buffer
from .constants import VK_PIPELINE_BIND_POINT_COMPUTE, VK_SHADER_STAGE_COMPUTE_BIT
from .errors import ArrayRangeError
from .headers import ffi

if TYPE_CHECKING:
    from .arguments import Uses
    from .command_buffer import CommandBuffer
    from .descriptors import DescriptorSet, DescriptorSetLayout
    from .device import Device
    from .pipeline import Pipeline
    from .reports import KernelReport
    from .scalars import Scalar
    from .tracked import Tracked


class KernelBinding:
    """How the arguments of one kernel reach it; shared by its launch records."""

    def __init__(self, image: DeviceImage, kernel: KernelInfo) -> None:
        self.image = image
        self.kernel = kernel
        self.checker = ArgumentChecker(kernel.name, kernel.parameters)
        self.packer = ArgumentPacker(kernel)
        self.able_devices: set[Device] = set()
        """Devices that are known to be able to run the kernel."""
        self.pipelines: WeakValueDictionary[tuple[object, ...], Pipeline] = WeakValueDictionary()
        """By device, local size, extents of shared memory that launches give, and specialization values."""


class KernelCommands:
    """The commands of a kernel with one pipeline.  Use them with the device's lock held.

    Args:
        device: where it runs.
        binding: of the kernel.
        pipeline: None where nothing runs.
    """

    def __init__(self, device: Device, binding: KernelBinding, pipeline: Pipeline | None) -> None:
        self._device = device
        self._binding = binding
        self._packer = binding.packer
        self._pack_into = binding.packer.pack_into
        self._has_values = binding.packer.has_values
        self._pipeline = pipeline
        self._set_layout = None if pipeline is None else pipeline.layout.set_layout
        self._pipeline_layout = None if pipeline is None else pipeline.layout
        self._layout: Any = None if pipeline is None else pipeline.layout.raw
        abi = binding.kernel.abi
        self._is_block_pushed = abi.argument_block_binding is None
        self._dynamic_count = 0 if self._is_block_pushed else 1
        self._block_bytes = abi.argument_block_bytes
        self._push_bytes = self._block_bytes if self._is_block_pushed else 0
        self._memory_block_bytes = 0 if self._is_block_pushed else self._block_bytes
        """Bytes of the argument block where it lies in memory, else 0."""
        self._block = ffi.new("char[]", max(self._block_bytes, 1))
        self._block_memory = ffi.buffer(self._block)
        self._sets = ffi.new("VkDescriptorSet[]", 1)
        self._dynamic_offset = ffi.new("uint32_t[]", 1)
        vk = device.logical.vk
        self.record_barrier: Any = device.logical.barriers.record
        """vkCmdPipelineBarrier2, or vkCmdPipelineBarrier."""
        self.dispatch_groups: Any = vk.vkCmdDispatch
        self._push = vk.vkCmdPushConstants
        self._bind_pipelines, self._bind_sets = vk.vkCmdBindPipeline, vk.vkCmdBindDescriptorSets

    @property
    def kernel(self) -> KernelInfo:
        """What it launches."""
        return self._binding.kernel

    @property
    def set_layout(self) -> DescriptorSetLayout | None:
        """Of its descriptors; None where it has none, or runs nothing."""
        return self._set_layout

    @property
    def device(self) -> Device:
        """Where it runs."""
        return self._device

    def _require_ranges(self, uses: Uses) -> None:
        """Raises ArrayRangeError where descriptors cannot show an array; a graph would find out at its end."""
        limit = self._device.logical.physical.limits.max_storage_buffer_range_bytes
        for memory, _ in () if self._packer.has_addresses else uses:
            if isinstance(memory, Buffer) and memory.nbytes > limit:
                raise ArrayRangeError(
                    f"kernel '{self.kernel.name}': an array has {memory.nbytes:,} bytes; device "
                    f"'{self._device.name}' shows a kernel at most {limit:,} bytes of one array (maxStorageBufferRange)"
                )

    def note_launch(self) -> None:
        """Tells running traces of a launch."""
        binding = self._binding
        trace.record("launch", kernel=binding.kernel.name, image=binding.image, device=self._device.selector)

    def _show(
        self,
        place: tuple[Buffer, int] | None,
        uses: Uses,
        hidden: Sequence[Scalar],
        values: Sequence[Scalar],
        report: KernelReport | None,
    ) -> DescriptorSet | None:
        """Returns the descriptors of a launch, None where it has none; fills the argument block at `place`."""
        if self._set_layout is None:
            return None
        shown: Sequence[tuple[Tracked, bool]] = () if self._packer.has_addresses else uses
        block_bytes = 0
        if place is not None:
            memory, self._dynamic_offset[0] = place
            self._pack_into(memory.host_bytes(), place[1], *hidden, *values)
            shown, block_bytes = (*shown, (memory, False)), self._block_bytes
        if report is not None:
            shown = (*shown, (report.buffer, True))
        return self._set_layout.set_for(shown, block_bytes, self._binding.kernel)

    def bind(
        self,
        command_buffer: CommandBuffer,
        descriptor_set: DescriptorSet | None,
        hidden: Sequence[Scalar],
        values: Sequence[Scalar],
    ) -> None:
        """Records everything before the dispatch that is not there yet: pipeline, descriptors, pushed arguments."""
        self._bind(command_buffer, descriptor_set)
        if self._push_bytes:
            self._pack_into(self._block_memory, 0, *hidden, *values)
            block = self._block_memory[:]
            if command_buffer.pushed != block:
                command_buffer.pushed = None  # Ctrl-C may come in between
                stages = VK_SHADER_STAGE_COMPUTE_BIT
                self._push(command_buffer.raw, self._layout, stages, 0, self._push_bytes, self._block)
                command_buffer.pushed = block

    def bind_again(
        self, command_buffer: CommandBuffer, descriptor_set: DescriptorSet | None, block: Any
    ) -> None:
        """Records what `bind` does, with an argument block that was packed before; None: that of every launch."""
        self._bind(command_buffer, descriptor_set)
        if self._push_bytes:
            command_buffer.pushed = None
            if block is None:
                block = self._block  # packed at the first launch
            self._push(
                command_buffer.raw, self._layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, self._push_bytes, block
            )

    def _bind(self, command_buffer: CommandBuffer, descriptor_set: DescriptorSet | None) -> None:
        """Records pipeline and descriptors, where others are bound.

        What is bound is noted after the command, and kept before it, because Ctrl-C may come in between.
        """
        pipeline = self._pipeline
        if command_buffer.pipeline is not pipeline:
            assert pipeline is not None, "an empty range has no pieces"
            command_buffer.keep.append(pipeline)
            if command_buffer.layout is not self._pipeline_layout:
                # Binding for another layout may disturb the set (Vulkan 1.3, 14.2.2).
                command_buffer.descriptor_set = command_buffer.pushed = None
                command_buffer.layout = self._pipeline_layout
            command_buffer.pipeline = None
            self._bind_pipelines(command_buffer.raw, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.raw)
            command_buffer.pipeline = pipeline
        if descriptor_set is not None and (
            command_buffer.descriptor_set is not descriptor_set or self._dynamic_count
        ):
            command_buffer.keep.append(descriptor_set)
            command_buffer.descriptor_set = None
            self._sets[0] = descriptor_set.raw
            self._bind_sets(
                command_buffer.raw,
                VK_PIPELINE_BIND_POINT_COMPUTE,
                self._layout,
                0,
                1,
                self._sets,
                self._dynamic_count,
                self._dynamic_offset,
            )
            command_buffer.descriptor_set = descriptor_set

    def _packed(self, hidden: Sequence[Scalar], values: Sequence[Scalar]) -> bytes:
        """Packs the argument block where it is pushed from; returns it, or nothing where it is always the same."""
        if not self._has_values:
            return b""
        self._pack_into(self._block_memory, 0, *hidden, *values)
        return self._block_memory[:]
