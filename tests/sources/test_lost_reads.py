"""What loops of other compilers' modules have read is there behind them, for each work-item that has left them."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import lapilli as lp
from lapilli.spirv.binary import parse
from lapilli.spirv.carry_reads import reads_carried

pytestmark = [pytest.mark.device, pytest.mark.native_only("foreign kernels are not interpreted")]

NUMBERS = np.int32([1, 2, 9, 1, 1, 1, 8, 7])
FIRST_ABOVE_5 = [9, 9, 9, 8, 8, 8, 8, 7]
BODIES = {
    "do": "do { v = a[n]; n++; } while (v <= 5);",
    "break": "for (;;) { v = a[n]; n++; if (v > 5) break; }",
    "assigned test": "while ((v = a[n]) <= 5) n++;",
    "carried": "while (v <= 5) { v = a[n]; n++; }",
    "set before break": "for (;;) { int w = a[n]; n++; if (w > 5) { v = w; break; } }",
    "struct": "Pair s; for (;;) { s.p = a[n]; s.q = s.p * 2; n++; if (s.p > 5) break; } v = s.q / 2;",
    "array": "int t[2]; for (;;) { t[1] = a[n]; n++; if (t[1] > 5) break; } v = t[1];",
    "vector": "ivec2 t; for (;;) { t = ivec2(a[n], n); n++; if (t.x > 5) break; } v = t.x + 0 * t.y;",
    "nested": "for (int r = 0; r < 2; r++) { for (;;) { v = a[n]; n++; if (v > 5) break; } n = i; }",
    "called": "v = look(n);",
    "atomic": "for (;;) { v = atomicAdd(a[n], 0); n++; if (v > 5) break; }",
    "computed": "int w; for (;;) { int u = a[n] * 3; w = u + 1; n++; if (u > 15) break; } v = (w - 1) / 3;",
}
GLSL = """#version 450
layout(local_size_x = 8) in;
layout(binding = 0) buffer A {{ int a[]; }};
layout(binding = 1) buffer O {{ int o[]; }};
struct Pair {{ int p; int q; }};
int look(uint n) {{ int w; for (;;) {{ w = a[n]; n++; if (w > 5) break; }} return w; }}
void main() {{ uint i = gl_GlobalInvocationID.x, n; int v;
{cases}
}}
"""
PHIS = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %id
OpExecutionMode %main LocalSize 8 1 1
OpDecorate %id BuiltIn GlobalInvocationId
OpDecorate %ints ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %a DescriptorSet 0
OpDecorate %a Binding 0
OpDecorate %o DescriptorSet 0
OpDecorate %o Binding 1
%void = OpTypeVoid
%function = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%ids = OpTypeVector %uint 3
%input = OpTypePointer Input %ids
%id = OpVariable %input Input
%ints = OpTypeRuntimeArray %uint
%block = OpTypeStruct %ints
%buffer = OpTypePointer StorageBuffer %block
%element = OpTypePointer StorageBuffer %uint
%a = OpVariable %buffer StorageBuffer
%o = OpVariable %buffer StorageBuffer
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%five = OpConstant %uint 5
%main = OpFunction %void None %function
%begin = OpLabel
%three = OpLoad %ids %id
%i = OpCompositeExtract %uint %three 0
OpBranch %loop
%loop = OpLabel
%n = OpPhi %uint %i %begin %next %loop
%from = OpAccessChain %element %a %zero %n
%v = OpLoad %uint %from
%next = OpIAdd %uint %n %one
%again = OpULessThanEqual %bool %v %five
OpLoopMerge %end %loop None
OpBranchConditional %again %loop %end
%end = OpLabel
%is_nine = OpUGreaterThan %bool %i %five
OpSelectionMerge %last None
OpBranchConditional %is_nine %other %last
%other = OpLabel
OpBranch %last
%last = OpLabel
%chosen = OpPhi %uint %v %end %v %other
%to = OpAccessChain %element %o %zero %i
OpStore %to {value}
OpReturn
OpFunctionEnd
"""
ROUND = PHIS[PHIS.index("%from =") : PHIS.index("%end = OpLabel")]
BRANCH = """OpSelectionMerge %join None
OpBranchConditional %true %then %join
%then = OpLabel
%from = OpAccessChain %element %a %zero %n
%v = OpLoad %uint %from
OpBranch %join
%join = OpLabel
%w = OpPhi %uint %v %then %zero %body
"""
INNER = """OpBranch %inner
%inner = OpLabel
%k = OpPhi %uint %zero %body %following %inside
%w = OpPhi %uint %zero %body %v %inside
%goes_on = OpULessThan %bool %k %five
OpLoopMerge %join %inside None
OpBranchConditional %goes_on %inside %join
%inside = OpLabel
%from = OpAccessChain %element %a %zero %n
%v = OpLoad %uint %from
%following = OpIAdd %uint %k %one
OpBranch %inner
%join = OpLabel
"""


