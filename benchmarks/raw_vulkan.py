"""The least that a launch from Python can be: Vulkan's own functions, called through cffi with ready structs.

It shares the VkDevice, the pipeline, the barriers and the descriptor set with lapilli, so that what differs is the
host's work.  It checks no argument, tracks no hazard and keeps nothing alive: a floor, not a way to program.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import lapilli as lp
from lapilli.frontend.compile import executable_for
from lapilli.frontend.kernel import KernelFunction
from lapilli.ir.kernel_info import LaunchAbi
from lapilli.vk_runtime.array import Array
from lapilli.vk_runtime.constants import (
    VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
    VK_PIPELINE_BIND_POINT_COMPUTE,
    VK_SEMAPHORE_TYPE_TIMELINE,
    VK_SHADER_STAGE_COMPUTE_BIT,
)
from lapilli.vk_runtime.headers import NULL, ffi, make
from lapilli.vk_runtime.specialization import spec_entries

_FOREVER_NS = 2**64 - 1


class RawLauncher:
    """Launches a one-dimensional kernel of one array over one work-group, with nothing but Vulkan calls.

    Args:
        device: borrowed; must outlive this.
        kernel: takes one array; `size` work-items of it are one work-group.
        array: of `device`.
        size: work-items, and the local size.
        others: arrays of the launches that `record_each` records.
    """

    def __init__(
        self, device: lp.Device, kernel: KernelFunction, array: Array, size: int, others: Sequence[Array] = ()
    ) -> None:
        logical = device.logical
        self._vk, self._device, self._queue = logical.vk, logical.raw, logical.vk_queue
        self._barriers = logical.barriers
        self._polls = not logical.is_cpu
        self._lookup_functions()
        executable = executable_for(kernel, 1, device)
        ids = executable.kernel.abi.local_size_spec_ids
        entries = spec_entries(
            executable.image.spec_constants, {}, None if ids is None else (ids, (size, 1, 1))
        )
        with logical.lock:
            self._keep: Any = logical.pipelines.pipeline(
                executable.image, executable.kernel, entries, device.selector
            )
            set_layout = self._keep.layout.set_layout
            descriptor_set = set_layout.set_for([(array.buffer, True)])
            self._other_sets = [set_layout.set_for([(other.buffer, True)]) for other in others]
        self._keep = (self._keep, descriptor_set, array, others)
        self._pipeline, self._layout = self._keep[0].raw, self._keep[0].layout.raw
        self._sets = ffi.new("VkDescriptorSet[]", [descriptor_set.raw])
        block = _argument_block(executable.kernel.abi, size)
        self._push, self._push_bytes = ffi.new("char[]", block), len(block)
        self._value = 0
        self._create_objects(logical.physical.queue_family_index)
        self._prepare_structs()

    def _lookup_functions(self) -> None:
        vk = self._vk
        self._begin, self._end = vk.vkBeginCommandBuffer, vk.vkEndCommandBuffer
        self._bind_pipeline, self._bind_sets = vk.vkCmdBindPipeline, vk.vkCmdBindDescriptorSets
        self._push_constants, self._dispatch = vk.vkCmdPushConstants, vk.vkCmdDispatch
        self._submit, self._wait = vk.vkQueueSubmit, vk.vkWaitSemaphores
        self._read = vk.vkGetSemaphoreCounterValue

    def _create_objects(self, queue_family_index: int) -> None:
        vk, device = self._vk, self._device
        pool = ffi.new("VkCommandPool*")
        info = make(
            "VkCommandPoolCreateInfo",
            flags=VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
            queueFamilyIndex=queue_family_index,
        )
        _expect_success(vk.vkCreateCommandPool(device, info, NULL, pool), "vkCreateCommandPool")
        self._pool = pool[0]
        self._buffers = ffi.new("VkCommandBuffer[]", 1)
        info = make("VkCommandBufferAllocateInfo", commandPool=self._pool, commandBufferCount=1)
        _expect_success(vk.vkAllocateCommandBuffers(device, info, self._buffers), "vkAllocateCommandBuffers")
        self._buffer = self._buffers[0]
        kind = make("VkSemaphoreTypeCreateInfo", semaphoreType=VK_SEMAPHORE_TYPE_TIMELINE)
        self._semaphores = ffi.new("VkSemaphore[]", 1)
        info = make("VkSemaphoreCreateInfo", pNext=kind)
        _expect_success(vk.vkCreateSemaphore(device, info, NULL, self._semaphores), "vkCreateSemaphore")

    def _prepare_structs(self) -> None:
        self._begin_info = make("VkCommandBufferBeginInfo", flags=VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)
        self._begin_reusable = make("VkCommandBufferBeginInfo")
        self._values, self._reached = ffi.new("uint64_t[]", 1), ffi.new("uint64_t*")
        timeline = make(
            "VkTimelineSemaphoreSubmitInfo",
            signalSemaphoreValueCount=1,
            pSignalSemaphoreValues=self._values,
        )
        self._submit_info = make(
            "VkSubmitInfo",
            pNext=timeline,
            commandBufferCount=1,
            pCommandBuffers=self._buffers,
            signalSemaphoreCount=1,
            pSignalSemaphores=self._semaphores,
        )
        self._wait_info = make(
            "VkSemaphoreWaitInfo", semaphoreCount=1, pSemaphores=self._semaphores, pValues=self._values
        )

    def launch_and_wait(self) -> None:
        """Begin, bind, push, dispatch, end, submit, wait: one launch whose result only the device may read."""
        self.begin()
        self._dispatch(self._buffer, 1, 1, 1)
        self.submit_and_wait()

    def launch_for_host(self) -> None:
        """As `launch_and_wait`, with the barrier that lets the host read the result (Vulkan 1.3, 7.6)."""
        self.begin()
        self._dispatch(self._buffer, 1, 1, 1)
        self._barrier_for_host()
        self.submit_and_wait()

    def _barrier_for_host(self) -> None:
        self._barriers.record(self._buffer, *self._barriers.for_host)

    def begin(self, info: Any = None) -> None:
        """Opens the command buffer and binds everything."""
        buffer = self._buffer
        self._begin(buffer, info or self._begin_info)
        self._bind_pipeline(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, self._pipeline)
        self._bind_sets(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, self._layout, 0, 1, self._sets, 0, NULL)
        self._push_constants(
            buffer, self._layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, self._push_bytes, self._push
        )

    def record(self) -> None:
        """Records one more launch into the open command buffer, after a barrier: they write one array."""
        buffer = self._buffer
        self._barriers.record(buffer, *self._barriers.between)
        self._push_constants(
            buffer, self._layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, self._push_bytes, self._push
        )
        self._dispatch(buffer, 1, 1, 1)

    def record_many(self, launches: int) -> None:
        """Records launches, a barrier before each, into a command buffer that `resubmit_and_wait` runs."""
        self.begin(self._begin_reusable)
        for _ in range(launches):
            self.record()
        self._barrier_for_host()
        self._end(self._buffer)

    def record_each(self) -> None:
        """Records a launch for each of the other arrays, without barriers, for `resubmit_and_wait`."""
        self.begin(self._begin_reusable)
        buffer, point = self._buffer, VK_PIPELINE_BIND_POINT_COMPUTE
        for descriptor_set in self._other_sets:
            self._bind_sets(buffer, point, self._layout, 0, 1, (descriptor_set.raw,), 0, NULL)
            self._dispatch(buffer, 1, 1, 1)
        self._barrier_for_host()
        self._end(buffer)

    def submit_and_wait(self) -> None:
        """Closes the command buffer, runs it and waits for the timeline semaphore."""
        self._end(self._buffer)
        self.resubmit_and_wait()

    def resubmit_and_wait(self) -> None:
        """Runs the command buffer as it is and waits for the timeline semaphore; for a GPU's by polling it, as lapilli
        does."""
        self._value += 1
        self._values[0] = self._value
        _expect_success(self._submit(self._queue, 1, self._submit_info, NULL), "vkQueueSubmit")
        if not self._polls:
            _expect_success(self._wait(self._device, self._wait_info, _FOREVER_NS), "vkWaitSemaphores")
            return
        read, device, semaphore, reached = self._read, self._device, self._semaphores[0], self._reached
        result = read(device, semaphore, reached)
        while result == 0 and reached[0] < self._value:
            result = read(device, semaphore, reached)
        _expect_success(result, "vkGetSemaphoreCounterValue")

    def close(self) -> None:
        """Destroys what this made; nothing is in flight, every launch was waited for."""
        self._vk.vkDestroySemaphore(self._device, self._semaphores[0], NULL)
        self._vk.vkDestroyCommandPool(self._device, self._pool, NULL)


def _argument_block(abi: LaunchAbi, size: int) -> bytes:
    """Returns the push constants of a kernel that takes arrays alone: the range, and zero as first group."""
    block = bytearray(abi.argument_block_bytes)
    for offset in abi.range_offsets_bytes:
        if offset is not None:
            struct.pack_into("<i", block, offset, size)
    return bytes(block)


def _expect_success(result: int, function: str) -> None:
    if result < 0:
        raise RuntimeError(f"{function} returned VkResult {result}")
