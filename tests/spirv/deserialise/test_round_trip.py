"""Real modules become the dialect and the same binary again."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.ir.verify import verify_module
from lapilli.spirv.binary import parse, serialise
from lapilli.spirv.deserialise import deserialise
from lapilli.spirv.deserialise.buffer_blocks import with_storage_buffers
from lapilli.spirv.deserialise.errors import DeserialisationError
from lapilli.spirv.emit import emit
from lapilli.spirv.tools import SpirvTools

from .canonical import canonical

SLANG = sorted((Path(__file__).parents[2] / "shaders" / "slang").glob("*.spv"))
SHADERS = sorted((Path(__file__).parent / "shaders").glob("*.comp"))
GOLDENS = sorted((Path(__file__).parents[2] / "golden" / "spirv").glob("*.mlir"))
ENVIRONMENTS = ["vulkan1.1", "vulkan1.2", "vulkan1.3"]
LATER = {"shared_blocks": "glslang writes blocks of shared memory for SPIR-V 1.4 and later"}
"""Shaders that cannot be compiled for Vulkan 1.1."""


def environment(name: str) -> TargetEnv:
    return TargetEnv(vulkan_version=(1, int(name[-1])))


def compiled(shader: Path, target: str, folder: Path, *, optimised: bool = False) -> bytes:
    """What glslang makes of a shader."""
    for tool in ("glslangValidator", "spirv-opt"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    if target == "vulkan1.1" and shader.stem in LATER:
        pytest.skip(LATER[shader.stem])
    out = folder / "shader.spv"
    subprocess.run(
        ["glslangValidator", "-V", "--target-env", target, shader, "-o", out],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    if optimised:
        subprocess.run(["spirv-opt", "-O", out, "-o", out], check=True, capture_output=True, timeout=60)
    return out.read_bytes()


def round_trip(data: bytes, env: TargetEnv) -> bytes:
    """Reads, prints, parses and emits a module."""
    module = deserialise(data)
    parsed = parse_module(str(module)).module
    verify_module(parsed)
    (again,) = parsed.body.ops
    assert str(again) == str(module)
    return emit(again, env).binary


@pytest.mark.parametrize("target", ENVIRONMENTS)
@pytest.mark.parametrize("shader", SHADERS, ids=lambda path: path.stem)
def test_glslang(shader: Path, target: str, tmp_path: Path, tools: SpirvTools) -> None:
    data = compiled(shader, target, tmp_path)
    env = environment(target)
    again = round_trip(data, env)
    assert tools.validate(again, target_env=env.spirv_tools_name, scalar_block_layout=True) is None
    assert canonical(data) == canonical(again)


@pytest.mark.parametrize("target", ENVIRONMENTS)
@pytest.mark.parametrize("shader", SHADERS, ids=lambda path: path.stem)
def test_glslang_optimised(shader: Path, target: str, tmp_path: Path, tools: SpirvTools) -> None:
    data = compiled(shader, target, tmp_path, optimised=True)
    env = environment(target)
    again = round_trip(data, env)
    assert tools.validate(again, target_env=env.spirv_tools_name, scalar_block_layout=True) is None
    third = round_trip(again, env)
    assert canonical(again) == canonical(third)


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_what_we_emit(path: Path) -> None:
    (module,) = parse_module(path.read_text()).module.body.ops
    env = TargetEnv()
    data = emit(module, env).binary
    assert canonical(data) == canonical(round_trip(data, env))


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[1] / "corpus").glob("*.spvasm")), ids=lambda path: path.stem
)
def test_assembly(path: Path, tools: SpirvTools) -> None:
    data = tools.assemble(path.read_text())
    assert canonical(data) == canonical(round_trip(data, TargetEnv()))


@pytest.mark.parametrize("path", SLANG, ids=lambda path: path.stem)
def test_slang(path: Path, tools: SpirvTools) -> None:
    upgraded = serialise(with_storage_buffers(parse(path.read_bytes())))
    assert tools.validate(upgraded, target_env="vulkan1.3") is None
    again = round_trip(path.read_bytes(), TargetEnv())
    assert canonical(again) == canonical(upgraded)
    assert tools.validate(again, target_env="vulkan1.3") is None


_RARE = """
OpCapability Shader
OpCapability Int64
OpCapability DeviceGroup
OpCapability ImageCubeArray
OpCapability PhysicalStorageBufferAddresses
OpExtension "SPV_KHR_device_group"
OpExtension "SPV_KHR_physical_storage_buffer"
OpMemoryModel PhysicalStorageBuffer64 GLSL450
OpEntryPoint GLCompute %main "main" %device %cubes %shared
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %device BuiltIn DeviceIndex
OpDecorate %cubes DescriptorSet 0
OpDecorate %cubes Binding 0
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
%void = OpTypeVoid
%u32 = OpTypeInt 32 0
%i32 = OpTypeInt 32 1
%u64 = OpTypeInt 64 0
%f32 = OpTypeFloat 32
%pair = OpTypeVector %u32 2
%three = OpTypeVector %i32 3
%four = OpTypeVector %f32 4
%null = OpConstantNull %f32
%one = OpConstant %i32 1
%place = OpConstantComposite %three %one %one %one
%number = OpConstant %u64 4096
%aligned = OpConstant %u32 0
%block = OpTypeStruct %u32
%cube = OpTypeImage %f32 Cube 0 1 0 2 R32f
%p_cube = OpTypePointer UniformConstant %cube
%p_in = OpTypePointer Input %i32
%p_shared = OpTypePointer Workgroup %f32
%p_block = OpTypePointer PhysicalStorageBuffer %block
%p_u32 = OpTypePointer PhysicalStorageBuffer %u32
%plain = OpTypeFunction %void
%device = OpVariable %p_in Input
%cubes = OpVariable %p_cube UniformConstant
%shared = OpVariable %p_shared Workgroup %null
%main = OpFunction %void None %plain
%entry = OpLabel
%index = OpLoad %i32 %device
%words = OpBitcast %pair %number
%address = OpBitcast %p_block %words
%back = OpBitcast %u64 %address
%same = OpBitcast %p_block %back
%member = OpAccessChain %p_u32 %same %aligned
OpStore %member %aligned Aligned 4
%image = OpLoad %cube %cubes
%texel = OpImageRead %four %image %place
%red = OpCompositeExtract %f32 %texel 0
OpImageWrite %image %place %red
OpReturn
OpFunctionEnd
"""


def test_what_few_shaders_have(tools: SpirvTools) -> None:
    """Addresses as numbers, faces of layers, pixels of one channel, shared memory that starts as null."""
    data = tools.assemble(_RARE, "spv1.5")
    assert tools.validate(data, target_env="vulkan1.3") is None
    again = round_trip(data, environment("vulkan1.3"))
    assert tools.validate(again, target_env="vulkan1.3") is None
    assert canonical(data) == canonical(again)


_PASSED_ON = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %array ArrayStride 4
OpDecorate %block BufferBlock
OpMemberDecorate %block 0 Offset 0
OpDecorate %data DescriptorSet 0
OpDecorate %data Binding 0
%void = OpTypeVoid
%u32 = OpTypeInt 32 0
%array = OpTypeRuntimeArray %u32
%block = OpTypeStruct %array
%pointer = OpTypePointer Uniform %block
%plain = OpTypeFunction %void
%taking = OpTypeFunction %void %pointer
%data = OpVariable %pointer Uniform
%helper = OpFunction %void None %taking
%given = OpFunctionParameter %pointer
%inner = OpLabel
OpReturn
OpFunctionEnd
%main = OpFunction %void None %plain
%entry = OpLabel
%nothing = OpFunctionCall %void %helper %data
OpReturn
OpFunctionEnd
"""


