"""The dialect has every instruction that compute on Vulkan 1.3 can use, as the SPIR-V grammar lists them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lapilli.ir.dialects.spirv import SPIRV_OPS

GRAMMAR = Path("/usr/include/spirv/unified1")
"""Where Debian's spirv-headers lies."""

_CAPABILITIES = """
    Matrix Shader Sampled1D Image1D SampledBuffer ImageBuffer ImageQuery ImageGatherExtended StorageImageMultisample
    ImageCubeArray SampledCubeArray ImageMSArray StorageImageExtendedFormats StorageImageReadWithoutFormat
    StorageImageWriteWithoutFormat SparseResidency MinLod Int8 Int16 Int64 Float16 Float64 Int64Atomics
    UniformBufferArrayDynamicIndexing SampledImageArrayDynamicIndexing StorageBufferArrayDynamicIndexing
    StorageImageArrayDynamicIndexing GroupNonUniform GroupNonUniformVote GroupNonUniformArithmetic GroupNonUniformBallot
    GroupNonUniformShuffle GroupNonUniformShuffleRelative GroupNonUniformClustered GroupNonUniformQuad
    StorageBuffer16BitAccess UniformAndStorageBuffer16BitAccess StoragePushConstant16 StorageBuffer8BitAccess
    UniformAndStorageBuffer8BitAccess StoragePushConstant8 VariablePointersStorageBuffer VariablePointers
    VulkanMemoryModel VulkanMemoryModelDeviceScope PhysicalStorageBufferAddresses DenormPreserve DenormFlushToZero
    SignedZeroInfNanPreserve RoundingModeRTE RoundingModeRTZ ShaderNonUniform DeviceGroup DotProduct
    DotProductInputAll DotProductInput4x8Bit DotProductInput4x8BitPacked Linkage
"""
CAPABILITIES = frozenset(_CAPABILITIES.split())
"""Capabilities that a Vulkan 1.3 device may offer to compute shaders, and Linkage, which ours are linked with."""

OTHER_FORM = {
    "Debug": "locations of operations, names of symbols and values",
    "Extension": "derived when a module is emitted; extended instructions are operations of their own",
    "Type-Declaration": "types",
    "Annotation": "attributes and layouts in types",
    "Derivative": "fragment shaders only",
}
"""Classes of instructions that are no operations, or are counted elsewhere, and what stands for them."""

OTHERWISE = {
    "OpNop": "nothing",
    "OpMemoryModel": "attributes of spirv.module",
    "OpCapability": "derived when a module is emitted",
    "OpExecutionModeId": "the sizes of LocalSizeId are symbols of spirv.ExecutionMode",
    "OpConstantTrue": "spirv.Constant",
    "OpConstantFalse": "spirv.Constant",
    "OpConstantComposite": "spirv.Constant, spirv.CompositeConstruct",
    "OpConstantNull": "spirv.Constant",
    "OpSpecConstantTrue": "spirv.SpecConstant",
    "OpSpecConstantFalse": "spirv.SpecConstant",
    "OpSpecConstantOp": "spirv.SpecConstantOperation",
    "OpFunction": "spirv.func",
    "OpFunctionParameter": "block arguments",
    "OpFunctionEnd": "the end of a region",
    "OpPhi": "block arguments",
    "OpLabel": "blocks",
    "OpLoopMerge": "spirv.mlir.loop",
    "OpSelectionMerge": "spirv.mlir.selection",
    "OpKill": "fragment shaders only",
    "OpTerminateInvocation": "fragment shaders only",
}
"""Single instructions, likewise."""

DERIVATIVES = ("ImplicitLod", "QueryLod")
"""In the names of instructions that choose the level of detail by derivatives."""

FRAGMENT_ONLY = ("InterpolateAtCentroid", "InterpolateAtSample", "InterpolateAtOffset")
NEVER_DEFINED = ("IMix",)
"""Removed from GLSL.std.450 before its first version."""


def read_grammar(name: str, part: str = "instructions") -> list[dict[str, Any]]:
    """Returns a part of one of the grammar's files; skips where it is not installed."""
    file = GRAMMAR / name
    if not file.exists():
        pytest.skip("needs Debian's spirv-headers")
    return json.loads(file.read_text(encoding="utf-8"))[part]


def _is_for_compute(instruction: dict[str, Any]) -> bool:
    """Whether a device of Vulkan 1.3 may have it without an extension; of aliases the first counts."""
    capabilities = instruction.get("capabilities", ())
    return instruction.get("version") != "None" and (
        not capabilities or not CAPABILITIES.isdisjoint(capabilities)
    )


def test_every_core_instruction_is_an_operation_or_has_another_form():
    first: dict[int, dict[str, Any]] = {}
    for instruction in read_grammar("spirv.core.grammar.json"):
        first.setdefault(instruction["opcode"], instruction)
    wanted = [i for i in first.values() if _is_for_compute(i)]
    assert len(wanted) > 255
    missing = [
        i["opname"]
        for i in wanted
        if i["class"] not in OTHER_FORM
        and i["opname"] not in OTHERWISE
        and not i["opname"].endswith(DERIVATIVES)
        and f"spirv.{i['opname'].removeprefix('Op')}" not in SPIRV_OPS
    ]
    assert missing == []


def test_no_exception_is_for_nothing():
    names = {i["opname"] for i in read_grammar("spirv.core.grammar.json")}
    assert set(OTHERWISE) <= names
    assert not [name for name in OTHERWISE if f"spirv.{name.removeprefix('Op')}" in SPIRV_OPS]


def test_every_instruction_of_glsl_std_450_is_an_operation():
    names = [i["opname"] for i in read_grammar("extinst.glsl.std.450.grammar.json")]
    left_out = (*FRAGMENT_ONLY, *NEVER_DEFINED)
    assert [n for n in names if n not in left_out and f"spirv.GL.{n}" not in SPIRV_OPS] == []
