"""Dimension 0 is the slowest for the user; Vulkan's x is the last one."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lapilli as lp


@lp.kernel
def ids(out: lp.Out[lp.i32, 3]):
    i, j, k = lp.global_id(0), lp.global_id(1), lp.global_id(2)
    out[i, j, k] = 100 * i + 10 * j + k


@lp.reqd_work_group_size(1, 2, 4)
@lp.kernel
def boxed(out: lp.Out[lp.i32, 3]):
    i, j, k = lp.global_id(0), lp.global_id(1), lp.global_id(2)
    out[i, j, k] = 100 * lp.local_range(0) + 10 * lp.local_range(1) + lp.local_range(2)


NATIVE = """
               OpCapability Shader
               OpMemoryModel Logical GLSL450
               OpEntryPoint GLCompute %main "main" %size %out
               OpExecutionMode %main LocalSize 1 1 1
               OpDecorate %size BuiltIn NumWorkgroups
               OpDecorate %array ArrayStride 4
               OpMemberDecorate %block 0 Offset 0
               OpDecorate %block Block
               OpDecorate %out DescriptorSet 0
               OpDecorate %out Binding 0
       %void = OpTypeVoid
         %fn = OpTypeFunction %void
       %uint = OpTypeInt 32 0
     %v3uint = OpTypeVector %uint 3
    %pv3uint = OpTypePointer Input %v3uint
      %array = OpTypeRuntimeArray %uint
      %block = OpTypeStruct %array
     %pblock = OpTypePointer StorageBuffer %block
      %puint = OpTypePointer StorageBuffer %uint
         %c0 = OpConstant %uint 0
         %c1 = OpConstant %uint 1
         %c2 = OpConstant %uint 2
       %size = OpVariable %pv3uint Input
        %out = OpVariable %pblock StorageBuffer
       %main = OpFunction %void None %fn
      %start = OpLabel
          %v = OpLoad %v3uint %size
          %x = OpCompositeExtract %uint %v 0
          %y = OpCompositeExtract %uint %v 1
          %z = OpCompositeExtract %uint %v 2
         %px = OpAccessChain %puint %out %c0 %c0
         %py = OpAccessChain %puint %out %c0 %c1
         %pz = OpAccessChain %puint %out %c0 %c2
               OpStore %px %x
               OpStore %py %y
               OpStore %pz %z
               OpReturn
               OpFunctionEnd