def test_pointers_to_old_blocks_that_are_passed_on(tools: SpirvTools) -> None:
    with pytest.raises(DeserialisationError, match=r"OpFunctionCall.*BufferBlock is passed on"):
        deserialise(tools.assemble(_PASSED_ON, "spv1.0"))


_OF_OLDER_VERSIONS = """
OpCapability Shader
OpCapability VariablePointersStorageBuffer
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %data
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %data DescriptorSet 0
OpDecorate %data Binding 0
OpDecorate %element ArrayStride 16
OpDecorate %chosen SpecId 0
%void = OpTypeVoid
%bool = OpTypeBool
%u32 = OpTypeInt 32 0
%one = OpConstant %u32 1
%zero = OpConstant %u32 0
%any = OpUndef %u32
%chosen = OpSpecConstant %u32 5
%block = OpTypeStruct %u32
%pair = OpTypeStruct %u32 %u32
%half = OpConstantComposite %pair %one %any
%other_half = OpSpecConstantComposite %pair %any %chosen
%same = OpTypeStruct %u32 %u32
%pointer = OpTypePointer StorageBuffer %block
%element = OpTypePointer StorageBuffer %u32
%plain = OpTypeFunction %void
%data = OpVariable %pointer StorageBuffer
%main = OpFunction %void None %plain
%entry = OpLabel
%place = OpAccessChain %element %data %zero
%number = OpLoad %u32 %place
%known = OpCompositeExtract %u32 %half 0
%given = OpCompositeExtract %u32 %other_half 1
%values = OpCompositeConstruct %pair %given %known
%next = OpPtrAccessChain %element %place %one
OpStore %next %number
%copied = OpCopyLogical %same %values
%second = OpCompositeExtract %u32 %copied 1
%test = OpIEqual %bool %number %second
OpSelectionMerge %behind None
OpBranchConditional %test %only %only
%only = OpLabel
OpStore %place %second
OpSelectionMerge %inner None
OpBranchConditional %test %inner %inner
%inner = OpLabel
OpBranch %behind
%behind = OpLabel
OpReturn
OpFunctionEnd
"""


def test_what_the_dialect_writes_in_another_way(tools: SpirvTools) -> None:
    """Branches of one target, of which SPIR-V 1.6 has none, types that differ in their ids only, strides of pointers,
    and constants with constituents that are not defined."""
    again = round_trip(tools.assemble(_OF_OLDER_VERSIONS, "spv1.5"), environment("vulkan1.3"))
    assert tools.validate(again, target_env="vulkan1.3") is None
    assert "ArrayStride 16" in tools.disassemble(again)
