"""Decoration groups, deprecated but valid, mean the same as what they stand for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.target_env import TargetEnv
from lapilli.spirv.binary import ModuleBuilder, Section, parse, serialise
from lapilli.spirv.decoration_groups import without_groups
from lapilli.spirv.errors import SpirvError
from lapilli.spirv.reflect import reflect
from lapilli.spirv.tables import Decoration, Op
from lapilli.spirv.tools import SpirvTools
from lapilli.spirv.validation import validate

from .deserialise.canonical import canonical
from .deserialise.test_round_trip import round_trip

GROUPS = """
OpDecorate %bytes Offset 0
OpDecorate %four Offset 4
OpDecorate %read NonWritable
OpDecorate %read Restrict
OpDecorate %set DescriptorSet 0
OpDecorate %blocks Block
OpDecorate %words ArrayStride 4
OpDecorate %exact NoContraction
OpDecorate %exact RelaxedPrecision
%bytes = OpDecorationGroup
%four = OpDecorationGroup
%read = OpDecorationGroup
%set = OpDecorationGroup
%blocks = OpDecorationGroup
%words = OpDecorationGroup
%exact = OpDecorationGroup
OpGroupDecorate %set %from %to
OpGroupDecorate %read %from
OpGroupDecorate %blocks %input %output
OpGroupDecorate %words %floats
OpGroupDecorate %exact %x %y
OpGroupMemberDecorate %bytes %input 0 %output 0
OpGroupMemberDecorate %four %input 1
OpGroupMemberDecorate %read %input 1
"""
PLAIN = """
OpDecorate %from DescriptorSet 0
OpDecorate %to DescriptorSet 0
OpDecorate %from NonWritable
OpDecorate %from Restrict
OpDecorate %input Block
OpDecorate %output Block
OpDecorate %floats ArrayStride 4
OpDecorate %x NoContraction
OpDecorate %x RelaxedPrecision
OpDecorate %y NoContraction
OpDecorate %y RelaxedPrecision
OpMemberDecorate %input 0 Offset 0
OpMemberDecorate %output 0 Offset 0
OpMemberDecorate %input 1 Offset 4
OpMemberDecorate %input 1 NonWritable
OpMemberDecorate %input 1 Restrict
"""
MODULE = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
{}
OpDecorate %from Binding 0
OpDecorate %to Binding 1
%void = OpTypeVoid
%plain = OpTypeFunction %void
%uint = OpTypeInt 32 0
%float = OpTypeFloat 32
%c0 = OpConstant %uint 0
%c1 = OpConstant %uint 1
%floats = OpTypeRuntimeArray %float
%input = OpTypeStruct %float %floats
%output = OpTypeStruct %floats
%to_input = OpTypePointer StorageBuffer %input
%to_output = OpTypePointer StorageBuffer %output
%to_float = OpTypePointer StorageBuffer %float
%from = OpVariable %to_input StorageBuffer
%to = OpVariable %to_output StorageBuffer
%main = OpFunction %void None %plain
%l = OpLabel
%a = OpAccessChain %to_float %from %c1 %c1
%b = OpAccessChain %to_float %from %c0
%va = OpLoad %float %a
%vb = OpLoad %float %b
%x = OpFAdd %float %va %vb
%y = OpFMul %float %x %vb
%t = OpAccessChain %to_float %to %c0 %c1
OpStore %t %y
OpReturn
OpFunctionEnd
"""


@pytest.fixture
def grouped(tools: SpirvTools) -> bytes:
    data = tools.assemble(MODULE.format(GROUPS), "spv1.3")
    assert tools.validate(data, "vulkan1.1") is None
    return data


def test_they_are_written_out(grouped: bytes, tools: SpirvTools) -> None:
    plain = tools.assemble(MODULE.format(PLAIN), "spv1.3")
    found = serialise(without_groups(parse(grouped)))
    assert tools.validate(found, "vulkan1.1") is None
    assert canonical(found) == canonical(plain)
    assert without_groups(parse(plain)) == parse(plain)


def test_the_dialect_reads_them(grouped: bytes, tools: SpirvTools) -> None:
    found = round_trip(grouped, TargetEnv(vulkan_version=(1, 1)))
    assert tools.validate(found, "vulkan1.1") is None
    assert canonical(found) == canonical(tools.assemble(MODULE.format(PLAIN), "spv1.3"))


def test_reflection_and_validation_read_them(grouped: bytes, tools: SpirvTools) -> None:
    plain = tools.assemble(MODULE.format(PLAIN), "spv1.3")
    assert list(validate(parse(grouped))) == []
    found, expected = (
        [replace(binding, variable_id=0) for binding in reflect(data).entry_point("main").bindings]
        for data in (grouped, plain)
    )
    assert found == expected


@pytest.mark.device
@pytest.mark.native_only("foreign kernels are not interpreted")
def test_devices_run_them(grouped: bytes, device: lp.Device) -> None:
    context = lp.Context([device])
    bundle = lp.build(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.SPIRV, grouped))
    source = lp.asarray(np.array([2, 3, 5], np.float32), device=device)
    target = lp.zeros(2, lp.f32, device=device)
    queue = lp.Queue(device, context=context)
    queue.parallel_for(1, bundle.ext_oneapi_get_kernel("main"), source, target).wait()
    assert target.numpy()[1] == (5 + 2) * 2


def _made(*groups: tuple[int, ...], member: bool = False) -> bytes:
    builder = ModuleBuilder((1, 5))
    builder.add(Section.MEMORY_MODEL, Op.MemoryModel, (0, 1))
    one = builder.add_result(Section.ANNOTATIONS, Op.DecorationGroup)
    for targets in groups:
        opcode = Op.GroupMemberDecorate if member else Op.GroupDecorate
        builder.add(Section.ANNOTATIONS, opcode, (one, *targets))
    return builder.build()


def test_a_member_is_missing() -> None:
    with pytest.raises(SpirvError, match="its last target has no member"):
        without_groups(parse(_made((7, 1, 8), member=True)))


def test_they_do_not_grow_without_end() -> None:
    builder = ModuleBuilder((1, 5))
    builder.add(Section.MEMORY_MODEL, Op.MemoryModel, (0, 1))
    group = builder.new_id()
    for _ in range(1 << 12):
        builder.add(Section.ANNOTATIONS, Op.Decorate, (group, Decoration.Aliased))
    builder.add(Section.ANNOTATIONS, Op.DecorationGroup, (), result_id=group)
    builder.add(Section.ANNOTATIONS, Op.GroupDecorate, (group, *range(1 << 12)))
    with pytest.raises(SpirvError, match="stand for more than 1048576 decorations"):
        without_groups(parse(builder.build()))
