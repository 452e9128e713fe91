"""Decorations, built-ins and modes that compute on Vulkan 1.3 can use are in the dialect and survive a round trip."""

from __future__ import annotations

import enum
from typing import Any

import pytest

from lapilli.ir.dialects.spirv import enums
from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.ir.verify import verify_module
from lapilli.spirv.deserialise import deserialise
from lapilli.spirv.emit import emit
from lapilli.spirv.tables import enumerant_value
from lapilli.spirv.tools import spirv_tools

from .test_grammar_coverage import CAPABILITIES, read_grammar

GRAPHICS = {
    "Decoration": "NoPerspective Flat Centroid Invariant Location Component Index",
    "ExecutionMode": """PixelCenterInteger OriginUpperLeft OriginLowerLeft EarlyFragmentTests DepthReplacing
        DepthGreater DepthLess DepthUnchanged""",
    "BuiltIn": """Position PointSize VertexId InstanceId FragCoord PointCoord FrontFacing SampleMask FragDepth
        HelperInvocation VertexIndex InstanceIndex""",
}
"""What other stages have."""
OTHERWISE = {
    "Relaxed": "no order: None",
    "GLSLShared": "not in Vulkan",
    "GLSLPacked": "not in Vulkan",
    "Offsets": "later than Vulkan 1.3",
    "CounterBuffer": "HLSL's, means nothing to a driver; dropped",
    "UserSemantic": "means nothing to a driver; dropped",
    "LinkageAttributes": "the attribute linkage_attributes",
    "FPRoundingMode": "the attribute fp_rounding_mode",
    "UniformId": "the attribute uniform_id",
}
ENUMS: dict[str, type[enum.IntEnum | enum.IntFlag]] = {
    "Decoration": enums.Decoration,
    "ExecutionMode": enums.ExecutionMode,
    "StorageClass": enums.StorageClass,
    "MemoryAccess": enums.MemoryAccess,
    "ImageOperands": enums.ImageOperands,
    "Scope": enums.Scope,
    "GroupOperation": enums.GroupOperation,
    "MemorySemantics": enums.MemorySemantics,
    "FunctionControl": enums.FunctionControl,
    "SelectionControl": enums.SelectionControl,
    "LoopControl": enums.LoopControl,
    "FPRoundingMode": enums.FPRoundingMode,
    "PackedVectorFormat": enums.PackedVectorFormat,
    "AddressingModel": enums.AddressingModel,
    "MemoryModel": enums.MemoryModel,
    "LinkageType": enums.LinkageType,
    "Dim": enums.Dim,
    "ImageFormat": enums.ImageFormat,
}


def enumerants(kind: str) -> list[dict[str, Any]]:
    """Those that compute on Vulkan 1.3 may use, aliases left out."""
    (found,) = (k for k in read_grammar("spirv.core.grammar.json", "operand_kinds") if k["kind"] == kind)
    first: dict[int | str, dict[str, Any]] = {}
    for each in found["enumerants"]:
        first.setdefault(each["value"], each)
    graphics = GRAPHICS.get(kind, "").split()
    return [
        each
        for each in first.values()
        if each.get("version") != "None"
        and each["enumerant"] not in ("None", *graphics, *OTHERWISE)
        and (not each.get("capabilities") or not CAPABILITIES.isdisjoint(each["capabilities"]))
    ]


@pytest.mark.parametrize("kind", ENUMS)
def test_the_dialect_has_every_enumerant(kind: str) -> None:
    wanted = enumerants(kind)
    assert wanted
    known = {int(member) for member in ENUMS[kind]}
    assert [e["enumerant"] for e in wanted if int(str(e["value"]), 0) not in known] == []


def test_built_ins_are_known_by_name() -> None:
    names = [e["enumerant"] for e in enumerants("BuiltIn")]
    assert len(names) > 15
    for name in names:
        enumerant_value("BuiltIn", name)  # KeyError where it is not


INDEXING = [
    f"{kind}Array{way}Indexing"
    for kind in (
        "UniformBuffer", "SampledImage", "StorageBuffer", "StorageImage", "UniformTexelBuffer", "StorageTexelBuffer"
    )
    for way in ("Dynamic", "NonUniform")
]  # fmt: skip


