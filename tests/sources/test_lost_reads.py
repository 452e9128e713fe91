"""What loops of other compilers' modules have computed is there behind them, for each work-item that has left them."""

from __future__ import annotations

import shutil
from functools import reduce

import numpy as np
import pytest

import lapilli as lp
from lapilli.spirv import driver_remedies
from lapilli.spirv.binary import parse
from lapilli.spirv.carry_values import values_carried
from lapilli.vk_runtime.quirk_table import QUIRKS
from lapilli.vk_runtime.quirks import driver_version, has_quirk

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
    "returned": "v = found_from(n);",
    "returned out of two": "v = found_twice(n);",
    "returned struct": "v = pair_from(n).p;",
    "out parameter": "find(n, v);",
    "parameter passed on": "pass_on(n, v);",
    "parameter in a loop": "do { step_on(n, v); } while (v <= 5);",
    "element as a parameter": "int t[3]; do { step_on(n, t[2]); } while (t[2] <= 5); v = t[2];",
    "of the module": "do { kept = a[n]; n++; } while (kept <= 5); v = kept;",
    "of the module, called": "keep(n); v = kept;",
    "pointer": "int t[8], k; for (k = 0; k < 8; k++) t[k] = a[k]; "
    "for (;;) { k = int(n); n++; if (t[k] > 5) break; } v = t[k];",
    "of the next round": "int k = a[n], w; for (;;) { w = k ^ 1; n++; k = a[n & 7]; if (w > 5) break; } v = w ^ 1;",
    "computed": "int w; for (;;) { int u = a[n] * 3; w = u + 1; n++; if (u > 15) break; } v = (w - 1) / 3;",
}
GLSL = """#version 450
layout(local_size_x = 8) in;
layout(binding = 0) buffer A {{ int a[]; }};
layout(binding = 1) buffer O {{ int o[]; }};
struct Pair {{ int p; int q; }};
int kept;
int found_from(uint n) {{ for (;;) {{ int w = a[n]; n++; if (w > 5) return w; }} }}
int found_twice(uint n) {{
    for (int r = 0; r < 3; r++) {{ for (;;) {{ int w = a[n]; n++; if (w > 5) return w; }} }}
    return 0;
}}
Pair pair_from(uint n) {{ for (;;) {{ Pair s; s.p = a[n]; s.q = 1; n++; if (s.p > 5) return s; }} }}
void find(uint n, out int w) {{ for (;;) {{ w = a[n]; n++; if (w > 5) return; }} }}
void pass_on(uint n, inout int w) {{ find(n, w); }}
void step_on(inout uint n, inout int w) {{ w = a[n]; n++; }}
void keep(uint n) {{ for (;;) {{ kept = a[n]; n++; if (kept > 5) return; }} }}
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
DEAD_BREAK = """OpSelectionMerge %join None
OpBranchConditional %false %dead %join
%dead = OpLabel
OpBranch %end
%join = OpLabel
%from = OpAccessChain %element %a %zero %n
%w = OpLoad %uint %from
"""
TWO_BREAKS = """%from = OpAccessChain %element %a %zero %n
%w = OpLoad %uint %from
%nine = OpUGreaterThan %bool %w %eight
OpSelectionMerge %join None
OpBranchConditional %nine %other_end %join
%other_end = OpLabel
OpBranch %end
%join = OpLabel
"""


VECTOR_KERNEL = (
    PHIS[: PHIS.index("%main = OpFunction")]
    + """%pair = OpTypeVector %uint 2
