"""Modules of SPIR-V with loops that have no end, or none that comes: `HEADER` and one of `LOOPS`."""

from __future__ import annotations

HEADER = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 8 1 1
OpName %t "t"
OpDecorate %words ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block BufferBlock
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
%void = OpTypeVoid
%procedure = OpTypeFunction %void
%bool = OpTypeBool
%int = OpTypeInt 32 1
%words = OpTypeRuntimeArray %int
%block = OpTypeStruct %words
%pointer = OpTypePointer Uniform %block
%element = OpTypePointer Uniform %int
%buffer = OpVariable %pointer Uniform
%zero = OpConstant %int 0
%one = OpConstant %int 1
%two = OpConstant %int 2
%main = OpFunction %void None %procedure
%entry = OpLabel
%result = OpAccessChain %element %buffer %zero %zero
%flag = OpAccessChain %element %buffer %zero %one
OpBranch %header
"""
LOOPS = {
    "one block": """%header = OpLabel
%i = OpPhi %int %zero %entry %t %header
%t = OpIAdd %int %i %one
OpStore %result %t
OpLoopMerge %merge %header None
OpBranch %header
%merge = OpLabel
OpReturn
""",
    "a value of the way out is used behind it": """%header = OpLabel
%i = OpPhi %int %zero %entry %next %continue
OpLoopMerge %merge %continue None
OpBranch %body
%body = OpLabel
%next = OpIAdd %int %i %one
OpSelectionMerge %again None
OpSwitch %i %again 70000 %out 80000 %other
%out = OpLabel
%t = OpLoad %int %flag
%test = OpSGreaterThanEqual %bool %next %zero
OpBranchConditional %test %merge %again
%other = OpLabel
OpBranch %again
%again = OpLabel
OpBranch %continue
%continue = OpLabel
OpBranch %header
%merge = OpLabel
%p = OpPhi %int %t %out
%q = OpIAdd %int %p %t
OpStore %result %q
OpReturn
""",
    "code that nothing reaches": """%header = OpLabel
OpLoopMerge %merge %continue None
OpBranch %body
%body = OpLabel
%i = OpLoad %int %result
%next = OpIAdd %int %i %one
OpStore %result %next
OpSelectionMerge %nowhere None
OpSwitch %i %here 1 %there
%here = OpLabel
OpBranch %continue
%there = OpLabel
OpBranch %continue
%nowhere = OpLabel
OpBranch %merge
%continue = OpLabel
OpBranch %header
%merge = OpLabel
%t = OpPhi %int %next %nowhere
OpSelectionMerge %end None
OpSwitch %t %end 1 %first
%first = OpLabel
OpStore %result %t
OpBranch %end
%end = OpLabel
%p = OpPhi %int %t %merge %two %first
OpStore %result %p
OpReturn
""",
}
