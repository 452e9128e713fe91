"""Modules of other compilers as NVIDIA's driver needs them: right on every driver, and without what it fails on."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.target_env import REMEDIES
from lapilli.spirv import driver_remedies
from lapilli.spirv.binary import Module, parse, serialise
from lapilli.spirv.carried_phis import truths_as_words
from lapilli.spirv.negated_truths import negations_hidden
from lapilli.spirv.rounded_halves import halves_rounded
from lapilli.spirv.tables import Op
from lapilli.spirv.tools import spirv_tools

pytestmark = [pytest.mark.device, pytest.mark.native_only("foreign kernels are not interpreted")]

TRUTHS = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %id %o
OpExecutionMode %main LocalSize 8 1 1
OpDecorate %id BuiltIn GlobalInvocationId
OpDecorate %words ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpDecorate %o DescriptorSet 0
OpDecorate %o Binding 0
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%bool2 = OpTypeVector %bool 2
%uint = OpTypeInt 32 0
%uint3 = OpTypeVector %uint 3
%words = OpTypeRuntimeArray %uint
%block = OpTypeStruct %words
%to_block = OpTypePointer StorageBuffer %block
%to_word = OpTypePointer StorageBuffer %uint
%to_uint3 = OpTypePointer Input %uint3
%id = OpVariable %to_uint3 Input
%o = OpVariable %to_block StorageBuffer
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%u2 = OpConstant %uint 2
%u4 = OpConstant %uint 4
%u8 = OpConstant %uint 8
%true = OpConstantTrue %bool
%false = OpConstantFalse %bool
%pair = OpConstantComposite %bool2 %true %false
%main = OpFunction %void None %fn
%begin = OpLabel
%ids = OpLoad %uint3 %id
%i = OpCompositeExtract %uint %ids 0
%is_large = OpUGreaterThan %bool %i %u2
OpBranch %header
%header = OpLabel
%k = OpPhi %uint %u0 %begin %next %body
%same = OpPhi %bool %is_large %begin %is_large %body
%flips = OpPhi %bool %false %begin %flipped %body
%swaps = OpPhi %bool2 %pair %begin %swapped %body
%goes_on = OpULessThan %bool %k %i
OpLoopMerge %end %body None
OpBranchConditional %goes_on %body %end
%body = OpLabel
%flipped = OpLogicalNot %bool %flips
%swapped = OpVectorShuffle %bool2 %swaps %swaps 1 0
%next = OpIAdd %uint %k %u1
OpBranch %header
%end = OpLabel
OpBranch %single
%single = OpLabel
%n = OpPhi %uint %u0 %end %m %single
%odd = OpPhi %bool %same %end %even %single
%even = OpLogicalNot %bool %odd
%m = OpIAdd %uint %n %u1
%more = OpULessThan %bool %m %i
OpLoopMerge %last %single None
OpBranchConditional %more %single %last
%last = OpLabel
%first = OpCompositeExtract %bool %swaps 0
%a = OpSelect %uint %same %u1 %u0
%b = OpSelect %uint %flips %u2 %u0
%c = OpSelect %uint %first %u4 %u0
%d = OpSelect %uint %even %u8 %u0
%ab = OpBitwiseOr %uint %a %b
%cd = OpBitwiseOr %uint %c %d
%all = OpBitwiseOr %uint %ab %cd
%place = OpAccessChain %to_word %o %u0 %i
OpStore %place %all
OpReturn
OpFunctionEnd
"""

HALVES = """#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(local_size_x = 8) in;
layout(binding = 0) buffer X { float x[]; };
layout(binding = 1) buffer O { vec2 o[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    o[i] = vec2(float(float16_t(x[i])), vec2(f16vec2(x[i], 1)).x);
}
"""
SHIFTED_HALVES = """#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(local_size_x = 8) in;
layout(binding = 0) buffer X { uint x[]; };
layout(binding = 1) buffer O { float o[]; };
void main() { uint i = gl_GlobalInvocationID.x; o[i] = float(float16_t((x[i] & 255u) << 12)); }
"""


