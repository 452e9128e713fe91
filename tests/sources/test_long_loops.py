"""Long loops in kernels of other compilers: the result is right or a KernelTrap, never short (quirk ``loop-cap``)."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import numpy as np
import pytest

import lapilli as lp

from . import source_importer

pytestmark = pytest.mark.device

CAP = 65_535
ONES = np.concatenate([np.zeros(16, np.int32), np.ones(8, np.int32)])
"""The first 16 are written, of the others all are 1."""

HEAD = """#version 450
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) buffer Data { int x[]; };
layout(push_constant) uniform Arguments { int n; };
int counted(int m) {
  int s = 0;
  for (int k = 0; k < m; ++k) { if (s < 0) return -1; s += x[16 + (k & 7)]; }
  return s;
}
"""
BODIES = {
    "for": "for (int k = 0; k < n; ++k) s += x[16 + (k & 7)];",
    "break": "for (;;) { if (s >= n) break; s += x[16 + (s & 7)]; }",
    "do": "do { s += x[16 + (s & 7)]; } while (s < n);",
    "return": "for (;;) { if (s >= n) { x[i] = s; return; } s += x[16 + (s & 7)]; }",
    "continue": "for (int k = 0; k < n; ++k) { if (((k + int(i)) & 1) == 0) { s += x[16]; continue; } s += x[17]; }",
    "arms": "if ((i & 1) == 0) for (int k = 0; k < n; ++k) s += x[16]; else for (int k = 0; k < n; ++k) s += x[17];",
    "switch": "switch (i & 3) { case 0: for (int k = 0; k < n; ++k) s += x[16]; break; "
    "case 1: for (int k = 0; k < n; ++k) s += x[17]; break; default: for (int k = 0; k < n; ++k) s += x[18]; }",
    "switch inside": "for (int k = 0; k < n; ++k) switch ((k + int(i)) & 3) { case 0: s += x[16]; break; "
    "case 1: s += x[17] - 1; default: s += x[18]; }",
    "nested": "for (int k = 0; k < n / 10; ++k) for (int m = 0; m < 10; ++m) s += x[16 + (m & 7)]; s += n % 10;",
    "nested, few rounds of many": "for (int k = 0; k < 3; ++k) for (int m = 0; m < n / 3; ++m) s += x[16]; s += n % 3;",
    "nested, few rounds behind many": "for (int k = 0; k < n / 8; ++k) s += x[16]; int m = 0, r = 0; "
    "while (r < 3) { while (m < n - n / 8) { s += x[17]; ++m; } ++r; }",
    "nested, uneven": "for (int k = 0; ; ++k) { int m = 0; while (true) { if (m >= 7 + (i & 3) || s >= n) break; "
    "s += x[16]; ++m; } if (s >= n) break; }",
    "nested, behind continue": "for (int k = 0; k < n / 10; ++k) { if (((k + int(i)) & 1) == 0) "
    "{ for (int m = 0; m < 10; ++m) s += x[16]; continue; } "
    "for (int m = 0; m < 10; ++m) s += x[17]; } s += n % 10;",
    "nested, often none": "for (int k = 0; k < n; ++k) { s += x[16]; for (int m = 0; m < (k & 1); ++m) "
    "for (int l = 0; l < x[17]; ++l) s += x[18] - 1; }",
    "nested, passed by": "for (int k = 0; k < n; ++k) { s += x[16]; "
    "if (x[17] == 0) for (int m = 0; m < n; ++m) s += x[18]; }",
    "called, passed by": "for (int k = 0; k < n; ++k) { s += x[16]; if (x[17] == 0) s += counted(n); }",
    "in turn": "for (int t = 0; t < 8; ++t) { int m = t == int(i & 7) ? n : 0; "
    "for (int k = 0; k < m; ++k) s += x[16]; }",
    "function": "s = counted(n / 2) + counted(n - n / 2);",
    "one after the other": "for (int k = 0; k < n / 2; ++k) s += x[16]; for (int k = n / 2; k < n; ++k) s += x[17];",
}  # fmt: skip
Launch = Callable[[int], np.ndarray]


@pytest.fixture(params=BODIES)
def launch(
    request: pytest.FixtureRequest,
    device: lp.Device,
    queue: lp.Queue,
    built: Callable[..., lp.KernelBundle],
) -> Launch:
    """Runs a shader of so many rounds and returns what its 16 work-items counted."""
    if shutil.which("glslangValidator") is None:
        pytest.skip("glslang is not installed")
    body = f"  uint i = gl_GlobalInvocationID.x;\n  int s = 0;\n  {BODIES[request.param]}\n  x[i] = s;\n"
    text = f"{HEAD}void main() {{\n{body}}}\n"
    kernel = built(lp.SourceLanguage.GLSL, text).ext_oneapi_get_kernel("main")

    def run(rounds: int) -> np.ndarray:
        x = lp.asarray(ONES, device=device)
        queue.parallel_for(lp.NdRange(16, 16), kernel, x, rounds).wait()
        return x.numpy()[:16]

    return run


def test_loops_are_right_or_trap(launch: Launch, device: lp.Device) -> None:
    for n in (1, 2, 7, 100, 4000):
        np.testing.assert_array_equal(launch(n), np.full(16, n), f"{n} rounds")
    for n in (CAP // 4, CAP // 3, CAP // 2 - 3, CAP // 2 + 3, CAP - 600, CAP - 2, CAP, CAP + 1, 4 * CAP + 3):
        try:
            found = launch(n)
        except lp.KernelTrap as trap:
            assert device.target_env.loop_iteration_cap is not None, f"{n} rounds"
            assert trap.kernel == "main"
            assert "65,535 rounds" in str(trap)
        else:
            np.testing.assert_array_equal(found, np.full(16, n), f"{n} rounds")


@pytest.mark.parametrize("launch", ["for", "break", "return", "continue", "switch inside"], indirect=True)
def test_a_loop_just_below_the_cap_does_not_trap(launch: Launch) -> None:
    """65,533 rounds and the one that ends the loop."""
    np.testing.assert_array_equal(launch(CAP - 2), np.full(16, CAP - 2))


@pytest.mark.parametrize("launch", ["nested"], indirect=True)
def test_the_trap_names_the_loop(launch: Launch, device: lp.Device) -> None:
    if device.target_env.loop_iteration_cap is None:
        pytest.skip("the driver has no cap on loops")
    with pytest.raises(lp.KernelTrap) as caught:
        launch(CAP)
    line = HEAD.count("\n") + 4
    assert caught.value.location is not None
    assert (caught.value.location.file, caught.value.location.line) == ("<GLSL>", line)
    assert caught.value.work_item in [(0, 0, index) for index in range(16)] + [
        (index,) for index in range(16)
    ]


ASSEMBLY = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 8 1 1
%file = OpString "loops.cl"
OpDecorate %words ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block BufferBlock
OpDecorate %buffer DescriptorSet 1
OpDecorate %buffer Binding 3
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
%main = OpFunction %void None %procedure
%entry = OpLabel
%result = OpAccessChain %element %buffer %zero %zero
%limit = OpAccessChain %element %buffer %zero %one
%n = OpLoad %int %limit
OpBranch %header
%header = OpLabel
%i = OpPhi %int %zero %entry %next %continue
OpLine %file 42 7
%test = OpSLessThan %bool %i %n
OpLoopMerge %merge %continue None
OpBranchConditional %test %continue %merge
%continue = OpLabel
%next = OpIAdd %int %i %one
OpBranch %header
%merge = OpLabel
OpStore %result %i
OpReturn
OpFunctionEnd
"""
"""SPIR-V 1.0 as clspv writes it: a loop of as many rounds as word 1 of the buffer says; the number goes to word 0."""


