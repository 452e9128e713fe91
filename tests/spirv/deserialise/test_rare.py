"""What few modules have comes back from the dialect: in each a few instructions stand in one frame."""

from __future__ import annotations

import pytest

from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.ir.verify import verify_module
from lapilli.spirv.deserialise import deserialise
from lapilli.spirv.emit import emit
from lapilli.spirv.tools import SpirvTools

from .canonical import canonical

FRAME = """
OpCapability Shader
{0}
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %data {1}
OpExecutionMode %main LocalSize 4 1 1
{5}
{2}
OpDecorate %words ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpDecorate %data DescriptorSet 0
OpDecorate %data Binding 0
%void = OpTypeVoid
%plain = OpTypeFunction %void
%uint = OpTypeInt 32 0
%uint4 = OpTypeVector %uint 4
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%words = OpTypeRuntimeArray %uint
%block = OpTypeStruct %words
%to_block = OpTypePointer StorageBuffer %block
%to_word = OpTypePointer StorageBuffer %uint
%in1 = OpTypePointer Input %uint
%in4 = OpTypePointer Input %uint4
{3}
%data = OpVariable %to_block StorageBuffer
%main = OpFunction %void None %plain
%begin = OpLabel
%place = OpAccessChain %to_word %data %zero %zero
%number = OpLoad %uint %place
{4}
OpReturn
OpFunctionEnd
"""
MASKS = [f"Subgroup{name}Mask" for name in ("Eq", "Ge", "Gt", "Le", "Lt")]
COUNTS = ["SubgroupSize", "NumSubgroups", "SubgroupId", "SubgroupLocalInvocationId"]


def _built_in(name: str, capability: str, kind: str) -> tuple[str, ...]:
    types = f"%v = OpVariable %in{kind} Input"
    value = "%uint" if kind == "1" else "%uint4"
    return (
        f"OpCapability {capability}",
        "%v",
        f"OpDecorate %v BuiltIn {name}",
        types,
        f"%x = OpLoad {value} %v",
    )


def _atomic(bits: int, operation: str, capability: str, extension: str) -> tuple[str, ...]:
    width = {16: "OpCapability Float16", 64: "OpCapability Float64"}.get(bits, "")
    types = f"%f = OpTypeFloat {bits}\n%h = OpConstant %f 1\n%g = OpTypePointer Workgroup %f\n"
    return (
        f'{width}\nOpCapability {capability}\nOpExtension "{extension}"',
        "%s",
        "",
        types + "%s = OpVariable %g Workgroup",
        f"%x = OpAtomic{operation}EXT %f %s %one %zero %h",
    )


MODULES: dict[str, tuple[str, ...]] = {
    **{name: _built_in(name, "GroupNonUniformBallot", "4") for name in MASKS},
    **{name: _built_in(name, "GroupNonUniform", "1") for name in COUNTS},
    "f16 sum": _atomic(16, "FAdd", "AtomicFloat16AddEXT", "SPV_EXT_shader_atomic_float16_add"),
    "f64 sum": _atomic(64, "FAdd", "AtomicFloat64AddEXT", "SPV_EXT_shader_atomic_float_add"),
    "f16 minimum": _atomic(16, "FMin", "AtomicFloat16MinMaxEXT", "SPV_EXT_shader_atomic_float_min_max"),
    "f64 maximum": _atomic(64, "FMax", "AtomicFloat64MinMaxEXT", "SPV_EXT_shader_atomic_float_min_max"),
    "uniform control flow": (
        'OpExtension "SPV_KHR_subgroup_uniform_control_flow"', "",
        "OpExecutionMode %main SubgroupUniformControlFlowKHR", "", "",
    ),
    "maximal reconvergence": (
        'OpExtension "SPV_KHR_maximal_reconvergence"', "", "OpExecutionMode %main MaximallyReconvergesKHR", "", "",
    ),
    "any number of buffers": (
        "OpCapability RuntimeDescriptorArray\nOpCapability ShaderNonUniform\n"
        "OpCapability StorageBufferArrayNonUniformIndexing",
        "%all",
        "OpDecorate %all DescriptorSet 1\nOpDecorate %all Binding 0\nOpDecorate %there NonUniform",
        "%many = OpTypeRuntimeArray %block\n%to_many = OpTypePointer StorageBuffer %many\n"
        "%all = OpVariable %to_many StorageBuffer",
        "%there = OpAccessChain %to_word %all %number %zero %one\nOpStore %there %one",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_comes_back(name: str, tools: SpirvTools) -> None:
    data = tools.assemble(FRAME.format(*MODULES[name], ""))
    assert tools.validate(data) is None
    read = deserialise(data)
    parsed = parse_module(str(read)).module
    verify_module(parsed)
    again = emit(next(iter(parsed.body.ops)), TargetEnv()).binary
    assert tools.validate(again) is None
    assert canonical(again) == canonical(data)


@pytest.mark.parametrize("name", ["ünï", "日本", 'a"b', "a b"])
def test_names_of_any_letters_come_back_from_text(name: str, tools: SpirvTools) -> None:
    quoted = name.replace('"', '\\"')
    read = deserialise(tools.assemble(FRAME.format("", "", "", "", "", f'OpName %data "{quoted}"')))
    (again,) = parse_module(str(read)).module.body.ops
    assert str(again) == str(read)
    assert f'"{quoted}"' in tools.disassemble(emit(again, TargetEnv()).binary)
