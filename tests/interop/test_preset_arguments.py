"""Interop kernels whose arguments are set before the kernel is made: a VkDescriptorSet that raw Vulkan wrote."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lapilli as lp
from tests.interruption import Refusals

from .renderer import Renderer

vulkan = lp.vulkan

SCALE = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "scale" %id
OpExecutionMode %main LocalSize 4 1 1
OpMemberName %pushed 0 "factor"
OpDecorate %id BuiltIn GlobalInvocationId
OpDecorate %array ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %x DescriptorSet 0
OpDecorate %x Binding 0
OpDecorate %y DescriptorSet 0
OpDecorate %y Binding 1
OpDecorate %pushed Block
OpMemberDecorate %pushed 0 Offset 0
%void = OpTypeVoid
%function = OpTypeFunction %void
%u32 = OpTypeInt 32 0
%f32 = OpTypeFloat 32
%v3 = OpTypeVector %u32 3
%input = OpTypePointer Input %v3
%id = OpVariable %input Input
%zero = OpConstant %u32 0
%array = OpTypeRuntimeArray %f32
%block = OpTypeStruct %array
%pushed = OpTypeStruct %f32
%to_block = OpTypePointer StorageBuffer %block
%to_f32 = OpTypePointer StorageBuffer %f32
%to_pushed = OpTypePointer PushConstant %pushed
%to_factor = OpTypePointer PushConstant %f32
%x = OpVariable %to_block StorageBuffer
%y = OpVariable %to_block StorageBuffer
%push = OpVariable %to_pushed PushConstant
%main = OpFunction %void None %function
%entry = OpLabel
%ids = OpLoad %v3 %id
%i = OpCompositeExtract %u32 %ids 0
%from = OpAccessChain %to_f32 %x %zero %i
%to = OpAccessChain %to_f32 %y %zero %i
%at = OpAccessChain %to_factor %push %zero
%factor = OpLoad %f32 %at
%value = OpLoad %f32 %from
%product = OpFMul %f32 %value %factor
%old = OpLoad %f32 %to
%sum = OpFAdd %f32 %old %product
OpStore %to %sum
OpReturn
OpFunctionEnd
"""


@pytest.fixture
def spirv() -> bytes:
    """y += factor * x."""
    return lp.spirv.assemble(SCALE, target_env="spv1.3")


def descriptor_set(renderer: Renderer, layout: Any, buffers: list[Any]) -> Any:
    """Allocates and writes a set with the ``vulkan`` package; destroyed with the renderer."""
    vk = pytest.importorskip("vulkan")
    size = vk.VkDescriptorPoolSize(type=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, descriptorCount=len(buffers))
    info = vk.VkDescriptorPoolCreateInfo(maxSets=1, poolSizeCount=1, pPoolSizes=[size])
    pool = vk.vkCreateDescriptorPool(renderer.device, info, None)
    renderer.destroy_later(vk.vkDestroyDescriptorPool, pool)
    if isinstance(layout, int):
        layout = vk.ffi.cast("VkDescriptorSetLayout", layout)
    allocate = vk.VkDescriptorSetAllocateInfo(descriptorPool=pool, descriptorSetCount=1, pSetLayouts=[layout])
    made = vk.vkAllocateDescriptorSets(renderer.device, allocate)[0]
    writes = [
        vk.VkWriteDescriptorSet(
            dstSet=made,
            dstBinding=binding,
            descriptorCount=1,
            descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            pBufferInfo=[vk.VkDescriptorBufferInfo(buffer=buffer, offset=0, range=(1 << 64) - 1)],
        )
        for binding, buffer in enumerate(buffers)
    ]
    vk.vkUpdateDescriptorSets(renderer.device, len(writes), writes, 0, None)
    return made


def own_layout(renderer: Renderer, count: int) -> Any:
    """Makes an identically defined layout with the ``vulkan`` package."""
    vk = pytest.importorskip("vulkan")
    rows = [
        vk.VkDescriptorSetLayoutBinding(
            binding=number,
            descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            descriptorCount=1,
            stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT,
        )
        for number in range(count)
    ]
    info = vk.VkDescriptorSetLayoutCreateInfo(bindingCount=count, pBindings=rows)
    made = vk.vkCreateDescriptorSetLayout(renderer.device, info, None)
    renderer.destroy_later(vk.vkDestroyDescriptorSetLayout, made)
    return made