"""


@lp.kernel
def linear_ids(it: lp.NdItem[3], out: lp.Out[lp.i32x3, 3]):
    ids = lp.i32x3(it.get_global_linear_id(), it.get_local_linear_id(), it.get_group_linear_id())
    out[it.get_global_id(0), it.get_global_id(1), it.get_global_id(2)] = ids


@pytest.mark.behaviour("DIM-01")
def test_the_last_dimension_has_unit_stride(device: lp.Device):
    """The linear id of (i0, i1, i2) is (i0 * r1 + i1) * r2 + i2; so an array lies in memory."""
    shape, local, groups = (4, 3, 10), (2, 1, 5), (2, 3, 2)
    out = lp.zeros(shape, lp.i32x3, device=device)
    linear_ids[lp.NdRange(shape, local)](out)
    i, j, k = np.indices(shape)
    found = out.numpy()
    np.testing.assert_array_equal(found[..., 0], (i * 3 + j) * 10 + k)
    np.testing.assert_array_equal(found[..., 1], i % 2 * 5 + k % 5)
    np.testing.assert_array_equal(found[..., 2], (i // 2 * groups[1] + j) * groups[2] + k // 5)
    np.testing.assert_array_equal(found[..., 0].reshape(-1), np.arange(120))


@pytest.mark.native_only("compiles another language")
@pytest.mark.behaviour("DIM-02", "DIM-03")
@pytest.mark.parametrize(
    ("range_", "native"), [((2, 3, 4), [4, 3, 2]), ((2, 3), [3, 2, 1]), ((5,), [5, 1, 1])]
)
def test_a_launch_reverses_the_range(device: lp.Device, range_: tuple[int, ...], native: list[int]):
    context = device.default_context
    source = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.SPIRV_ASM, NATIVE)
    kernel = lp.build(source, [device]).ext_oneapi_get_kernel("main")
    out = lp.zeros(3, dtype=lp.u32, device=device)
    lp.Queue(device).parallel_for(range_, kernel, out).wait()
    assert out.numpy().tolist() == native


@pytest.mark.behaviour("DIM-04")
def test_kernels_see_the_order_of_the_range(device: lp.Device):
    out = lp.zeros((2, 3, 4), dtype=lp.i32, device=device)
    ids[(2, 3, 4)](out)
    i, j, k = np.indices((2, 3, 4))
    np.testing.assert_array_equal(out.numpy(), 100 * i + 10 * j + k)


@lp.kernel
def ids_2d(out: lp.Out[lp.i32, 2]):
    out[lp.global_id(0), lp.global_id(1)] = 10 * lp.global_id(0) + lp.global_id(1)


@lp.kernel
def ids_1d(out: lp.Out[lp.i32]):
    out[lp.global_id(0)] = lp.global_id(0)


@pytest.mark.behaviour("DIM-04")
@pytest.mark.parametrize("kernel", [ids_2d, ids_1d], ids=["2d", "1d"])
def test_one_and_two_dimensions(device: lp.Device, kernel: lp.KernelFunction):
    shape = (3, 7) if kernel is ids_2d else (7,)
    out = lp.full(shape, -1, lp.i32, device=device)
    kernel[shape](out)
    expected = 10 * np.indices((3, 7))[0] + np.indices((3, 7))[1] if kernel is ids_2d else np.arange(7)
    np.testing.assert_array_equal(out.numpy(), expected)


@lp.kernel
def local_sizes(out: lp.Out[lp.i32, 3]):
    i, j, k = lp.global_id(0), lp.global_id(1), lp.global_id(2)
    out[i, j, k] = 100 * lp.local_range(0) + 10 * lp.local_range(1) + lp.local_range(2)


@pytest.mark.behaviour("DIM-05")
def test_the_local_size_of_a_launch(device: lp.Device):
    out = lp.zeros((2, 4, 6), dtype=lp.i32, device=device)
    local_sizes[lp.NdRange((2, 4, 6), (1, 2, 3))](out)
    assert (out.numpy() == 123).all()
    out = lp.zeros((2, 4, 6), dtype=lp.i32, device=device)
    lp.reqd_work_group_size(1, 2, 3)(local_sizes)[2, 4, 6](out)
    assert (out.numpy() == 123).all()


@pytest.mark.behaviour("DIM-05")
def test_local_sizes_are_reversed_likewise(device: lp.Device):
    out = lp.zeros((2, 4, 8), dtype=lp.i32, device=device)
    boxed[(2, 4, 8)](out)
    assert (out.numpy() == 124).all()
    assert re.search(r"OpExecutionMode \S+ LocalSize 4 2 1", boxed.inspect("spirv"))


@pytest.mark.behaviour("DIM-06")
def test_copies_keep_the_order(device: lp.Device):
    source = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    strided = np.ascontiguousarray(source.transpose(2, 1, 0)).transpose(2, 1, 0)  # Fortran order
    a = lp.asarray(strided, device=device)
    b = lp.zeros((2, 3, 4), dtype=lp.i32, device=device)
    lp.Queue(device).copy(a, b).wait()
    np.testing.assert_array_equal(b.numpy(), source)
    out = np.zeros((4, 3, 2), np.int32).transpose(2, 1, 0)
    b.copy_to(out)
    np.testing.assert_array_equal(out, source)


@pytest.mark.behaviour("DIM-06")
def test_copies_of_a_rectangle_of_host_memory(device: lp.Device):
    picture = np.arange(60, dtype=np.int32).reshape(5, 12)
    a = lp.zeros((2, 3), dtype=lp.i32, device=device)
    queue = lp.Queue(device)
    queue.copy(picture[1:3, 4:7], a).wait()
    np.testing.assert_array_equal(a.numpy(), [[16, 17, 18], [28, 29, 30]])
    out = np.zeros((5, 12), np.int32)
    queue.copy(a, out[2:4, 9:12]).wait()
    expected = np.zeros((5, 12), np.int32)
    expected[2:4, 9:12] = picture[1:3, 4:7]
    np.testing.assert_array_equal(out, expected)


TEXELS = """#version 450
layout(local_size_x = 1) in;
layout(binding = 0, r32ui) uniform readonly uimage3D img;
layout(binding = 1) buffer Out { uint found[]; };
void main() {
    uvec3 g = gl_GlobalInvocationID, n = gl_NumWorkGroups;
    found[(g.z * n.y + g.y) * n.x + g.x] = imageLoad(img, ivec3(g)).x + 1000 * imageSize(img).x;
}
"""


@pytest.mark.native_only
@pytest.mark.behaviour("DIM-06", "DIM-03")
def test_the_last_dimension_of_an_image_is_its_width(device: lp.Device):
    """A copy of (2, 3, 5) texels has the native extent 5, 3, 2."""
    if not device.ext_oneapi_can_compile(lp.SourceLanguage.GLSL):
        pytest.skip("glslang is not installed")
    source = lp.create_kernel_bundle_from_source(device.default_context, lp.SourceLanguage.GLSL, TEXELS)
    kernel = lp.build(source, [device]).ext_oneapi_get_kernel("main")
    texels = np.arange(30, dtype=np.uint32).reshape(2, 3, 5)
    img = lp.UnsampledImage(texels, format="r32_uint", device=device)
    out = lp.zeros((2, 3, 5), dtype=lp.u32, device=device)
    lp.Queue(device).parallel_for((2, 3, 5), kernel, img, out)
    np.testing.assert_array_equal(out.numpy(), texels + 5000)
    np.testing.assert_array_equal(img.numpy(), texels)
