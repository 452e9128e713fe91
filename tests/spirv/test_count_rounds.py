"""Counting the rounds of loops in binaries: what is known of them, and what the rewritten module looks like."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lapilli.spirv.binary import parse
from lapilli.spirv.count_rounds import counted
from lapilli.spirv.device_image import DeviceImage
from lapilli.spirv.foreign import foreign_kernels
from lapilli.spirv.link_images import link_images
from lapilli.spirv.module_loops import ModuleLoops
from lapilli.spirv.module_view import ModuleView
from lapilli.spirv.reflect import reflect
from lapilli.spirv.tools import spirv_tools

CAP = 65_535
MODULE = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %buffer
OpExecutionMode %main LocalSize 8 1 1
%file = OpString "loop.comp"
OpDecorate %words ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 5
%void = OpTypeVoid
%procedure = OpTypeFunction %void
%bool = OpTypeBool
%int = OpTypeInt 32 1
%words = OpTypeRuntimeArray %int
%block = OpTypeStruct %words
%pointer = OpTypePointer StorageBuffer %block
%element = OpTypePointer StorageBuffer %int
%own = OpTypePointer Function %int
%buffer = OpVariable %pointer StorageBuffer
%zero = OpConstant %int 0
%first = OpConstant %int {first}
%step = OpConstant %int {step}
%limit = OpConstant %int {limit}
%main = OpFunction %void None %procedure
%entry = OpLabel
{variable}
%word = OpAccessChain %element %buffer %zero %zero
%unknown = OpLoad %int %word
OpBranch %header
%header = OpLabel
{counter}
OpLine %file 7 3
OpLoopMerge %merge %continue None
{test}
%body = OpLabel
OpStore %word %i
OpBranch %continue
%continue = OpLabel
{next}
OpBranch %header
%merge = OpLabel
OpReturn
OpFunctionEnd
"""
PHI = {
    "variable": "",
    "counter": "%i = OpPhi %int %first %entry %next %continue\n%test = {compare} %bool %i {end}",
    "test": "OpBranchConditional %test %body %merge",
    "next": "%next = {change} %int %i %step",
}
MEMORY = {
    "variable": "%v = OpVariable %own Function\nOpStore %v %first",
    "counter": "",
    "test": "OpBranch %try\n%try = OpLabel\n%i = OpLoad %int %v\n%test = {compare} %bool %i {end}\n"
    "OpBranchConditional %test %body %merge",
    "next": "%old = OpLoad %int %v\n%next = {change} %int %old %step\nOpStore %v %next",
}
"""A counter in a variable, as glslang writes it."""


def module(
    form: dict[str, str],
    compare: str,
    first: int,
    step: int,
    limit: int,
    change: str = "OpIAdd",
    end: str = "%limit",
) -> bytes:
    words = {key: text.format(compare=compare, change=change, end=end) for key, text in form.items()}
    return spirv_tools().assemble(MODULE.format(first=first, step=step, limit=limit, **words))


def most_rounds(binary: bytes) -> int | None:
    view = ModuleView(parse(binary))
    return ModuleLoops(view).most_rounds(view.functions[0].result_id)


def image(binary: bytes) -> DeviceImage:
    (found,) = foreign_kernels(binary).images
    return found


@pytest.mark.parametrize("form", [PHI, MEMORY], ids=["phi", "variable"])
@pytest.mark.parametrize(
    ("compare", "first", "step", "limit", "tests"),
    [
        ("OpSLessThan", 0, 1, 3000, 3001),
        ("OpSLessThanEqual", 0, 7, 70, 12),
        ("OpSGreaterThan", 10, -1, 0, 11),
        ("OpINotEqual", 0, 2, 20, 11),
        ("OpSLessThan", 5, 1, 5, 1),
        ("OpINotEqual", 0, 2, 21, None),
        ("OpSLessThan", 0, 0, 5, None),
        ("OpSLessThan", 0, 1, 100_000, None),
    ],
)
def test_rounds_that_are_known(form, compare, first, step, limit, tests):
    """As often as the test runs."""
    assert most_rounds(module(form, compare, first, step, limit)) == tests


@pytest.mark.parametrize("form", [PHI, MEMORY], ids=["phi", "variable"])
def test_rounds_that_are_not_known(form):
    assert most_rounds(module(form, "OpSLessThan", 0, 1, 5, end="%unknown")) is None
    assert most_rounds(module(form, "OpSLessThan", 1, 2, 500, change="OpIMul")) is None
    assert most_rounds(module(form, "OpSLessThan", 9, 1, 5, change="OpISub")) == 1


