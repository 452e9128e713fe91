"""Names that reflection and debuggers read come through the dialect, and MLIR keeps those that it has no place for."""

from __future__ import annotations

from pathlib import Path

import pytest

from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.ir.verify import IRError, verify_module
from lapilli.spirv.deserialise import deserialise
from lapilli.spirv.emit import emit
from lapilli.spirv.reflect import reflect
from lapilli.spirv.reflection import Reflection
from lapilli.spirv.tools import SpirvTools

from .test_round_trip import compiled
from .test_upstream import upstream

SHADERS = Path(__file__).parent / "shaders"
PUSHED = Path(__file__).parents[2] / "shaders" / "push_struct.spv"
_STRUCTS = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
OpName %data "data"
OpName %first "Pair"
OpMemberName %first 1 "second"
OpMemberName %first 7 "beyond"
OpName %other "Pair"
OpMemberName %other 0 "zeroth of \\"two\\""
OpName %odd "Vec<float>"
OpMemberName %odd 0 "x"
OpName %plain "Nameless"
OpDecorate %first Block
OpMemberDecorate %first 0 Offset 0
OpMemberDecorate %first 1 Offset 4
OpDecorate %data DescriptorSet 0
OpDecorate %data Binding 0
%void = OpTypeVoid
%u32 = OpTypeInt 32 0
%first = OpTypeStruct %u32 %u32
%other = OpTypeStruct %u32 %u32
%odd = OpTypeStruct %u32
%plain = OpTypeStruct %u32
%p_first = OpTypePointer StorageBuffer %first
%p_other = OpTypePointer Function %other
%p_odd = OpTypePointer Function %odd
%p_plain = OpTypePointer Function %plain
%type = OpTypeFunction %void
%data = OpVariable %p_first StorageBuffer
%main = OpFunction %void None %type
%entry = OpLabel
%a = OpVariable %p_other Function
%b = OpVariable %p_odd Function
%c = OpVariable %p_plain Function
OpReturn
OpFunctionEnd
"""


def member_names(text: str) -> list[str]:
    """The OpMemberName of a disassembly."""
    return sorted(line.strip() for line in text.splitlines() if "OpMemberName" in line)


def names_of_buffers(found: Reflection) -> list[str]:
    (entry,) = found.entry_points
    return [each.name for each in entry.bindings]


def test_names_of_members(tools: SpirvTools) -> None:
    """Of structs of one name, of a name that MLIR cannot spell, and where some members have none."""
    module = deserialise(tools.assemble(_STRUCTS))
    printed = str(module)
    assert '{member_names = {Pair = ["", "second"], ' in printed
    (again,) = parse_module(printed).module.body.ops
    assert str(again) == printed
    written = tools.disassemble(emit(again, TargetEnv()).binary)
    assert member_names(written) == [
        'OpMemberName %Pair 1 "second"',
        'OpMemberName %Pair_0 0 "zeroth of \\"two\\""',
        'OpMemberName %id_5 0 "x"',
    ]


@pytest.mark.parametrize("names", ['{A = "x"}', "{A = [1 : i32]}"])
def test_names_of_members_are_strings(names: str) -> None:
    text = f"spirv.module Logical GLSL450 attributes {{member_names = {names}}} {{}}"
    with pytest.raises(IRError, match="expects member_names to give a list of strings for each struct"):
        verify_module(parse_module(text).module)


def test_upstream_keeps_names_of_members() -> None:
    module = deserialise(PUSHED.read_bytes())
    (read,) = parse_module(upstream("mlir-opt", str(module))).module.body.ops
    assert read.attributes["member_names"] == module.member_names
    assert emit(read, TargetEnv()).binary == emit(module, TargetEnv()).binary


def test_a_variable_without_a_name_has_that_of_its_block(tmp_path: Path) -> None:
    data = compiled(SHADERS / "parameters.comp", "vulkan1.3", tmp_path)
    before = reflect(data)
    after = reflect(emit(deserialise(data), TargetEnv()).binary)
    assert names_of_buffers(after) == names_of_buffers(before) == ["Out", "outs"]