def around(body: str) -> str:
    """Returns PHIS with a body of the loop that chooses %w and ends in %join, where drivers fold the choice."""
    before = "OpLoopMerge %end %more None\nOpBranch %body\n%body = OpLabel\n"
    behind = """%next = OpIAdd %uint %n %one
%again = OpULessThanEqual %bool %w %five
OpBranch %more
%more = OpLabel
OpBranchConditional %again %loop %end
"""
    text = PHIS.replace(ROUND, before + body + behind).replace("%next %loop", "%next %more")
    text = text.replace("%v %end %v %other", "%w %end %w %other")
    return text.replace("%main = OpFunction", "%true = OpConstantTrue %bool\n%main = OpFunction")


def run(device: lp.Device, language: lp.SourceLanguage, text: str, size: int) -> list[int]:
    context = lp.Context([device])
    bundle = lp.build(lp.create_kernel_bundle_from_source(context, language, text))
    a, o = lp.asarray(NUMBERS, device=device), lp.zeros(size, lp.i32, device=device)
    queue = lp.Queue(context=context, device=device)
    queue.parallel_for(8, bundle.ext_oneapi_get_kernel("main"), a, o).wait()
    return o.numpy().tolist()


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed")
def test_what_loops_in_glsl_have_read(device: lp.Device) -> None:
    cases = "\n".join(
        f"{{ n = i; v = 0; {body} o[{8 * k} + i] = v; }}" for k, body in enumerate(BODIES.values())
    )
    found = run(device, lp.SourceLanguage.GLSL, GLSL.format(cases=cases), 8 * len(BODIES))
    assert dict(zip(BODIES, np.reshape(found, (-1, 8)).tolist(), strict=True)) == dict.fromkeys(
        BODIES, FIRST_ABOVE_5
    )


@pytest.mark.parametrize("value", ["%v", "%chosen"])
def test_what_loops_with_phis_have_read(device: lp.Device, value: str) -> None:
    assert run(device, lp.SourceLanguage.SPIRV_ASM, PHIS.format(value=value), 8) == FIRST_ABOVE_5


@pytest.mark.parametrize("value", ["%w", "%chosen"])
@pytest.mark.parametrize("body", [BRANCH, INNER], ids=["branch", "inner loop"])
def test_what_phis_in_loops_choose(device: lp.Device, body: str, value: str) -> None:
    assert run(device, lp.SourceLanguage.SPIRV_ASM, around(body).format(value=value), 8) == FIRST_ABOVE_5


def test_what_is_carried_stays_as_it_is() -> None:
    counted = PHIS.replace("OpStore %to {value}", "OpStore %to %n")
    module = parse(lp.spirv.assemble(counted.replace("%chosen = OpPhi %uint %v %end %v %other\n", "")))
    assert reads_carried(module) is module
    assert reads_carried(parse(lp.spirv.assemble(PHIS.format(value="%v")))) is not module