@pytest.fixture(params=[False, True], ids=["", "as elsewhere"])
def env(request: pytest.FixtureRequest, device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a test as the device needs it, and with what all drivers together need."""
    if request.param:
        changed = replace(device.target_env, **dict.fromkeys(REMEDIES, True))
        monkeypatch.setitem(vars(device), "target_env", changed)


def _run(device: lp.Device, language: lp.SourceLanguage, source: object, *arrays: lp.Array) -> None:
    context = lp.Context([device])
    bundle = lp.build(lp.create_kernel_bundle_from_source(context, language, source))
    queue = lp.Queue(device, context=context)
    queue.parallel_for(8, bundle.ext_oneapi_get_kernel("main"), *arrays).wait()


@pytest.mark.usefixtures("env")
def test_truths_that_loops_carry(device: lp.Device) -> None:
    o = lp.zeros(8, lp.u32, device=device)
    _run(device, lp.SourceLanguage.SPIRV, spirv_tools().assemble(TRUTHS), o)
    i = np.arange(8)
    first = i % 2 == 0
    even = (i > 2) ^ (np.maximum(i, 1) % 2 == 1)
    np.testing.assert_array_equal(o.numpy(), (i > 2) + 2 * (i % 2) + 4 * first + 8 * even)


def test_no_loop_carries_truths_then() -> None:
    module = parse(spirv_tools().assemble(TRUTHS))
    changed = truths_as_words(module)
    truths = {item.result_id for item in changed.instructions if item.opcode == Op.TypeBool}
    phis = [item for item in changed.instructions if item.opcode == Op.Phi]
    assert len(phis) == 6
    assert not any(item.result_type in truths for item in phis)
    assert spirv_tools().validate(serialise(changed), "vulkan1.3") is None
    assert truths_as_words(changed) is changed


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed")
@pytest.mark.usefixtures("env")
def test_f32_that_becomes_f16_and_f32_again_is_rounded(device: lp.Device) -> None:
    if not device.has(lp.Aspect.FP16):
        pytest.skip("the device lacks fp16")
    x = np.array([0, 2049, 2051, 4097, 65519, 65520, 0.1, -1e-3], np.float32)
    o = lp.zeros(8, lp.f32x2, device=device)
    _run(device, lp.SourceLanguage.GLSL, HALVES, lp.asarray(x, device=device), o)
    with np.errstate(over="ignore"):
        half = x.astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(o.numpy().reshape(8, 2).T, [half, half])


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed")
@pytest.mark.usefixtures("env")
def test_shifted_integers_may_be_too_large_for_f16(device: lp.Device) -> None:
    if not device.has(lp.Aspect.FP16):
        pytest.skip("the device lacks fp16")
    x = np.array([0, 1, 8, 15, 16, 100, 200, 255], np.uint32)
    o = lp.zeros(8, device=device)
    _run(device, lp.SourceLanguage.GLSL, SHIFTED_HALVES, lp.asarray(x, device=device), o)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(o.numpy(), (x << 12).astype(np.float16).astype(np.float32))


IMPORTLESS = """
OpCapability Shader
OpCapability Float16
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%void = OpTypeVoid
%fn = OpTypeFunction %void
%float = OpTypeFloat 32
%half = OpTypeFloat 16
%x = OpConstant %float 2049
%main = OpFunction %void None %fn
%begin = OpLabel
%h = OpFConvert %half %x
%f = OpFConvert %float %h
OpReturn
OpFunctionEnd
"""


@pytest.mark.parametrize("capability", ["Float16", "StorageBuffer16BitAccess"])
def test_a_module_gets_what_it_does_without(capability: str) -> None:
    """The functions of GLSL.std.450, and arithmetic of f16 where it only stores such numbers."""
    module = parse(spirv_tools().assemble(IMPORTLESS.replace("Float16", capability)))
    changed = halves_rounded(module)
    names = [item.opcode for item in changed.instructions]
    assert (names.count(Op.ExtInstImport), names.count(Op.ExtInst)) == (1, 1)
    assert spirv_tools().validate(serialise(changed), "vulkan1.3") is None
    plain = parse(spirv_tools().assemble(TRUTHS))
    assert halves_rounded(plain) is plain


STORED = """
OpCapability Shader
OpCapability StorageBuffer16BitAccess
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %out
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 0
ROUNDING
%void = OpTypeVoid
%fn = OpTypeFunction %void
%float = OpTypeFloat 32
%half = OpTypeFloat 16
%uint = OpTypeInt 32 0
%zero = OpConstant %uint 0
%block = OpTypeStruct %half
%to_block = OpTypePointer StorageBuffer %block
%to_half = OpTypePointer StorageBuffer %half
%out = OpVariable %to_block StorageBuffer
%x = OpConstant %float 2049
%main = OpFunction %void None %fn
%begin = OpLabel
%h = OpFConvert %half %x
%place = OpAccessChain %to_half %out %zero
OpStore %place %h
WIDENED
OpReturn
OpFunctionEnd
"""


@pytest.mark.parametrize("rounding", ["", "OpDecorate %h FPRoundingMode RTZ"])
def test_halves_that_are_only_stored_need_no_arithmetic(rounding: str) -> None:
    text = STORED.replace("ROUNDING", rounding).replace("WIDENED", "")
    for capability in ("", "OpCapability Float16\n"):
        module = parse(spirv_tools().assemble(capability + text))
        changed = halves_rounded(module)
        assert (changed is module) == (not capability or bool(rounding))
        assert spirv_tools().validate(serialise(changed), "vulkan1.3") is None


WIDENED = {
    "at once": "%f = OpFConvert %float %h",
    "through a copy": "%c = OpCopyObject %half %h\n%f = OpFConvert %float %c",
    "through memory": "%l = OpLoad %half %place\n%c = OpCopyObject %half %l\n%f = OpFConvert %float %c",
}


@pytest.mark.parametrize("widened", WIDENED)
def test_halves_that_become_wider_again_need_arithmetic(widened: str) -> None:
    text = STORED.replace("ROUNDING", "").replace("WIDENED", WIDENED[widened])
    changed = halves_rounded(parse(spirv_tools().assemble(text)))
    assert [item.opcode for item in changed.instructions].count(Op.ExtInst) == 1
    assert spirv_tools().validate(serialise(changed), "vulkan1.3") is None


ORDERS = """#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 8) in;
layout(binding = 0) buffer A { int a[]; };
layout(binding = 1) buffer O { ivec4 o[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    int64_t v = a[i], limit = 7;
    bvec2 both = lessThanEqual(i64vec2(a[i], -v), i64vec2(3, 2));
    o[i] = ivec4(v < int64_t(7), v < limit, int64_t(-3) >= v, int(both.x) + 2 * int(both.y));
}
"""


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed")
def test_widened_integers_are_compared_with_constants(device: lp.Device) -> None:
    if not device.has(lp.Aspect.VK_INT64):
        pytest.skip("the device lacks 64-bit integers")
    a = np.array([-(2**31), -4, -3, -2, 3, 7, 8, 2**31 - 1], np.int32)
    o = lp.zeros((8, 4), lp.i32, device=device)
    _run(device, lp.SourceLanguage.GLSL, ORDERS, lp.asarray(a, device=device), o)
    v = a.astype(np.int64)
    expected = np.stack([v < 7, v < 7, v <= -3, (v <= 3) + 2 * (-v <= 2)], 1)
    np.testing.assert_array_equal(o.numpy(), expected.astype(np.int32))


NEGATED = """#version 450
layout(local_size_x = 8) in;
layout(binding = 0) buffer X { int x[]; };
layout(binding = 1) buffer O { vec4 o[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    float kept = float(x[i] == 3);
    bvec2 both = equal(ivec2(x[i]), ivec2(3, 4));
    float half_of_it = x[i] == 5 ? 1.0 : 0.5;
    o[i] = vec4(-float(x[i] == 2), -kept, -vec2(both).y, -half_of_it);
}
"""
NEGATED_DOUBLES = """#version 450
layout(local_size_x = 8) in;
layout(binding = 0) buffer X { int x[]; };
layout(binding = 1) buffer O { double o[]; };
void main() { uint i = gl_GlobalInvocationID.x; o[i] = -double(x[i] == 2); }
"""


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed")
@pytest.mark.usefixtures("env")
def test_negated_truths_keep_the_sign_of_zero(device: lp.Device) -> None:
    x = np.arange(8, dtype=np.int32)
    o = lp.zeros((8, 4), lp.f32, device=device)
    _run(device, lp.SourceLanguage.GLSL, NEGATED, lp.asarray(x, device=device), o)
    truths = np.stack([x == 2, x == 3, x == 4, np.where(x == 5, 1, 0.5)], 1)
    np.testing.assert_array_equal(o.numpy().view(np.uint32), (-truths.astype(np.float32)).view(np.uint32))
    if device.has(lp.Aspect.FP64):
        doubles = lp.zeros(8, lp.f64, device=device)
        _run(device, lp.SourceLanguage.GLSL, NEGATED_DOUBLES, lp.asarray(x, device=device), doubles)
        expected = -(x == 2).astype(np.float64)
        np.testing.assert_array_equal(doubles.numpy().view(np.uint64), expected.view(np.uint64))


HANDED_ON = """#version 450
layout(local_size_x = 8) in;
layout(binding = 0) buffer X { int x[]; };
layout(binding = 1) buffer O { vec4 o[]; };
struct Pair { vec2 both; float one[2]; };
void turn(inout float value) { value = -value; }
float chosen(bool which, float a, float b) { if (which) return a; return b; }
void main() {
    uint i = gl_GlobalInvocationID.x;
    Pair pair = Pair(vec2(equal(ivec2(x[i]), ivec2(3, 4))), float[2](float(x[i] == 2), 0.5));
    float turned = float(x[i] == 5);
    turn(turned);
    float last = 0.5;
    for (int k = 0; k < x[i]; k++) last = float(k == 3);
    o[i] = vec4(-pair.both.y, -pair.one[x[i] / 8], turned, -chosen(x[i] > 1, last, pair.one[1]));
}
"""


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed")
@pytest.mark.usefixtures("env")
def test_negated_truths_behind_composites_calls_and_loops(device: lp.Device) -> None:
    x = np.arange(8, dtype=np.int32)
    o = lp.zeros((8, 4), lp.f32, device=device)
    _run(device, lp.SourceLanguage.GLSL, HANDED_ON, lp.asarray(x, device=device), o)
    truths = np.stack([x == 4, x == 2, x == 5, np.where(x > 1, x == 4, 0.5)], 1)
    np.testing.assert_array_equal(o.numpy().view(np.uint32), (-truths.astype(np.float32)).view(np.uint32))


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed")
def test_each_negated_truth_is_hidden(device: lp.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden: list[int] = []

    def noted(module: Module) -> Module:
        changed = negations_hidden(module)
        negated = [item.operands[0] for item in changed.instructions if item.opcode == Op.FNegate]
        made = {item.result_id: item.opcode for item in changed.instructions}
        hidden.extend(made[number] == Op.Bitcast for number in negated)
        return changed

    monkeypatch.setattr(driver_remedies, "negations_hidden", noted)
    env = replace(device.target_env, loses_negated_truths=True)
    monkeypatch.setitem(vars(device), "target_env", env)
    x, o = lp.zeros(8, lp.i32, device=device), lp.zeros((8, 4), lp.f32, device=device)
    _run(device, lp.SourceLanguage.GLSL, HANDED_ON, x, o)
    assert hidden == [True] * 4
