"""What phis behind loops choose of what other loops have computed, for work-items that wait meanwhile."""

from __future__ import annotations

import pytest

import lapilli as lp

pytestmark = [pytest.mark.device, pytest.mark.native_only("foreign kernels are not interpreted")]

HEADER = """OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %gid
OpExecutionMode %main LocalSize 8 1 1
OpDecorate %gid BuiltIn GlobalInvocationId
OpDecorate %words ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block BufferBlock
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
%void = OpTypeVoid
%bool = OpTypeBool
%u = OpTypeInt 32 0
%v3 = OpTypeVector %u 3
%words = OpTypeRuntimeArray %u
%block = OpTypeStruct %words
%pblock = OpTypePointer Uniform %block
%element = OpTypePointer Uniform %u
%pin3 = OpTypePointer Input %v3
%procedure = OpTypeFunction %void
%buffer = OpVariable %pblock Uniform
%gid = OpVariable %pin3 Input
%c0 = OpConstant %u 0
%c1 = OpConstant %u 1
%c2 = OpConstant %u 2
%c3 = OpConstant %u 3
%c5 = OpConstant %u 5
%false = OpConstantFalse %bool
%c4 = OpConstant %u 4
%array = OpTypeArray %u %c4
%mine = OpTypePointer Private %u
%mines = OpTypePointer Private %array
%numbers = OpConstantComposite %array %c0 %c1 %c2 %c3
%table = OpVariable %mines Private %numbers
%kept = OpVariable %mine Private %c0
%two = OpTypeVector %u 2
%zeros = OpConstantComposite %two %c0 %c0
%ones = OpConstantComposite %two %c1 %c1
%threes = OpConstantComposite %two %c3 %c3
%main = OpFunction %void None %procedure
%begin = OpLabel
%id = OpLoad %v3 %gid
%i = OpCompositeExtract %u %id 0
%p = OpAccessChain %element %buffer %c0 %i
"""
CHOSEN_BEHIND_ANOTHER_LOOP = """OpBranch %outer
%outer = OpLabel
OpLoopMerge %behind %last None
OpBranch %inner
%inner = OpLabel
%k = OpPhi %u %c0 %outer %next %more
OpLoopMerge %out %more None
OpBranch %test
%test = OpLabel
%again = OpULessThan %bool %k %i
OpBranchConditional %again %more %out
%more = OpLabel
%next = OpIAdd %u %k %c1
OpBranch %inner
%out = OpLabel
OpBranch %last
%last = OpLabel
OpBranchConditional %false %outer %behind
%behind = OpLabel
%rounds = OpBitwiseAnd %u %i %c3
OpBranch %other
%other = OpLabel
%n = OpPhi %u %c0 %behind %count %other
%count = OpIAdd %u %n %c1
%goes_on = OpULessThan %bool %count %rounds
OpLoopMerge %end %other None
OpBranchConditional %goes_on %other %end
%end = OpLabel
%chosen = OpPhi %u %k %other
OpStore %p %chosen
OpReturn
OpFunctionEnd
"""
"""The phi at the end is behind a loop that has nothing to do with %k, but is where %k is loaded from memory."""

FIRST_OF_THE_NEXT_LOOP = """%rounds = OpBitwiseAnd %u %i %c2
OpBranch %first
%first = OpLabel
%k = OpPhi %u %c0 %begin %next %more
OpLoopMerge %second %more None
OpBranch %test
%test = OpLabel
%v = OpIMul %u %k %i
%again = OpULessThan %bool %k %i
OpBranchConditional %again %more %second
%more = OpLabel
%next = OpIAdd %u %k %c1
OpBranch %first
%second = OpLabel
%x = OpPhi %u %v %test %sum %same
%n = OpPhi %u %c0 %test %count %same
OpLoopMerge %end %same None
OpBranch %same
%same = OpLabel
%sum = OpIAdd %u %x %c5
%count = OpIAdd %u %n %c1
%goes_on = OpULessThan %bool %count %rounds
OpBranchConditional %goes_on %second %end
%end = OpLabel
OpStore %p %x
OpReturn
OpFunctionEnd
"""
"""%x is chosen behind a loop, is of the next one's header, and has another choice where that loop is left."""

