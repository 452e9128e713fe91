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


@pytest.mark.behaviour("DIM-02")
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