@pytest.mark.parametrize("n", [0, 1000, 60_000, 70_000, 10_000_000])
def test_spirv_of_version_1_0(
    device: lp.Device, queue: lp.Queue, built: Callable[..., lp.KernelBundle], n: int
) -> None:
    bundle = built(lp.SourceLanguage.SPIRV_ASM, ASSEMBLY, lp.BuildOptions("--target-env=spv1.0"))
    x = lp.asarray(np.array([-1, n], np.int32), device=device)
    event = queue.parallel_for(lp.NdRange(8, 8), bundle.ext_oneapi_get_kernel("main"), x)
    if device.target_env.loop_iteration_cap is None or n < CAP:
        event.wait()
        assert x.numpy()[0] == n
        return
    with pytest.raises(lp.KernelTrap, match=r"loops\.cl:42:7") as caught:
        event.wait()
    assert caught.value.kernel == "main"


def test_few_rounds_are_not_counted(built: Callable[..., lp.KernelBundle]) -> None:
    text = ASSEMBLY.replace("%i %n\n", "%i %few\n").replace(
        "%main = OpF", "%few = OpConstant %int 3000\n%main = OpF"
    )
    (image,) = built(lp.SourceLanguage.SPIRV_ASM, text, lp.BuildOptions("--target-env=spv1.0"))
    assert "GroupNonUniform" not in image.disassemble()


LIBRARY = """
OpCapability Shader
OpCapability Linkage
OpMemoryModel Logical GLSL450
%file = OpString "spin.cl"
OpDecorate %spin LinkageAttributes "foreign_spin" Export
%bool = OpTypeBool
%int = OpTypeInt 32 0
%procedure = OpTypeFunction %int %int
%zero = OpConstant %int 0
%one = OpConstant %int 1
%spin = OpFunction %int None %procedure
%n = OpFunctionParameter %int
%entry = OpLabel
OpBranch %header
%header = OpLabel
%i = OpPhi %int %zero %entry %next %continue
OpLine %file 6 3
%test = OpSLessThan %bool %i %n
OpLoopMerge %merge %continue None
OpBranchConditional %test %continue %merge
%continue = OpLabel
%next = OpIAdd %int %i %one
OpBranch %header
%merge = OpLabel
OpReturnValue %i
OpFunctionEnd
"""
"""Exports a function that runs as many rounds as it is told."""


@pytest.mark.parametrize("n", [1000, 30_000, 50_000, 1_000_000])  # the kernel may do two rounds in one
def test_loops_of_a_library_and_of_python_are_one_count(
    device: lp.Device, queue: lp.Queue, context: lp.Context, n: int
) -> None:
    """The function runs half of the rounds, the kernel that calls it the other half."""
    library = lp.compile(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.SPIRV_ASM, LIBRARY))
    user = lp.get_kernel_bundle(context, state=lp.BundleState.OBJECT, kernel=source_importer.spins)
    kernel = lp.link([user, library]).get_kernel(source_importer.spins)
    x = lp.zeros(8, lp.i32, device=device)
    event = queue.parallel_for(x.size, kernel, x, n)
    if device.target_env.loop_iteration_cap is None or 2 * n < CAP:
        event.wait()
        np.testing.assert_array_equal(x.numpy(), np.full(8, 2 * n))
        return
    with pytest.raises(lp.KernelTrap, match="65,535 rounds") as caught:
        event.wait()
    assert caught.value.location is not None
    assert caught.value.location.file in ("spin.cl", source_importer.__file__)