COMPUTED_TWICE = """%masked = OpBitwiseAnd %u %i %c3
OpBranch %first
%first = OpLabel
%k = OpPhi %u %c0 %begin %next %merge
OpLoopMerge %end %more None
OpBranch %inner
%inner = OpLabel
%n = OpPhi %u %c0 %first %c5 %again
%goes_on = OpULessThan %bool %n %c3
OpLoopMerge %out %again None
OpBranchConditional %goes_on %again %out
%again = OpLabel
OpBranch %inner
%out = OpLabel
OpBranch %more
%more = OpLabel
%low = OpBitwiseAnd %u %k %c3
OpSelectionMerge %merge None
OpSwitch %low %merge 1 %one 0 %none
%one = OpLabel
OpBranch %merge
%none = OpLabel
OpStore %kept %c5
OpBranch %merge
%merge = OpLabel
%next = OpIAdd %u %k %c1
%is_less = OpULessThan %bool %next %masked
%is_last = OpLogicalNot %bool %is_less
OpBranchConditional %is_last %end %first
%end = OpLabel
%same = OpBitwiseAnd %u %k %c3
%place = OpAccessChain %mine %table %same
%found = OpLoad %u %place
%five = OpLoad %u %kept
%sum = OpIAdd %u %found %five
OpStore %p %sum
OpReturn
OpFunctionEnd
"""
"""Drivers compute %same in the loop, where %k may be that of the next round by then."""

IN_OTHER_WORDS = {
    "a remainder": "%same = OpUMod %u %k %c4\n",
    "a copy": "%copy = OpCopyObject %u %k\n%same = OpBitwiseAnd %u %copy %c3\n",
    "a choice of one": "%only = OpPhi %u %k %merge\n%same = OpBitwiseAnd %u %only %c3\n",
}
"""What else is %same in `COMPUTED_TWICE`, for drivers too."""
COMPUTED_OF_VECTORS = (
    COMPUTED_TWICE.replace(
        "%k = OpPhi %u %c0 %begin %next %merge", "%k = OpPhi %two %zeros %begin %following %merge"
    )
    .replace(
        "%low = OpBitwiseAnd %u %k %c3",
        "%lows = OpBitwiseAnd %two %k %threes\n%low = OpCompositeExtract %u %lows 0",
    )
    .replace(
        "%next = OpIAdd %u %k %c1",
        "%following = OpIAdd %two %k %ones\n%next = OpCompositeExtract %u %following 0",
    )
    .replace(
        "%same = OpBitwiseAnd %u %k %c3",
        "%sames = OpBitwiseAnd %two %k %threes\n%same = OpCompositeExtract %u %sames 0",
    )
)
COUNTED = [5 + max((i & 3) - 1, 0) for i in range(8)]
"""What `COMPUTED_TWICE` gives."""


def _second_loop(i: int) -> int:
    return i * i + 5 * max((i & 2) - 1, 0)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (CHOSEN_BEHIND_ANOTHER_LOOP, list(range(8))),
        (COMPUTED_TWICE, COUNTED),
        (COMPUTED_OF_VECTORS, COUNTED),
        *(
            (COMPUTED_TWICE.replace("%same = OpBitwiseAnd %u %k %c3\n", same), COUNTED)
            for same in IN_OTHER_WORDS.values()
        ),
        (FIRST_OF_THE_NEXT_LOOP, [_second_loop(i) for i in range(8)]),
    ],
    ids=[
        "chosen behind another loop",
        "computed twice",
        "computed twice of vectors",
        *IN_OTHER_WORDS,
        "first of the next loop",
    ],
)
def test_choices_are_kept(device: lp.Device, body: str, expected: list[int]) -> None:
    context = lp.Context([device])
    source = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.SPIRV_ASM, HEADER + body)
    x = lp.zeros(8, lp.u32, device=device)
    lp.Queue(device, context=context).parallel_for(
        8, lp.build(source).ext_oneapi_get_kernel("main"), x
    ).wait()
    assert x.numpy().tolist() == expected
