"""Words stand for addresses in physical storage alone, not for what leads to memory with addresses in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lapilli.spirv.address_words import addresses_kept
from lapilli.spirv.binary import Module, parse, serialise
from lapilli.spirv.carried_phis import addresses_as_words
from lapilli.spirv.tables import Op
from lapilli.spirv.tools import spirv_tools

ENVIRONMENT = "vulkan1.3"
HEAD = """
OpCapability Shader
OpCapability PhysicalStorageBufferAddresses
OpCapability VariablePointersStorageBuffer
OpMemoryModel PhysicalStorageBuffer64 GLSL450
OpEntryPoint GLCompute %main "main" %buffer
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %addresses ArrayStride 8
OpDecorate %to_address ArrayStride 8
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
%void = OpTypeVoid
%procedure = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%address = OpTypePointer PhysicalStorageBuffer %uint
%addresses = OpTypeRuntimeArray %address
%block = OpTypeStruct %addresses
%to_block = OpTypePointer StorageBuffer %block
%buffer = OpVariable %to_block StorageBuffer
%to_address = OpTypePointer StorageBuffer %address
%place = OpTypePointer Function %to_address
%zero = OpConstant %uint 0
%unit = OpConstant %uint 1
%four = OpConstant %uint 4
%main = OpFunction %void None %procedure
%entry = OpLabel
"""
LOOP = """%first = OpAccessChain %to_address %buffer %zero %zero
%one = OpLoad %address %first
OpBranch %header
%header = OpLabel
%pointer = OpPhi %to_address %first %entry %next %body
CARRIED%k = OpPhi %uint %zero %entry %more %body
%is_in = OpULessThan %bool %k %four
OpLoopMerge %end %body None
OpBranchConditional %is_in %body %end
%body = OpLabel
%loaded = OpLoad %address %pointer
OpStore %loaded %k Aligned 4
%next = OpPtrAccessChain %to_address %pointer %unit
%more = OpIAdd %uint %k %unit
OpBranch %header
%end = OpLabel
OpReturn
OpFunctionEnd
"""
VARIABLE = """%kept = OpVariable %place Function
%first = OpAccessChain %to_address %buffer %zero %zero
OpStore %kept %first
%pointer = OpLoad %to_address %kept
%loaded = OpLoad %address %pointer
OpStore %loaded %unit Aligned 4
OpReturn
OpFunctionEnd
"""


def _module(body: str) -> Module:
    binary = spirv_tools().assemble(HEAD + body, ENVIRONMENT)
    assert spirv_tools().validate(binary, ENVIRONMENT) is None
    return parse(binary)


def test_a_loop_that_carries_a_pointer_to_addresses_stays() -> None:
    module = _module(LOOP.replace("CARRIED", ""))
    assert addresses_as_words(module) is module


def test_an_address_beside_it_becomes_words() -> None:
    changed = addresses_as_words(
        _module(LOOP.replace("CARRIED", "%carried = OpPhi %address %one %entry %loaded %body\n"))
    )
    assert spirv_tools().validate(serialise(changed), ENVIRONMENT) is None
    phis = [item.result_type for item in changed.instructions if item.opcode == Op.Phi]
    kinds = [item.opcode for type_ in phis for item in changed.instructions if item.result_id == type_]
    assert sorted(kinds) == sorted([Op.TypePointer, Op.TypeVector, Op.TypeInt])


@pytest.mark.parametrize("change", [addresses_kept, addresses_as_words])
def test_a_variable_of_a_pointer_to_addresses_stays(change: Callable[[Module], Module]) -> None:
    module = _module(VARIABLE)
    assert change(module) is module
