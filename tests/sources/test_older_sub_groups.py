"""Operations of sub-groups as extensions had them before Vulkan 1.1."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.target_env import TargetEnv
from lapilli.spirv.binary import parse, serialise
from lapilli.spirv.core_sub_groups import with_core_sub_groups
from lapilli.spirv.deserialise import deserialise
from lapilli.spirv.emit import emit
from lapilli.spirv.tools import spirv_tools

pytestmark = [
    pytest.mark.device,
    pytest.mark.native_only("foreign kernels are not interpreted"),
    pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed"),
]

SHADER = """#version 450
#extension GL_ARB_shader_group_vote : require
layout(local_size_x = 8) in;
layout(binding = 0) buffer X { uint x[]; };
layout(binding = 1) buffer O { uint o[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    bool odd = (x[i] & 1u) != 0u;
    o[i] = uint(anyInvocationARB(odd)) + 2u * uint(allInvocationsARB(odd)) + 4u * uint(allInvocationsEqualARB(odd));
}
"""
BALLOTS = """
OpCapability Shader
OpCapability SubgroupBallotKHR
OpExtension "SPV_KHR_shader_ballot"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %id %lane
OpExecutionMode %main LocalSize 4 1 1
OpDecorate %id BuiltIn GlobalInvocationId
OpDecorate %lane BuiltIn SubgroupLocalInvocationId
OpDecorate %words ArrayStride 16
OpMemberDecorate %block 0 Offset 0
OpDecorate %block BufferBlock
OpDecorate %data DescriptorSet 0
OpDecorate %data Binding 0
%void = OpTypeVoid
%plain = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%uint3 = OpTypeVector %uint 3
%uint4 = OpTypeVector %uint 4
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%words = OpTypeRuntimeArray %uint4
%block = OpTypeStruct %words
%to_block = OpTypePointer Uniform %block
%to_row = OpTypePointer Uniform %uint4
%in3 = OpTypePointer Input %uint3
%in1 = OpTypePointer Input %uint
%data = OpVariable %to_block Uniform
%id = OpVariable %in3 Input
%lane = OpVariable %in1 Input
%main = OpFunction %void None %plain
%begin = OpLabel
%ids = OpLoad %uint3 %id
%i = OpCompositeExtract %uint %ids 0
%l = OpLoad %uint %lane
%bit = OpBitwiseAnd %uint %i %u1
%odd = OpIEqual %bool %bit %u1
%ballot = OpSubgroupBallotKHR %uint4 %odd
%mask = OpCompositeExtract %uint %ballot 0
%first = OpSubgroupFirstInvocationKHR %uint %i
%second = OpSubgroupReadInvocationKHR %uint %i %u1
%row = OpCompositeConstruct %uint4 %mask %first %second %l
%place = OpAccessChain %to_row %data %u0 %i
OpStore %place %row
OpReturn
OpFunctionEnd
"""


def _kernel(device: lp.Device, binary: bytes) -> tuple[lp.Queue, lp.Kernel]:
    context = lp.Context([device])
    bundle = lp.build(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.SPIRV, binary))
    return lp.Queue(device, context=context), bundle.ext_oneapi_get_kernel("main")


@pytest.mark.parametrize("target", ["vulkan1.0", "vulkan1.2"])
def test_votes(device: lp.Device, tmp_path: Path, target: str) -> None:
    if not device.has(lp.Aspect.VK_SUBGROUP_VOTE):
        pytest.skip("the device lacks votes")
    source, made = tmp_path / "vote.comp", tmp_path / "vote.spv"
    source.write_text(SHADER)
    command = ["glslangValidator", "-V", "--target-env", target, str(source), "-o", str(made)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    x = np.array([1] * 8 + [2] * 8 + [1, 2] * 4, np.uint32)
    for binary in (made.read_bytes(), emit(deserialise(made.read_bytes()), TargetEnv()).binary):
        queue, kernel = _kernel(device, binary)
        out = lp.zeros(24, lp.u32, device=device)
        queue.parallel_for(24, kernel, lp.asarray(x, device=device), out).wait()
        assert out.numpy().tolist() == [7] * 8 + [4] * 8 + [1] * 8


def test_ballots(device: lp.Device) -> None:
    if not device.has(lp.Aspect.VK_SUBGROUP_BALLOT):
        pytest.skip("the device lacks ballots")
    queue, kernel = _kernel(device, spirv_tools().assemble(BALLOTS, "spv1.0"))
    out = lp.zeros((4, 4), lp.u32, device=device)
    queue.parallel_for(4, kernel, out).wait()
    found = out.numpy()
    np.testing.assert_array_equal(found[:, 0], 0b1010)
    np.testing.assert_array_equal(found[:, 1:], [[0, 1, lane] for lane in range(4)])


def test_a_place_that_is_computed_is_shuffled() -> None:
    module = parse(spirv_tools().assemble(BALLOTS.replace("%i %u1\n%row", "%i %bit\n%row"), "spv1.0"))
    changed = with_core_sub_groups(module)
    text = spirv_tools().disassemble(serialise(changed))
    assert "OpGroupNonUniformShuffle " in text
    assert "KHR" not in text
    assert spirv_tools().validate(serialise(changed), "vulkan1.3") is None
    assert with_core_sub_groups(changed) is changed