def factor(value: float) -> bytes:
    return np.float32(value).tobytes()


@pytest.mark.behaviour("IOP-39", "IOP-40")
@pytest.mark.parametrize("is_own_layout", [False, True])
def test_arguments_set_before_the_kernel_is_made(
    renderer: Renderer, theirs: lp.Context, spirv: bytes, is_own_layout: bool
):
    x, y = np.arange(16, dtype=np.float32), np.ones(16, np.float32)
    raw_x, raw_y = renderer.buffer(x), renderer.buffer(y)
    native = (renderer.module(spirv), "scale", spirv)
    plain = vulkan.make_kernel(native, theirs)
    layout = own_layout(renderer, 2) if is_own_layout else vulkan.get_descriptor_set_layout(plain)
    made = descriptor_set(renderer, layout, [raw_x, raw_y])
    kernel = vulkan.make_kernel(native, theirs, descriptor_set=made, push_constants=factor(3))
    assert kernel.parameter_names == () and kernel != plain
    queue = lp.Queue(context=theirs)
    for _ in range(5):  # one after the other, though nothing says that they share memory
        queue.parallel_for(16, kernel)
    queue.submit(lambda h: h.parallel_for(lp.NdRange(16, 4), kernel))
    queue.wait()
    np.testing.assert_array_equal(renderer.read(raw_y, y), 1 + 18 * x)  # exact: small integers


@pytest.mark.behaviour("IOP-39")
def test_arguments_set_at_the_launch(renderer: Renderer, theirs: lp.Context, spirv: bytes):
    x, y = np.arange(16, dtype=np.float32), np.ones(16, np.float32)
    kernel = vulkan.make_kernel((renderer.module(spirv), "scale", spirv), theirs)
    raw = renderer.buffer(y)
    arrays = (
        lp.asarray(x, device=theirs.devices[0]),
        vulkan.make_buffer(raw, theirs, dtype=lp.f32, size=16),
    )

    def group(h: lp.Handler):
        h.set_args(*arrays, 2.0)
        h.parallel_for(16, kernel)

    queue = lp.Queue(context=theirs)
    queue.submit(group).wait()
    np.testing.assert_array_equal(renderer.read(raw, y), 1 + 2 * x)
    for wrong in (arrays, (), (arrays[0], 2.0, arrays[1])):
        with pytest.raises(lp.KernelArgumentError) as caught:
            queue.parallel_for(16, kernel, *wrong)
        assert caught.value.errc is lp.Errc.KERNEL_ARGUMENT


@pytest.mark.behaviour("IOP-39")
def test_both_ways_in_turn(renderer: Renderer, theirs: lp.Context, spirv: bytes):
    """A kernel with a set of its own between launches that lapilli orders."""
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    raw_x, raw_y = renderer.buffer(x), renderer.buffer(y)
    native = (renderer.module(spirv), "scale", spirv)
    plain = vulkan.make_kernel(native, theirs)
    made = descriptor_set(renderer, vulkan.get_descriptor_set_layout(plain), [raw_x, raw_y])
    preset = vulkan.make_kernel(native, theirs, descriptor_set=made, push_constants=factor(10))
    shared = vulkan.make_buffer(raw_y, theirs, dtype=lp.f32, size=64)
    other, queue = lp.ones(64, device=theirs.devices[0]), lp.Queue(context=theirs)
    for _ in range(3):
        queue.parallel_for(64, plain, other, shared, 1.0)
        event = queue.parallel_for(64, preset)
    event.wait()
    np.testing.assert_array_equal(renderer.read(raw_y, y), np.full(64, 33))


