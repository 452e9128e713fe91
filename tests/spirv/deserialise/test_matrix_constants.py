"""Cooperative matrices whose shape, scope or use are specialization constants; and lengths of arrays that are."""

from __future__ import annotations

import pytest

from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.ir.verify import IRError, verify_module
from lapilli.spirv.deserialise import deserialise
from lapilli.spirv.emit import EmissionError, emit
from lapilli.spirv.tools import SpirvTools

from .canonical import canonical
from .test_round_trip import round_trip

MODULE = """
OpCapability Shader
OpCapability Float16
OpCapability StorageBuffer16BitAccess
OpCapability VulkanMemoryModel
OpCapability CooperativeMatrixKHR
OpExtension "SPV_KHR_cooperative_matrix"
OpMemoryModel Logical Vulkan
OpEntryPoint GLCompute %main "main" %data
OpExecutionMode %main LocalSize 32 1 1
OpDecorate %rows SpecId 0
OpDecorate %k SpecId 1
OpDecorate %scope SpecId 2
OpDecorate %use SpecId 3
OpDecorate %halves ArrayStride 2
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpDecorate %data DescriptorSet 0
OpDecorate %data Binding 0
%void = OpTypeVoid
%plain = OpTypeFunction %void
%uint = OpTypeInt 32 0
%half = OpTypeFloat 16
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%two = OpConstant %uint 2
%three = OpConstant %uint 3
%sixteen = OpConstant %uint 16
%rows = OpSpecConstant %uint 16
%k = OpSpecConstant %uint 8
%scope = OpSpecConstant %uint 3
%use = OpSpecConstant %uint 2
%twice = OpSpecConstantOp %uint IMul %k %two
%halves = OpTypeRuntimeArray %half
%block = OpTypeStruct %halves
%to_block = OpTypePointer StorageBuffer %block
%to_half = OpTypePointer StorageBuffer %half
%a = OpTypeCooperativeMatrixKHR %half %scope %rows %twice %zero
%b = OpTypeCooperativeMatrixKHR %half %three %twice %sixteen %one
%c = OpTypeCooperativeMatrixKHR %half %scope %rows %sixteen %two
%d = OpTypeCooperativeMatrixKHR %half %scope %rows %sixteen %use
%data = OpVariable %to_block StorageBuffer
%main = OpFunction %void None %plain
%begin = OpLabel
%place = OpAccessChain %to_half %data %zero %zero
%ma = OpCooperativeMatrixLoadKHR %a %place %zero %sixteen
%mb = OpCooperativeMatrixLoadKHR %b %place %zero %sixteen NonPrivatePointer|MakePointerVisible %two
%mc = OpCooperativeMatrixLoadKHR %c %place %one %sixteen
%sum = OpCooperativeMatrixMulAddKHR %c %ma %mb %mc
%more = OpFAdd %c %sum %mc
%md = OpCooperativeMatrixLoadKHR %d %place %one %sixteen
%count = OpCooperativeMatrixLengthKHR %uint %c
OpCooperativeMatrixStoreKHR %place %more %zero %sixteen NonPrivatePointer|MakePointerAvailable %two
OpReturn
OpFunctionEnd
"""
TYPES = (
    "!spirv.coopmatrix<@rows x @twice x f16, @scope, MatrixA>",
    "!spirv.coopmatrix<@twice x 16 x f16, Subgroup, MatrixB>",
    "!spirv.coopmatrix<@rows x 16 x f16, @scope, MatrixAcc>",
    "!spirv.coopmatrix<@rows x 16 x f16, @scope, @use>",
)


def test_comes_back(tools: SpirvTools) -> None:
    names = "".join(f'OpName %{name} "{name}"\n' for name in ("rows", "twice", "scope", "use"))
    data = tools.assemble(MODULE.replace("OpDecorate", f"{names}OpDecorate", 1), "spv1.6")
    assert tools.validate(data, "vulkan1.3") is None
    text = str(deserialise(data))
    assert all(type_ in text for type_ in TYPES)
    again = round_trip(data, TargetEnv())
    assert tools.validate(again, "vulkan1.3") is None
    assert canonical(again) == canonical(data)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("%b %place %zero", "%a %place %zero", "found MatrixA for MatrixB"),
        ("%three %twice %sixteen %one", "%two %twice %sixteen %one", ""),
        ("%half %three %twice %sixteen %one", "%half %scope %twice %three %one", "shapes that do not fit"),
        (
            "OpTypeCooperativeMatrixKHR %half %scope %rows",
            "OpTypeCooperativeMatrixKHR %half %scope %zero",
            "one row",
        ),
    ],
)
def test_what_is_known_is_checked(old: str, new: str, message: str, tools: SpirvTools) -> None:
    data = tools.assemble(MODULE.replace(old, new), "spv1.6")
    if not message:
        deserialise(data)  # the scopes may be alike when the constant has its value
        return
    with pytest.raises(Exception, match=message):
        deserialise(data)


USED_BEFORE = """
spirv.module Logical GLSL450 {
  spirv.GlobalVariable @shared : !spirv.ptr<!spirv.spec_array<@length x f32>, Workgroup>
  spirv.SpecConstant @length spec_id(4) = 8 : i32
  spirv.func @main() "None" {
    %0 = spirv.mlir.addressof @shared : !spirv.ptr<!spirv.spec_array<@length x f32>, Workgroup>
    spirv.Return
  }
  spirv.EntryPoint "GLCompute" @main, @shared
  spirv.ExecutionMode @main "LocalSize", 1, 1, 1
}
"""


def test_a_type_may_stand_before_its_constants(tools: SpirvTools) -> None:
    module = parse_module(USED_BEFORE).module
    verify_module(module)
    assert tools.validate(emit(next(iter(module.body.ops)), TargetEnv()).binary, "vulkan1.3") is None


@pytest.mark.parametrize("name", ["nothing", "shared", "main"])
def test_a_type_names_specialization_constants(name: str) -> None:
    module = parse_module(USED_BEFORE.replace("spec_array<@length", f"spec_array<@{name}")).module
    with pytest.raises((IRError, EmissionError), match=f"no specialization constant @{name}"):
        emit(next(iter(module.body.ops)), TargetEnv())
