"""Memory operands of loads, stores and copies: alignments, scopes, one set or two (SPIR-V 1.6 §3.26)."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.ir.verify import IRError, verify_module
from lapilli.spirv.deserialise import deserialise
from lapilli.spirv.tools import SpirvTools

from .canonical import canonical
from .test_round_trip import round_trip

MODULE = """
OpCapability Shader
OpCapability VulkanMemoryModel
OpCapability VulkanMemoryModelDeviceScope
OpMemoryModel Logical Vulkan
OpEntryPoint GLCompute %main "main" %from %to %id
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %id BuiltIn GlobalInvocationId
OpDecorate %words ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpDecorate %from DescriptorSet 0
OpDecorate %from Binding 0
OpDecorate %to DescriptorSet 0
OpDecorate %to Binding 1
%void = OpTypeVoid
%plain = OpTypeFunction %void
%uint = OpTypeInt 32 0
%uint3 = OpTypeVector %uint 3
%zero = OpConstant %uint 0
%device = OpConstant %uint 1
%group = OpConstant %uint 2
%words = OpTypeRuntimeArray %uint
%block = OpTypeStruct %words
%to_block = OpTypePointer StorageBuffer %block
%to_word = OpTypePointer StorageBuffer %uint
%to_id = OpTypePointer Input %uint3
%to_part = OpTypePointer Input %uint
%id = OpVariable %to_id Input
%from = OpVariable %to_block StorageBuffer
%to = OpVariable %to_block StorageBuffer
%main = OpFunction %void None %plain
%begin = OpLabel
%part = OpAccessChain %to_part %id %zero
%i = OpLoad %uint %part
%s = OpAccessChain %to_word %from %zero %i
%t = OpAccessChain %to_word %to %zero %i
{}
OpReturn
OpFunctionEnd
"""
AVAILABLE = "MakePointerAvailable|NonPrivatePointer %device"
VISIBLE = "MakePointerVisible|NonPrivatePointer %group"
CODE = {
    "plain": "OpCopyMemory %t %s",
    "one set": "OpCopyMemory %t %s Aligned|Nontemporal 4",
    "one set with both scopes": (
        "OpCopyMemory %t %s MakePointerAvailable|MakePointerVisible|NonPrivatePointer %device %group"
    ),
    "one set with one scope": f"OpCopyMemory %t %s {VISIBLE}",
    "two sets": f"OpCopyMemory %t %s {AVAILABLE} {VISIBLE}",
    "two sets, aligned": (
        "OpCopyMemory %t %s Aligned|MakePointerAvailable|NonPrivatePointer 4 %device Volatile|Aligned 4"
    ),
    "two sets, none and one": f"OpCopyMemory %t %s None {VISIBLE}",
    "load and store": f"%v = OpLoad %uint %s {VISIBLE}\nOpStore %t %v {AVAILABLE}",
    "volatile": "%v = OpLoad %uint %s Volatile|Aligned 4\nOpStore %t %v Volatile|Aligned|Nontemporal 4",
}  # fmt: skip


@pytest.mark.parametrize("name", CODE)
def test_comes_back(name: str, tools: SpirvTools) -> None:
    data = tools.assemble(MODULE.format(CODE[name]), "spv1.5")
    assert tools.validate(data, "vulkan1.2") is None
    again = round_trip(data, TargetEnv(vulkan_version=(1, 2)))
    assert tools.validate(again, "vulkan1.2") is None
    assert canonical(again) == canonical(data)


@pytest.mark.device
@pytest.mark.native_only("foreign kernels are not interpreted")
@pytest.mark.parametrize("name", CODE)
def test_copies(name: str, tools: SpirvTools, device: lp.Device) -> None:
    data = round_trip(tools.assemble(MODULE.format(CODE[name]), "spv1.5"), TargetEnv(vulkan_version=(1, 2)))
    context = lp.Context([device])
    try:
        bundle = lp.build(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.SPIRV, data))
    except lp.KernelNotSupportedError as error:
        pytest.skip(str(error))
    source, target = (
        lp.asarray(np.arange(7, 40, dtype=np.uint32), device=device),
        lp.zeros(33, lp.u32, device=device),
    )
    lp.Queue(device, context=context).parallel_for(
        33, bundle.ext_oneapi_get_kernel("main"), source, target
    ).wait()
    np.testing.assert_array_equal(target.numpy(), source.numpy())


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("two sets", r", source_memory_scope = #spirv.scope<\w+>", "", "has a source_memory_scope if and only"),
        ("two sets", r", memory_scope = #spirv.scope<\w+>", "", "has a memory_scope if and only"),
        ("two sets", "MakePointerVisible", "MakePointerAvailable", "can have MakePointerVisible"),
        ("two sets", "MakePointerAvailable", "MakePointerVisible", "can have MakePointerAvailable"),
        ("load and store", r"MakePointerVisible\|NonPrivatePointer", "MakePointerVisible", "is NonPrivatePointer, too"),
        ("load and store", "MakePointerAvailable", "MakePointerVisible", "can have MakePointerAvailable"),
    ],
)  # fmt: skip
def test_flags_and_scopes_go_together(name: str, old: str, new: str, message: str, tools: SpirvTools) -> None:
    text = str(deserialise(tools.assemble(MODULE.format(CODE[name]), "spv1.5")))
    wrong, count = re.subn(old, new, text)
    assert count
    with pytest.raises(IRError, match=message):
        verify_module(parse_module(wrong).module)