def test_a_finaliser_in_the_middle(renderer: Renderer, theirs: lp.Context, spirv: bytes, monkeypatch):
    """What it wants to submit would be half of the launch."""
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    raw_x, raw_y = renderer.buffer(x), renderer.buffer(y)
    native = (renderer.module(spirv), "scale", spirv)
    layout = vulkan.get_descriptor_set_layout(vulkan.make_kernel(native, theirs))
    made = descriptor_set(renderer, layout, [raw_x, raw_y])
    preset = vulkan.make_kernel(native, theirs, descriptor_set=made, push_constants=factor(10))
    queue = lp.Queue(context=theirs)
    with monkeypatch.context() as patch:
        refusals = Refusals(patch, queue.device.logical.vk, "vkCmdBindPipeline", queue.wait)
        queue.parallel_for(64, preset)
    queue.wait()
    assert refusals.found == [lp.InvalidError]
    np.testing.assert_array_equal(renderer.read(raw_y, y), np.full(64, 10))


@pytest.mark.behaviour("IOP-39")
def test_in_a_graph_between_launches_and_copies(renderer: Renderer, theirs: lp.Context, spirv: bytes):
    """It runs when all before has run, and before all behind it: nobody knows what its set shows."""
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    raw_x, raw_y = renderer.buffer(x), renderer.buffer(y)
    native = (renderer.module(spirv), "scale", spirv)
    plain = vulkan.make_kernel(native, theirs)
    made = descriptor_set(renderer, vulkan.get_descriptor_set_layout(plain), [raw_x, raw_y])
    preset = vulkan.make_kernel(native, theirs, descriptor_set=made, push_constants=factor(10))
    shared = vulkan.make_buffer(raw_y, theirs, dtype=lp.f32, size=64)
    device, queue = theirs.devices[0], lp.Queue(context=theirs)
    ones, seen = lp.ones(64, device=device), lp.zeros(64, device=device)
    with lp.graph() as g:
        for _ in range(3):
            first = queue.parallel_for(64, plain, ones, shared, 1.0)
            event = queue.parallel_for(64, preset)
        queue.submit(lambda h: (h.depends_on([first, event]), h.parallel_for(0, preset))[-1])
        queue.copy(shared, seen)
    for replays in (1, 2):
        g.replay(queue)
        np.testing.assert_array_equal(seen.numpy(), np.full(64, 33.0 * replays))
    queue.parallel_for(64, plain, ones, shared, 1.0).wait()
    np.testing.assert_array_equal(renderer.read(raw_y, y), np.full(64, 67))
    with pytest.raises(lp.InvalidError, match="what a launch returned"):
        g.update(event, x=ones)
    with lp.profile() as p:
        g.replay(queue).wait()
    assert sum(e.name == "scale" for e in p.events if e.kind == "kernel") == 6
    before = queue.marker()
    with pytest.raises(lp.InvalidError, match="events of the same graph"), lp.graph():
        queue.submit(lambda h: (h.depends_on(before), h.parallel_for(4, preset))[-1])
    g.release()


def test_arguments_that_such_kernels_do_not_take(renderer: Renderer, theirs: lp.Context, spirv: bytes):
    native = (renderer.module(spirv), "scale", spirv)
    buffers = [renderer.buffer(np.ones(4, np.float32)) for _ in range(2)]
    made = descriptor_set(renderer, own_layout(renderer, 2), buffers)
    kernel = vulkan.make_kernel(native, theirs, descriptor_set=made, push_constants=factor(1))
    queue = lp.Queue(context=theirs)
    for call in (
        lambda: queue.parallel_for(4, kernel, 1.0),
        lambda: queue.parallel_for(4, kernel, factor=1.0),
    ):
        with pytest.raises(lp.KernelArgumentError, match="takes no arguments"):
            call()
    with pytest.raises(lp.NdRangeError, match="multiple"):
        queue.parallel_for(3, kernel)
    with pytest.raises(lp.KernelArgumentError, match="4 bytes of push constants"):
        vulkan.make_kernel(native, theirs, descriptor_set=made)
    with pytest.raises(TypeError, match="belongs to descriptor_set"):
        vulkan.make_kernel(native, theirs, push_constants=factor(1))
    with pytest.raises(TypeError, match="VkDescriptorSet"):
        vulkan.make_kernel(native, theirs, descriptor_set="set", push_constants=factor(1))
    with pytest.raises(lp.InvalidError):
        vulkan.make_kernel(native, theirs, descriptor_set=0, push_constants=factor(1))
    with pytest.raises(TypeError, match=r"lp\.Kernel"):
        vulkan.get_descriptor_set_layout(queue)  # pyright: ignore[reportArgumentType]
