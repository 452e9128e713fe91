"""Work-items that return from a construct whose merge block is the header of a loop are gone, on every driver."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.spirv.binary import parse, serialise
from lapilli.spirv.own_headers import headers_owned
from lapilli.spirv.tools import spirv_tools

HEAD = """OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %gid
OpExecutionMode %main LocalSize 8 1 1
OpDecorate %gid BuiltIn GlobalInvocationId
OpDecorate %words ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
%void = OpTypeVoid
%bool = OpTypeBool
%u = OpTypeInt 32 0
%v3 = OpTypeVector %u 3
%words = OpTypeRuntimeArray %u
%block = OpTypeStruct %words
%p_block = OpTypePointer StorageBuffer %block
%p_word = OpTypePointer StorageBuffer %u
%p_gid = OpTypePointer Input %v3
%procedure = OpTypeFunction %void
%c0 = OpConstant %u 0
%c1 = OpConstant %u 1
%c2 = OpConstant %u 2
%c3 = OpConstant %u 3
%c9 = OpConstant %u 9
%buffer = OpVariable %p_block StorageBuffer
%gid = OpVariable %p_gid Input
%main = OpFunction %void None %procedure
%entry = OpLabel
%g = OpLoad %v3 %gid
%x = OpCompositeExtract %u %g 0
%place = OpAccessChain %p_word %buffer %c0 %x
%odd = OpBitwiseAnd %u %x %c1
%leaves = OpIEqual %bool %odd %c1
"""
LOOP = """OpBranch %first
%first = OpLabel
%i = OpPhi %u %c0 %entry %next_i %more
%test = OpULessThan %bool %i %c2
OpLoopMerge %second %more None
OpBranchConditional %test %body %second
%body = OpLabel
OpSelectionMerge %rest None
OpBranchConditional %leaves %gone %rest
%gone = OpLabel
OpReturn
%rest = OpLabel
OpBranch %more
%more = OpLabel
%next_i = OpIAdd %u %i %c1
OpBranch %first
"""
"""Odd work-items return in it."""
SWITCH = """OpSelectionMerge %second None
OpSwitch %odd %gone 0 %first 2 %other
%first = OpLabel
OpBranch %second
%other = OpLabel
OpBranch %second
%gone = OpLabel
OpReturn
"""
SECOND = """%second = OpLabel
%k = OpPhi %u %c0 %first {other} %next_k %again
%total = OpPhi %u %x %first {other} %next %again
%on = OpULessThan %bool %k %c3
OpLoopMerge %end %again None
OpBranchConditional %on %inner %end
%inner = OpLabel
%is_two = OpIEqual %bool %total %c2
OpSelectionMerge %stays None
OpBranchConditional %is_two %gone_too %stays
%gone_too = OpLabel
OpReturn
%stays = OpLabel
OpBranch %again
%again = OpLabel
%next_k = OpIAdd %u %k %c1
%next = OpIAdd %u %total %c9
OpBranch %second
%end = OpLabel
OpStore %place %total
OpReturn
OpFunctionEnd
"""
SINGLE = """%second = OpLabel
%k = OpPhi %u %c0 %first {other} %next_k %second
%total = OpPhi %u %x %first {other} %next %second
%next_k = OpIAdd %u %k %c1
%next = OpIAdd %u %total %c9
%on = OpULessThan %bool %next_k %c3
OpLoopMerge %end %second None
OpBranchConditional %on %second %end
%end = OpLabel
OpStore %place %next
OpReturn
OpFunctionEnd
"""
"""A loop of one block."""
OWN = SECOND.replace("%second", "%header").replace("{other}", "").replace("%first", "%second")
TEXTS = {
    "loop": HEAD + LOOP + SECOND.format(other=""),
    "switch": HEAD + SWITCH + SECOND.format(other="%c0 %other"),
    "one block": HEAD + LOOP + SINGLE.format(other=""),
    "switch, one block": HEAD + SWITCH + SINGLE.format(other="%c0 %other"),
}


@pytest.mark.device
@pytest.mark.native_only("foreign kernels are not interpreted")
@pytest.mark.parametrize("name", TEXTS)
def test_work_items_that_return_are_gone(device: lp.Device, name: str) -> None:
    context = lp.Context([device])
    bundle = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.SPIRV_ASM, TEXTS[name])
    kernel = lp.build(bundle).ext_oneapi_get_kernel("main")
    found = lp.zeros(16, dtype=lp.u32, device=device)
    lp.Queue(device, context=context).parallel_for(lp.NdRange(16, 8), kernel, found).wait()
    expected = np.arange(16) + 27
    expected[1::2] = 0
    if "one block" not in name:
        expected[2] = 0
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("name", TEXTS)
def test_no_header_is_a_merge_block(name: str) -> None:
    changed = headers_owned(parse(spirv_tools().assemble(TEXTS[name], "spv1.3")))
    assert spirv_tools().validate(serialise(changed), "vulkan1.1") is None
    assert headers_owned(changed) is changed


def test_modules_whose_loops_have_headers_of_their_own_stay() -> None:
    module = parse(
        spirv_tools().assemble(HEAD + LOOP + "%second = OpLabel\nOpBranch %header\n" + OWN, "spv1.3")
    )
    assert headers_owned(module) is module