%two = OpConstant %uint 2
{array}
%ones = OpConstantComposite %pair %one %one
%twos = OpConstantComposite %pair %two %two
%main = OpFunction %void None %function
%begin = OpLabel
%three = OpLoad %ids %id
%i = OpCompositeExtract %uint %three 0
%count_at = OpAccessChain %element %a %zero %i
%count = OpLoad %uint %count_at
%start = OpCompositeConstruct %pair %i %i
{before}
OpBranch %loop
%loop = OpLabel
%k = OpPhi %uint %zero %begin %next %more
%x = OpPhi {type} {start} %begin {updated} %more
%goes_on = OpULessThan %bool %k %count
OpLoopMerge %end %more None
OpBranchConditional %goes_on %more %end
%more = OpLabel
{taken}
%doubled = OpIMul %pair {old} %twos
%odd = OpIAdd %pair %doubled %ones
%new = OpBitwiseXor %pair {old} %odd
{made}
%next = OpIAdd %uint %k %one
OpBranch %loop
%end = OpLabel
{chosen}
%y = OpCompositeExtract %uint {value} {path}1
%to = OpAccessChain %element %o %zero %i
OpStore %to %y
OpReturn
OpFunctionEnd
"""
)
PLAIN = {
    "array": "", "before": "", "type": "%pair", "start": "%start", "updated": "%new",
    "taken": "", "old": "%x", "made": "", "chosen": "", "value": "%x", "path": "",
}  # fmt: skip
AFTER_ROUNDS = [reduce(lambda x, _: x ^ (2 * x + 1), range(n), i) for i, n in enumerate(NUMBERS.tolist())]
IN_PHIS = {
    "vector": {},
    "vector in a phi behind": {"chosen": "%c = OpPhi %pair %x %loop", "value": "%c"},
    "array of vectors": {
        "array": "%array = OpTypeArray %pair %two",
        "before": "%starts = OpCompositeConstruct %array %start %start",
        "type": "%array",
        "start": "%starts",
        "updated": "%news",
        "taken": "%old = OpCompositeExtract %pair %x 1",
        "old": "%old",
        "made": "%news = OpCompositeInsert %array %new %x 1",
        "path": "1 ",
    },
}


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
    constants = "%true = OpConstantTrue %bool\n%false = OpConstantFalse %bool\n%eight = OpConstant %uint 8\n"
    return text.replace("%main = OpFunction", f"{constants}%main = OpFunction")


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


@pytest.mark.parametrize(
    ("body", "origin", "value"),
    [(DEAD_BREAK, "%dead", "%zero"), (TWO_BREAKS, "%other_end", "%w")],
    ids=["dead break", "two breaks"],
)
def test_what_phis_behind_loops_choose(device: lp.Device, body: str, origin: str, value: str) -> None:
    """Drivers fold the choice: one way out does not count, or all ways give the same."""
    text = around(body).replace(
        "%end = OpLabel\n", f"%end = OpLabel\n%out = OpPhi %uint %w %more {value} {origin}\n"
    )
    text = text.replace("%chosen = OpPhi %uint %w %end %w %other\n", "")
    assert run(device, lp.SourceLanguage.SPIRV_ASM, text.format(value="%out"), 8) == FIRST_ABOVE_5


@pytest.mark.parametrize("change", IN_PHIS.values(), ids=IN_PHIS.keys())
def test_vectors_that_headers_choose(device: lp.Device, change: dict[str, str]) -> None:
    """Drivers go on with their components for work-items that have left the loop."""
    text = VECTOR_KERNEL.format(**{**PLAIN, **change})
    assert run(device, lp.SourceLanguage.SPIRV_ASM, text, 8) == AFTER_ROUNDS


def test_what_becomes_of_them_without_the_remedy(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    physical = device.physical
    quirk = next(quirk for quirk in QUIRKS if quirk.name == "carried-vectors")
    is_faulty = has_quirk(quirk, physical.driver_id, driver_version(physical.driver_info))
    if is_faulty is None:
        pytest.skip("nobody has tried this version")
    monkeypatch.setattr(driver_remedies, "values_carried", lambda module: module)
    found = run(device, lp.SourceLanguage.SPIRV_ASM, VECTOR_KERNEL.format(**PLAIN), 8)
    assert (found != AFTER_ROUNDS) == is_faulty


def test_what_loops_have_copied_from_memory_to_memory(device: lp.Device) -> None:
    text = PHIS.replace("%v = OpLoad %uint %from\n", "OpCopyMemory %mine %from\n%v = OpLoad %uint %mine\n")
    text = text.replace("OpStore %to {value}", "OpCopyMemory %to %mine").replace(
        "%chosen = OpPhi %uint %v %end %v %other\n", ""
    )
    text = text.replace(
        "%main = OpFunction", "%own = OpTypePointer Function %uint\n%main = OpFunction"
    ).replace("%begin = OpLabel\n", "%begin = OpLabel\n%mine = OpVariable %own Function\n")
    assert run(device, lp.SourceLanguage.SPIRV_ASM, text, 8) == FIRST_ABOVE_5


def test_what_is_carried_stays_as_it_is() -> None:
    counted = PHIS.replace("OpStore %to {value}", "OpStore %to %n")
    module = parse(lp.spirv.assemble(counted.replace("%chosen = OpPhi %uint %v %end %v %other\n", "")))
    assert values_carried(module) is module
    assert values_carried(parse(lp.spirv.assemble(PHIS.format(value="%v")))) is not module


def test_a_function_of_more_loops_than_are_looked_at_is_refused() -> None:
    loops = "".join(
        f"%h{k} = OpLabel\nOpLoopMerge %m{k} %c{k} None\nOpBranch %c{k}\n"
        f"%c{k} = OpLabel\nOpBranchConditional %false %h{k} %m{k}\n%m{k} = OpLabel\nOpBranch %h{k + 1}\n"
        for k in range(1001)
    )
    head = PHIS[: PHIS.index("OpBranch %loop")].replace(
        "%main = OpFunction", "%false = OpConstantFalse %bool\n%main = OpFunction"
    )
    text = f"{head}OpBranch %h0\n{loops}%h1001 = OpLabel\nOpReturn\nOpFunctionEnd\n"
    with pytest.raises(lp.Error, match=r"1,001 loops.*expected at most 1,000"):
        values_carried(parse(lp.spirv.assemble(text)))