@pytest.mark.parametrize(
    ("compare", "first", "step", "limit", "phi", "variable"),
    [
        ("OpULessThan", -1, 1, 5, 1, 6),
        ("OpINotEqual", 0, 1, 0, 1, None),
        ("OpSGreaterThanEqual", -1, 1, 0, 1, None),
        ("OpUGreaterThan", 0, -1, 0, 1, None),
        ("OpSLessThan", 9, -9, 1, 1, None),
    ],
)
def test_variables_may_be_read_behind_where_a_round_changes_them(compare, first, step, limit, phi, variable):
    """The test of `do { k += 1; } while (k != 0)` never sees what `k` begins with."""
    assert most_rounds(module(PHI, compare, first, step, limit)) == phi
    assert most_rounds(module(MEMORY, compare, first, step, limit)) == variable


def test_short_loops_change_nothing():
    short = image(module(PHI, "OpSLessThan", 0, 1, 3000))
    found = counted(short, CAP)
    assert found is not None
    assert found.spirv == short.spirv and found.kernels == short.kernels
    assert found.target_env.loop_iteration_cap == CAP


@pytest.mark.parametrize("form", [PHI, MEMORY], ids=["phi", "variable"])
def test_long_loops_report(form):
    long = image(module(form, "OpSLessThan", 0, 1, 5, end="%unknown"))
    found = counted(long, CAP)
    assert found is not None
    assert spirv_tools().validate(found.spirv, "vulkan1.3") is None
    (before,), (kernel,) = long.kernels, found.kernels
    assert kernel.abi.report_binding == 1 and before.abi.report_binding is None
    assert [site.kind for site in kernel.sites] == ["loop", "loop"]
    assert [str(site.location) for site in kernel.sites] == ["None", "loop.comp:7:3"]
    (entry,) = reflect(found.spirv).entry_points
    assert {binding.binding for binding in entry.bindings} >= {0, 1}
    shared = [array.element_bytes for array in kernel.local_arrays if array.is_shared]
    assert shared == [4]
    assert counted(found, CAP) == found  # counts once


def test_shared_memory_with_a_layout_is_left_alone():
    long = image(module(PHI, "OpSLessThan", 0, 1, 5, end="%unknown"))
    text = (
        spirv_tools()
        .disassemble(long.spirv)
        .replace(
            "OpCapability Shader",
            "OpCapability Shader\nOpCapability WorkgroupMemoryExplicitLayoutKHR\n"
            'OpExtension "SPV_KHR_workgroup_memory_explicit_layout"',
            1,
        )
    )
    assert counted(long, CAP) is not None
    assert counted(replace(long, spirv=spirv_tools().assemble(text)), CAP) is None


@pytest.mark.parametrize("own", ["GlobalInvocationId", "LocalInvocationIndex", "NumWorkgroups"])
def test_linked_kernels_have_inputs_of_their_own(own):
    """An entry point may name one variable only for each built-in (Vulkan)."""
    type_ = "%int" if own == "LocalInvocationIndex" else "%vector"
    used = module(PHI, "OpSLessThan", 0, 1, 5, end="%unknown")
    text = MODULE.replace("%buffer\nOpExec", "%buffer %mine\nOpExec")
    text = text.replace(
        "%zero =",
        f"%vector = OpTypeVector %int 3\n%input = OpTypePointer Input {type_}\n"
        "%mine = OpVariable %input Input\n%zero =",
    ).replace("%void =", f"OpDecorate %mine BuiltIn {own}\n%void =")
    text = text.replace(
        "OpBranch %header\n%header", f"%id = OpLoad {type_} %mine\nOpBranch %header\n%header", 1
    )
    words = {k: v.format(compare="OpSLessThan", change="OpIAdd", end="%unknown") for k, v in PHI.items()}
    binaries = [
        spirv_tools().assemble(text.format(first=0, step=1, limit=5, **words).replace('"main"', f'"{name}"'))
        for name in ("one", "other")
    ]
    env = replace(image(used).target_env, loop_iteration_cap=CAP)
    found = link_images([replace(image(binary), target_env=env) for binary in binaries])
    assert spirv_tools().validate(found.spirv, "vulkan1.3") is None
    assert [kernel.sites[0].kind for kernel in found.kernels] == ["loop", "loop"]


def test_long_chains_of_calls():
    count = 5000
    functions = [
        f"%f{i} = OpFunction %void None %procedure\n%l{i} = OpLabel\n%c{i} = OpFunctionCall %void %f{i + 1}\n"
        "OpReturn\nOpFunctionEnd\n"
        for i in range(count)
    ]
    head, main = MODULE.split("%main = OpFunction %void")
    words = {
        key: text.format(compare="OpSLessThan", change="OpIAdd", end="%limit") for key, text in PHI.items()
    }
    text = (head + f"%f{count} = OpFunction %void" + main).format(first=0, step=1, limit=9, **words)
    text = text.replace(f"%f{count} = OpFunction", "".join(functions) + f"%f{count} = OpFunction", 1)
    assert (
        most_rounds(
            spirv_tools().assemble(text.replace('%main "main"', '%f0 "main"').replace("%main", "%f0"))
        )
        == 10
    )