@pytest.mark.parametrize("name", [*INDEXING, "RuntimeDescriptorArray", "VariablePointers", "DeviceGroup"])
def test_a_capability_that_nothing_alone_shows_survives(name: str) -> None:
    text = MODULE.format(decorations="", capabilities=f"OpCapability {name}")
    module = deserialise(spirv_tools().assemble(text, "vulkan1.3"))
    (again,) = parse_module(str(module)).module.body.ops
    found = emit(again, TargetEnv()).binary
    assert spirv_tools().validate(found, "vulkan1.3") is None
    assert f"OpCapability {name}\n" in spirv_tools().disassemble(found)


MODULE = """
OpCapability Shader
OpCapability ShaderNonUniform
OpCapability StorageBuffer16BitAccess
OpCapability Float16
{capabilities}
OpExtension "SPV_KHR_no_integer_wrap_decoration"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %g %b
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %g DescriptorSet 0
OpDecorate %g Binding 0
OpDecorate %b DescriptorSet 0
OpDecorate %b Binding 1
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %halves Block
OpMemberDecorate %halves 0 Offset 0
{decorations}
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%float = OpTypeFloat 32
%half = OpTypeFloat 16
%zero = OpConstant %uint 0
%two = OpConstant %uint 2
%one = OpConstant %float 1
%block = OpTypeStruct %uint
%halves = OpTypeStruct %half
%p_block = OpTypePointer StorageBuffer %block
%p_halves = OpTypePointer StorageBuffer %halves
%p_uint = OpTypePointer StorageBuffer %uint
%p_half = OpTypePointer StorageBuffer %half
%g = OpVariable %p_block StorageBuffer
%b = OpVariable %p_halves StorageBuffer
%main = OpFunction %void None %fn
%entry = OpLabel
%at = OpAccessChain %p_uint %g %zero
%x = OpLoad %uint %at
%sum = OpIAdd %uint %x %two
%f = OpConvertUToF %float %sum
%product = OpFMul %float %f %one
%narrow = OpFConvert %half %product
%to = OpAccessChain %p_half %b %zero
OpStore %to %narrow
OpReturn
OpFunctionEnd
"""


@pytest.mark.parametrize(
    "line",
    [
        "OpDecorate %g Restrict",
        "OpDecorate %g Aliased",
        "OpDecorate %g Volatile",
        "OpDecorate %g Coherent",
        "OpDecorate %g NonWritable",
        "OpDecorate %b NonReadable",
        "OpMemberDecorate %block 0 NonWritable",
        "OpMemberDecorate %block 0 Coherent",
        "OpMemberDecorate %block 0 Volatile",
        "OpMemberDecorate %block 0 Restrict",
        "OpMemberDecorate %halves 0 NonReadable",
        "OpDecorate %sum NoSignedWrap",
        "OpDecorate %sum NoUnsignedWrap",
        "OpDecorate %product NoContraction",
        "OpDecorate %product RelaxedPrecision",
        "OpDecorate %x Uniform",
        "OpDecorateId %x UniformId %two",
        "OpDecorate %at NonUniform",
        "OpDecorate %x NonUniform",
        "OpDecorate %narrow FPRoundingMode RTZ",
        "OpDecorate %narrow FPRoundingMode RTE",
    ],
)
def test_a_decoration_survives(line: str) -> None:
    tools = spirv_tools()
    binary = tools.assemble(MODULE.format(decorations=line, capabilities=""), "vulkan1.3")
    assert tools.validate(binary, "vulkan1.3") is None
    module = deserialise(binary)
    (again,) = parse_module(str(module)).module.body.ops
    verify_module(again)
    assert str(again) == str(module)
    found = emit(again, TargetEnv()).binary
    assert tools.validate(found, "vulkan1.3") is None
    wanted = line.split()[2 if line.startswith("OpDecorate") else 3 :]
    wanted = [word for word in wanted if not word.startswith("%")]
    lines = [text.split() for text in tools.disassemble(found).splitlines()]
    assert any(text[:1] == line.split()[:1] and all(word in text for word in wanted) for text in lines)
    assert emit(deserialise(found), TargetEnv()).binary == found
