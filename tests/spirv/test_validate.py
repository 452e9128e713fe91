"""Our validation: modules that are right, and for each rule one that breaks it in one place.

Each broken module is a corpus module with one substitution; SPIRV-Tools must reject it as well.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from lapilli.spirv.binary import Module, parse, serialise
from lapilli.spirv.tools import SpirvTools, spirv_tools
from lapilli.spirv.validation import validate

CORPUS = Path(__file__).parent / "corpus"


class Twin(NamedTuple):
    """A corpus module with one fault."""

    module: str
    old: str
    new: str
    rule: str
    message: str
    """Part of the finding."""


TWINS = [
    # grammar
    Twin("saxpy", "OpDecorate %y Aliased", "OpDecorate %y !999", "grammar", "Decoration 999 is unknown"),
    # module layout
    Twin("saxpy", "OpMemoryModel Logical GLSL450", "", "module_layout", "one OpMemoryModel; found 0"),
    Twin(
        "saxpy",
        "%void = OpTypeVoid",
        '%void = OpTypeVoid\nOpName %void "late"',
        "module_layout",
        "OpName stands behind the section GLOBALS",
    ),
    Twin(
        "saxpy",
        "%i0 = OpConstant %i32 0",
        "%i0 = OpConstant %i32 0\n%bad = OpIAdd %i32 %i0 %i0",
        "module_layout",
        "OpIAdd cannot stand outside a function",
    ),
    Twin("saxpy", "OpFunctionEnd", "", "module_layout", "has no OpFunctionEnd"),
    Twin("saxpy", "OpReturn\n", "", "module_layout", "has no terminator"),
    Twin("saxpy", "OpReturn\n", "OpReturn\nOpReturn\n", "module_layout", "is followed by more of its block"),
    Twin("saxpy", "%entry = OpLabel", "", "module_layout", "stands before the first label"),
    Twin(
        "control_flow",
        "%acc2 = OpPhi %f32 %hv %even %h2 %other",
        "%q = OpIAdd %u32 %i %i\n%acc2 = OpPhi %f32 %hv %even %h2 %other",
        "module_layout",
        "OpPhi stands behind",
    ),
    Twin(
        "control_flow",
        "%hv = OpFunctionCall",
        "%late = OpVariable %pfu Function\n%hv = OpFunctionCall",
        "module_layout",
        "elsewhere than at the start",
    ),
    Twin(
        "saxpy",
        "OpBranchConditional %in %body %exit",
        "%q = OpIAdd %i32 %i %n\nOpBranchConditional %in %body %exit",
        "module_layout",
        "OpSelectionMerge does not stand right before a branch",
    ),
    # ids
    Twin("saxpy", "OpLoad %f32 %px", "OpLoad %f32 %nowhere", "ids", "which nothing defines"),
    Twin("saxpy", "%sum = OpFAdd", "%ax = OpFAdd", "ids", "is already defined"),
    Twin("saxpy", "%a = OpLoad %f32 %pa", "%a = OpLoad %i0 %pa", "ids", "is no type"),
    Twin("saxpy", "%rt = OpTypeRuntimeArray %f32", "%rt = OpTypeRuntimeArray %pbuf", "ids", "before its"),
    Twin(
        "saxpy",
        "OpStore %py %sum\n",
        "%t = OpFAdd %f32 %u %sum\n%u = OpFAdd %f32 %ax %sum\n",
        "ids",
        "whose definition does not dominate it",
    ),
    Twin("control_flow", "OpStore %local %old", "OpStore %local %p1", "ids", "of another function"),
    Twin(
        "control_flow",
        "%v4b = OpVectorTimesScalar %f4 %v4 %acc",
        "%v4b = OpVectorTimesScalar %f4 %v4 %hv",
        "ids",
        "does not dominate",
    ),
    # declarations
    Twin("saxpy", "%v3 = OpTypeVector %u32 3", "%v3 = OpTypeVector %u32 5", "declarations", "5 components"),
    Twin("saxpy", "%f32 = OpTypeFloat 32", "%f32 = OpTypeFloat 24", "declarations", "width of 24"),
    Twin(
        "saxpy",
        "%bool = OpTypeBool",
        "%bool = OpTypeBool\n%again = OpTypeBool",
        "declarations",
        "is the type",
    ),
    Twin("wide_types", "%c4 = OpConstant %u32 4", "%c4 = OpConstant %u32 0", "declarations", "is 0"),
    Twin("saxpy", "%i0 = OpConstant %i32 0", "%i0 = OpConstant %i32 !0 !0", "declarations", "has 2 words"),
    Twin(
        "saxpy",
        "OpSpecConstantComposite %v3 %lx %ly %lz",
        "OpSpecConstantComposite %v3 %lx %ly",
        "declarations",
        "has 2 constituents; its type has 3",
    ),
    Twin("saxpy", "OpVariable %pin Input", "OpVariable %pin Private", "declarations", "storage class"),
    Twin(
        "control_flow",
        "OpVariable %pfu Function %zero",
        "OpVariable %pfu Function %ffull",
        "declarations",
        "is not of the pointee's type",
    ),
    # control flow
    Twin(
        "control_flow",
        "%acc2 = OpPhi %f32 %hv %even %h2 %other",
        "%acc2 = OpPhi %f32 %hv %even",
        "control_flow",
        "the predecessors of its block are",
    ),
    Twin(
        "control_flow",
        "%acc2 = OpPhi %f32 %hv %even %h2 %other",
        "%acc2 = OpPhi %f32 %hv %even %i %other",
        "control_flow",
        "in OpPhi is not of the type",
    ),
    Twin("control_flow", "OpLoopMerge %done %cont None", "", "control_flow", "has no OpLoopMerge"),
    Twin("control_flow", "OpSelectionMerge %join None", "", "control_flow", "OpSwitch needs"),
    Twin("saxpy", "OpSelectionMerge %exit None", "", "control_flow", "needs an OpSelectionMerge"),
    Twin(
        "control_flow",
        "OpSelectionMerge %join None",
        "OpSelectionMerge %done None",
        "control_flow",
        "already",
    ),
    Twin("saxpy", "OpBranchConditional %in", "OpBranchConditional %i", "control_flow", "is no bool"),
    Twin("saxpy", "OpBranch %exit", "OpBranch %main", "control_flow", "no block of its function"),
    Twin("saxpy", "OpBranch %exit", "OpBranch %entry", "control_flow", "to the first block"),
    Twin(
        "control_flow", "OpLoopMerge %done %cont", "OpLoopMerge %done %done", "control_flow", "are the same"
    ),
    # arithmetic
    Twin("saxpy", "OpFMul %f32 %a %xv", "OpFMul %f32 %a %i", "arithmetic", "is no float"),
    Twin("saxpy", "OpFMul %f32 %a %xv", "OpIMul %f32 %a %xv", "arithmetic", "is no int"),
    Twin("saxpy", "OpSLessThan %bool %i %n", "OpSLessThan %bool %i %a0", "ids", "nothing defines"),
    Twin("saxpy", "OpSLessThan %bool", "OpFOrdLessThan %bool", "arithmetic", "is no float"),
    Twin("control_flow", "OpIAdd %u32 %i %one", "OpUDiv %u32 %i %acc", "arithmetic", "is no unsigned"),
    Twin("control_flow", "OpSelect %f32 %c %pf %p0", "OpSelect %f32 %c %p1 %p0", "arithmetic", "OpSelect"),
    Twin("wide_types", "OpSConvert %i64 %s8", "OpSConvert %i8 %s8", "arithmetic", "already has the width"),
    Twin("wide_types", "OpBitcast %u64 %w64", "OpBitcast %u64 %s8", "arithmetic", "of 8 bits to 64"),
    Twin(
        "wide_types", "%s8 = OpIAdd %i8 %v8 %si8", "%s8 = OpIAdd %i8 %v8 %c1", "arithmetic", "another width"
    ),
    Twin("control_flow", "FMax %acc %scale", "FMax %acc %i", "arithmetic", "FMax is not of the result type"),
    Twin("control_flow", "OpDot %f32 %v4b %v4", "OpDot %f32 %v4b %acc", "arithmetic", "OpDot"),
    # memory
    Twin(
        "saxpy", "%a = OpLoad %f32 %pa", "%a = OpLoad %i32 %pa", "memory", "another type than its pointee's"
    ),
    Twin("saxpy", "OpStore %py %sum", "OpStore %py %i", "memory", "OpStore of"),
    Twin("saxpy", "OpStore %py %sum", "OpStore %pa %sum", "memory", "read-only"),
    Twin("saxpy", "OpAccessChain %pargf %args %i1", "OpAccessChain %pargf %args %i", "memory", "no constant"),
    Twin("saxpy", "%i1 = OpConstant %i32 1", "%i1 = OpConstant %i32 9", "memory", "the struct has 2 members"),
    Twin(
        "saxpy", "OpAccessChain %pelf %x %i0 %i", "OpAccessChain %pargf %x %i0 %i", "memory", "storage class"
    ),
    Twin("saxpy", "OpCompositeExtract %u32 %g 0", "OpCompositeExtract %u32 %g 3", "memory", "composite of 3"),
    Twin(
        "control_flow",
        "OpCompositeInsert %f4 %dot %v4b 1",
        "OpCompositeInsert %f4 %x %v4b 1",
        "memory",
        "OpCompositeInsert of",
    ),
    Twin("control_flow", "%helper %acc %i", "%helper %acc %acc", "memory", "not of the parameter's type"),
    Twin("control_flow", "%helper %acc %i", "%helper %acc", "memory", "has 1 arguments; expected 2"),
    Twin("control_flow", "OpReturnValue %r2", "OpReturnValue %p1", "memory", "not of the return type"),
    Twin("control_flow", "OpReturnValue %r2", "OpReturn", "memory", "which returns a value"),
    Twin(
        "control_flow",
        "OpAtomicIAdd %u32 %pc %one %zero %x",
        "OpAtomicIAdd %u32 %pc %one %zero %acc",
        "memory",
        "is not of the result type",
    ),
    Twin(
        "control_flow",
        "OpFunction %f32 None %hfnt",
        "OpFunction %u32 None %hfnt",
        "memory",
        "not its type's return type",
    ),
    # capabilities
    Twin("wide_types", "OpCapability Float64\n", "", "capabilities", "OpTypeFloat of 64 bits needs"),
    Twin(
        "wide_types", "OpCapability Int64Atomics\n", "", "capabilities", "needs the capability Int64Atomics"
    ),
    Twin("saxpy", "BuiltIn GlobalInvocationId", "BuiltIn GlobalLinearId", "capabilities", "Kernel"),
    Twin(
        "saxpy",
        "%gx = OpCompositeExtract",
        "%one = OpGroupNonUniformElect %bool %lx\n%gx = OpCompositeExtract",
        "capabilities",
        "needs the capability GroupNonUniform",
    ),
    # entry points
    Twin(
        "wide_types",
        'OpEntryPoint GLCompute %b "second"',
        'OpEntryPoint GLCompute %b "first"',
        "entry_points",
        "are called 'first'",
    ),
    Twin("saxpy", '"saxpy" %gid %x %y %args\n', '"saxpy" %gid %x %y\n', "entry_points", "does not list it"),
    Twin("saxpy", '"saxpy" %gid %x', '"saxpy" %gid %gid %x', "entry_points", "twice"),
    Twin("saxpy", '"saxpy" %gid', '"saxpy" %u32 %gid', "entry_points", "which is no variable"),
    Twin("wide_types", "OpExecutionMode %b LocalSize 1 1 1\n", "", "entry_points", "has no LocalSize"),
    Twin(
        "wide_types",
        "OpExecutionMode %b LocalSize 1 1 1\n",
        "OpExecutionMode %f64 LocalSize 1 1 1\n",
        "entry_points",
        "which is no entry point",
    ),
    Twin(
        "control_flow",
        "OpExecutionModeId %main LocalSizeId",
        "OpExecutionMode %main LocalSizeId",
        "entry_points",
        "is given by OpExecutionModeId",
    ),
    Twin(
        "control_flow",
        "%r2 = OpFAdd %f32 %r %ffull",
        "%r2 = OpFunctionCall %f32 %helper %r %p1",
        "entry_points",
        "calls itself",
    ),
    Twin(
        "control_flow",
        '%main "reduce"',
        '%helper "reduce"',
        "entry_points",
        "has parameters or a result",
    ),
    # layout
    Twin("saxpy", "OpMemberDecorate %Args 1 Offset 4\n", "", "layout", "has no Offset"),
    Twin("saxpy", "%Args 1 Offset 4", "%Args 1 Offset 6", "layout", "not aligned to 4"),
    Twin("saxpy", "%Args 1 Offset 4", "%Args 1 Offset 0", "layout", "overlap at 0"),
    Twin("saxpy", "OpDecorate %rt ArrayStride 4\n", "", "layout", "has no ArrayStride"),
    Twin("saxpy", "%rt ArrayStride 4", "%rt ArrayStride 3", "layout", "has stride 3"),
    Twin("wide_types", "OpMemberDecorate %Block 6 MatrixStride 16\n", "", "layout", "no MatrixStride"),
    Twin("wide_types", "OpMemberDecorate %Block 6 ColMajor\n", "", "layout", "neither RowMajor nor ColMajor"),
    Twin("saxpy", "%Args = OpTypeStruct %i32 %f32", "%Args = OpTypeStruct %i32 %bool", "layout", "bool"),
    # vulkan
    Twin("saxpy", "OpMemoryModel Logical GLSL450", "OpMemoryModel Logical OpenCL", "capabilities", "Kernel"),
    Twin("saxpy", "OpCapability Shader", "OpCapability Shader\nOpCapability Linkage", "vulkan", "Linkage"),
    Twin("saxpy", "OpDecorate %x Binding 0\n", "", "vulkan", "has no Binding"),
    Twin("saxpy", "OpDecorate %x DescriptorSet 0\n", "", "vulkan", "has no DescriptorSet"),
    Twin("saxpy", "OpDecorate %Block Block\n", "", "vulkan", "is not decorated Block"),
    Twin("saxpy", "OpDecorate %lx SpecId 0", "OpDecorate %size SpecId 0", "vulkan", "no scalar"),
    Twin(
        "control_flow",
        "%len = OpSpecConstantOp %u32 IMul %w %two",
        "%len = OpSpecConstantOp %u32 IMul %w %two\n%fop = OpSpecConstantOp %f32 FAdd %scale %scale",
        "vulkan",
        "cannot wrap OpFAdd",
    ),
    Twin("saxpy", "%v3 = OpTypeVector %u32 3", "%v3 = OpTypeVector %f32 3", "declarations", "not of type"),
    Twin("control_flow", "%scopew = OpConstant %u32 2", "%scopew = OpConstant %u32 1", "vulkan", "scope"),
    Twin("control_flow", "BuiltIn LocalInvocationId", "BuiltIn LocalInvocationIndex", "vulkan", "1 32-bit"),
]


def _text(name: str) -> str:
    return (CORPUS / f"{name}.spvasm").read_text(encoding="utf-8")


def test_corpus_has_no_findings(corpus_module: bytes, tools: SpirvTools) -> None:
    assert tools.validate(corpus_module, scalar_block_layout=True) is None
    assert validate(corpus_module) == ()


@pytest.mark.parametrize("twin", TWINS, ids=[f"{t.rule}-{n}" for n, t in enumerate(TWINS)])
def test_broken_twin_is_found_by_both(twin: Twin, tools: SpirvTools) -> None:
    text = _text(twin.module)
    assert twin.old in text
    broken = tools.assemble(text.replace(twin.old, twin.new, 1))
    findings = validate(broken)
    assert any(f.rule == twin.rule and twin.message in f.message for f in findings), findings
    assert tools.validate(broken, scalar_block_layout=True) is not None


def _edit(data: bytes, name: str, edit: Callable[[tuple[int, ...]], tuple[int, ...]]) -> bytes:
    """Changes the operand words of the first instruction of that name: what no assembler would write."""
    module = parse(data)
    items = list(module.instructions)
    index = next(n for n, item in enumerate(items) if item.name == name)
    items[index] = items[index]._replace(operands=edit(items[index].operands))
    return serialise(replace(module, instructions=tuple(items)))


def _select_a_float(words: tuple[int, ...]) -> tuple[int, ...]:
    phis = [i for i in parse(spirv_tools().assemble(_text("control_flow"))).instructions if i.name == "OpPhi"]
    return (phis[1].result_id or 0, *words[1:])


@pytest.mark.parametrize(
    ("module", "name", "edit", "rule", "message"),
    [
        ("saxpy", "OpFAdd", lambda words: words[:1], "grammar", "ends before an operand of kind IdRef"),
        ("saxpy", "OpFMul", lambda words: (*words, 7), "grammar", "1 words more"),
        ("saxpy", "OpName", lambda words: (words[0], 0x41414141), "grammar", "does not end"),
        ("saxpy", "OpCapability", lambda words: (9999,), "grammar", "Capability 9999 is unknown"),
        ("control_flow", "OpSwitch", _select_a_float, "control_flow", "is no integer"),
    ],
)  # fmt: skip
def test_broken_words_are_found_by_both(
    module: str,
    name: str,
    edit: Callable[[tuple[int, ...]], tuple[int, ...]],
    rule: str,
    message: str,
    tools: SpirvTools,
) -> None:
    broken = _edit(tools.assemble(_text(module)), name, edit)
    findings = validate(broken)
    assert any(f.rule == rule and message in f.message for f in findings), findings
    assert tools.validate(broken, scalar_block_layout=True) is not None


def test_findings_name_their_instruction(tools: SpirvTools) -> None:
    broken = tools.assemble(_text("saxpy").replace("OpFMul %f32 %a %xv", "OpFMul %f32 %a %i"))
    (finding,) = validate(broken)
    theirs = tools.validate(broken)
    assert theirs is not None
    assert parse(broken).instructions[finding.ordinal or 0].name == "OpFMul"
    assert finding.ordinal == theirs.instruction_ordinal


def test_several_findings_are_collected(tools: SpirvTools) -> None:
    text = _text("saxpy").replace("OpDecorate %x Binding 0", "").replace("OpDecorate %y Binding 1", "")
    messages = [finding.message for finding in validate(tools.assemble(text))]
    assert len(messages) == 2
    assert all("has no Binding" in message for message in messages)


def test_newer_version_than_known_is_found(saxpy: bytes) -> None:
    module = parse(saxpy)
    newer = Module(version=(1, 9), bound=module.bound, instructions=module.instructions)
    assert [f.message for f in validate(newer)] == ["SPIR-V 1.9 is not known"]


def test_older_version_lacks_the_storage_class(tools: SpirvTools) -> None:
    module = parse(tools.assemble(_text("control_flow")))
    older = Module(version=(1, 0), bound=module.bound, instructions=module.instructions)
    assert any("StorageClass StorageBuffer needs SPIR-V 1.3" in f.message for f in validate(older))


def test_universal_environment_allows_linkage(tools: SpirvTools) -> None:
    text = """
        OpCapability Shader
        OpCapability Linkage
        OpMemoryModel Logical GLSL450
        OpDecorate %f LinkageAttributes "f" Export
        %u32 = OpTypeInt 32 0
        %fn = OpTypeFunction %u32 %u32
        %f = OpFunction %u32 None %fn
        %p = OpFunctionParameter %u32
        %l = OpLabel
        OpReturnValue %p
        OpFunctionEnd
    """
    module = tools.assemble(text, "spv1.5")
    assert validate(module, environment="universal") == ()
    assert tools.validate(module, "spv1.5") is None
    assert [f.rule for f in validate(module)] == ["vulkan"]


GLSL = {
    "scalar": """
        #version 450
        layout(local_size_x_id = 0, local_size_y = 2) in;
        layout(constant_id = 3) const int N = 4;
        layout(constant_id = 4) const bool B = true;
        struct S { vec3 a; float b; mat3 m; int c[3]; };
        layout(set = 0, binding = 0) readonly buffer X { float x[]; };
        layout(set = 0, binding = 1, std430) buffer Y { S s[]; } y;
        layout(set = 0, binding = 2, std140) uniform U { mat4 m; vec4 v[4]; } u;
        layout(push_constant) uniform P { int n; float k; } p;
        shared float tile[N * 2 + 1];
        float f(float a, inout int z) {
            if (a < 0.0) return 1.0;
            for (int i = 0; i < N; ++i) {
                z += i;
                if (z == 7) continue;
                if (z > 100) break;
                switch (z & 3) {
                    case 0: a += 1.0; break;
                    case 1: a -= 2.0;
                    case 2: a *= 3.0; break;
                    default: return a;
                }
            }
            do { a -= 1.0; } while (a > 5.0);
            return a;
        }
        void main() {
            uint i = gl_GlobalInvocationID.x;
            if (i >= p.n) return;
            tile[gl_LocalInvocationIndex % tile.length()] = x[i];
            barrier();
            int z = int(i);
            float r = f(tile[0], z) + (B ? 1.0 : 2.0);
            y.s[i].a = vec3(r, sqrt(r), fma(r, r, r));
            y.s[i].m = mat3(u.m) * 2.0;
            y.s[i].c[z % 3] = atomicAdd(y.s[0].c[1], 3);
            while (z < 10) { z++; if (all(lessThan(uvec2(z), uvec2(4)))) { z += 2; } }
        }
    """,
    "narrow": """
        #version 450
        #extension GL_EXT_shader_explicit_arithmetic_types : enable
        #extension GL_EXT_buffer_reference : enable
        layout(local_size_x = 64) in;
        layout(buffer_reference, std430) buffer R { float16_t h; double d; int64_t l[]; };
        layout(set = 0, binding = 0) buffer X { float16_t h[]; };
        layout(set = 0, binding = 1) buffer Z { int8_t c[]; } z[2];
        layout(set = 1, binding = 0) uniform sampler2D tex;
        layout(set = 1, binding = 1, rgba8) uniform image2D img;
        layout(push_constant) uniform P { R r; } p;
        void main() {
            uint i = gl_GlobalInvocationID.x;
            h[i] = h[i] * float16_t(2);
            z[1].c[i] = int8_t(z[0].c[i] + z[0].c[i + 1]);
            p.r.l[i] += int64_t(i) << 3;
            p.r.d = double(h[i]);
            imageStore(img, ivec2(i, 0), textureLod(tex, vec2(0.5), 0.0));
        }
    """,
}


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslangValidator is not installed")
@pytest.mark.parametrize("name", GLSL)
@pytest.mark.parametrize("target", ["vulkan1.1", "vulkan1.3"])
@pytest.mark.parametrize("debug", [(), ("-g",)], ids=["plain", "debug"])
def test_modules_of_glslang_have_no_findings(
    name: str, target: str, debug: tuple[str, ...], tmp_path: Path, tools: SpirvTools
) -> None:
    source, output = tmp_path / "kernel.comp", tmp_path / "kernel.spv"
    source.write_text(GLSL[name].strip(), encoding="utf-8")
    command = ("glslangValidator", *debug, "--target-env", target, "-V", str(source), "-o", str(output))
    subprocess.run(command, check=True, capture_output=True)
    module = output.read_bytes()
    assert tools.validate(module, target, scalar_block_layout=True) is None
    assert validate(module) == ()
