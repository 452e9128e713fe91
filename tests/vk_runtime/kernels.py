"""Kernels written by hand in SPIR-V assembly, with the ABI that the lowering uses: for tests without a compiler."""

from __future__ import annotations

from functools import cache

from lapilli.ir.kernel_info import (
    BufferParameter,
    KernelInfo,
    LaunchAbi,
    Requirements,
    ScalarParameter,
    SpecConstantInfo,
    SpecConstantLeaf,
)
from lapilli.ir.target_env import TargetEnv
from lapilli.spirv.device_image import DeviceImage
from lapilli.spirv.tools import spirv_tools

HEADER = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "{name}" %gid
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %lx SpecId 100
OpDecorate %ly SpecId 101
OpDecorate %lz SpecId 102
OpDecorate %wgs BuiltIn WorkgroupSize
OpDecorate %gid BuiltIn GlobalInvocationId
OpDecorate %array ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
{decorations}
%void = OpTypeVoid
%function = OpTypeFunction %void
%bool = OpTypeBool
%u32 = OpTypeInt 32 0
%i32 = OpTypeInt 32 1
%f32 = OpTypeFloat 32
%u32x3 = OpTypeVector %u32 3
%in_u32x3 = OpTypePointer Input %u32x3
%in_u32 = OpTypePointer Input %u32
%gid = OpVariable %in_u32x3 Input
%array = OpTypeRuntimeArray %{element}
%block = OpTypeStruct %array
%p_block = OpTypePointer StorageBuffer %block
%p_element = OpTypePointer StorageBuffer %{element}
%c0 = OpConstant %i32 0
%c1 = OpConstant %i32 1
%c2 = OpConstant %i32 2
%c3 = OpConstant %i32 3
%u0 = OpConstant %u32 0
%lx = OpSpecConstant %u32 1
%ly = OpSpecConstant %u32 1
%lz = OpSpecConstant %u32 1
%wgs = OpSpecConstantComposite %u32x3 %lx %ly %lz
{globals}
%main = OpFunction %void None %function
%entry = OpLabel
{body}
OpReturn
OpFunctionEnd
"""

_PUSH = """
%args = OpTypeStruct %i32 %i32 %{scalar}
%p_args = OpTypePointer {storage} %args
%p_i32 = OpTypePointer {storage} %i32
%p_scalar = OpTypePointer {storage} %{scalar}
%arguments = OpVariable %p_args {storage}
"""

_PUSH_DECORATIONS = """
OpDecorate %args Block
OpMemberDecorate %args 0 Offset 0
OpMemberDecorate %args 1 Offset 4
OpMemberDecorate %args 2 Offset 8
"""

# i = base * local + gid, masked by n; args = {n, base, scalar}
_MASKED = """
%gid_p = OpAccessChain %in_u32 %gid %u0
%gid_u = OpLoad %u32 %gid_p
%gid_i = OpBitcast %i32 %gid_u
%n_p = OpAccessChain %p_i32 %arguments %c0
%n = OpLoad %i32 %n_p
%base_p = OpAccessChain %p_i32 %arguments %c1
%base = OpLoad %i32 %base_p
%lx_i = OpBitcast %i32 %lx
%first = OpIMul %i32 %base %lx_i
%i = OpIAdd %i32 %gid_i %first
%s_p = OpAccessChain %p_scalar %arguments %c2
%s = OpLoad %{scalar} %s_p
%inside = OpSLessThan %bool %i %n
OpSelectionMerge %end None
OpBranchConditional %inside %then %end
%then = OpLabel
{body}
OpBranch %end
%end = OpLabel
"""

_SAXPY_BODY = """
%x_p = OpAccessChain %p_element %x %c0 %i
%xv = OpLoad %f32 %x_p
%y_p = OpAccessChain %p_element %y %c0 %i
%yv = OpLoad %f32 %y_p
%ax = OpFMul %f32 %s %xv
%sum = OpFAdd %f32 %ax %yv
OpStore %y_p %sum
"""


def _image(name: str, text: str, **fields: object) -> tuple[DeviceImage, KernelInfo]:
    spec_constants = fields.pop("spec_constants", ())
    kernel = KernelInfo(name=name, entry_point=name, **fields)  # type: ignore[arg-type]
    words = spirv_tools().assemble(text, "vulkan1.2")
    return (
        DeviceImage(
            spirv=words,
            kernels=(kernel,),
            spec_constants=spec_constants,  # type: ignore[arg-type]
            requirements=Requirements(aspects=kernel.aspects),
            target_env=TargetEnv(),
        ),
        kernel,
    )


def _buffers(count: int) -> str:
    names = "xyz"[:count]
    return "\n".join(
        f"OpDecorate %{name} DescriptorSet 0\nOpDecorate %{name} Binding {index}"
        for index, name in enumerate(names)
    )


def _variables(count: int) -> str:
    return "\n".join(f"%{name} = OpVariable %p_block StorageBuffer" for name in "xyz"[:count])


@cache
def saxpy(*, block_in_buffer: bool = False, is_masked: bool = True) -> tuple[DeviceImage, KernelInfo]:
    """``y[i] = a * x[i] + y[i]``; parameters a, x, y; block {n, base, a} pushed, or in a buffer at binding 2."""
    storage = "StorageBuffer" if block_in_buffer else "PushConstant"
    decorations = _buffers(2) + _PUSH_DECORATIONS
    if block_in_buffer:
        decorations += "OpDecorate %arguments DescriptorSet 0\nOpDecorate %arguments Binding 2\n"
    pointers = _PUSH.format(scalar="f32", storage=storage)
    if block_in_buffer:  # a pointer type may be declared only once
        pointers = pointers.replace("%p_scalar = OpTypePointer StorageBuffer %f32\n", "")
    body = _MASKED.format(scalar="f32", body=_SAXPY_BODY)
    if block_in_buffer:
        body = body.replace("%p_scalar", "%p_element")
    text = HEADER.format(
        name="saxpy", decorations=decorations, element="f32", globals=pointers + _variables(2), body=body
    ).replace("%gid\nOpExecutionMode", "%gid %arguments %x %y\nOpExecutionMode")
    return _image(
        "saxpy",
        "; Version: 1.5\n" + text,
        parameters=(
            ScalarParameter(name="a", dtype="f32", offset_bytes=8),
            BufferParameter(name="x", dtype="f32", ndim=1, access="read", may_alias=True, binding=0),
            BufferParameter(name="y", dtype="f32", ndim=1, access="read_write", binding=1),
        ),
        abi=LaunchAbi(
            rank=1,
            range_offsets_bytes=(0,),
            base_offsets_bytes=(4,),
            local_size_spec_ids=(100, 101, 102),
            is_masked=is_masked,
            argument_block_bytes=12,
            argument_block_binding=2 if block_in_buffer else None,
        ),
    )


_SPEC_GLOBALS = """
%factor = OpSpecConstant %f32 1
%offset = OpSpecConstant %f32 0
%negate = OpSpecConstantFalse %bool
"""

_SPEC_BODY = """
%y_p = OpAccessChain %p_element %x %c0 %i
%yv = OpLoad %f32 %y_p
%scaled = OpFMul %f32 %yv %factor
%moved = OpFAdd %f32 %scaled %offset
%negative = OpFNegate %f32 %moved
%result = OpSelect %f32 %negate %negative %moved
OpStore %y_p %result
"""


@cache
def affine() -> tuple[DeviceImage, KernelInfo]:
    """``y[i] = ±(y[i] * PAIR[0] + PAIR[1])``, the sign from NEGATE; parameters y and an unused u32."""
    decorations = _buffers(1) + _PUSH_DECORATIONS
    decorations += "OpDecorate %factor SpecId 0\nOpDecorate %offset SpecId 1\nOpDecorate %negate SpecId 2\n"
    text = HEADER.format(
        name="affine",
        decorations=decorations,
        element="f32",
        globals=_PUSH.format(scalar="u32", storage="PushConstant") + _variables(1) + _SPEC_GLOBALS,
        body=_MASKED.format(scalar="u32", body=_SPEC_BODY),
    ).replace("%gid\nOpExecutionMode", "%gid %arguments %x\nOpExecutionMode")
    pair = SpecConstantInfo(
        symbol="tests.PAIR",
        name="PAIR",
        type="FixedArray[f32, 2]",
        offset_bytes=0,
        size_bytes=8,
        default=b"\0\0\x80\x3f\0\0\0\0",
        leaves=(
            SpecConstantLeaf(spec_id=0, dtype="f32", offset_bytes=0, size_bytes=4),
            SpecConstantLeaf(spec_id=1, dtype="f32", offset_bytes=4, size_bytes=4),
        ),
    )
    negate = SpecConstantInfo(
        symbol="tests.NEGATE",
        name="NEGATE",
        type="bool",
        offset_bytes=8,
        size_bytes=1,
        default=b"\0",
        leaves=(SpecConstantLeaf(spec_id=2, dtype="bool", offset_bytes=0, size_bytes=1),),
    )
    return _image(
        "affine",
        "; Version: 1.5\n" + text,
        parameters=(
            BufferParameter(name="y", dtype="f32", ndim=1, access="read_write", binding=0),
            ScalarParameter(name="unused", dtype="u32", offset_bytes=None),
        ),
        abi=LaunchAbi(
            rank=1,
            range_offsets_bytes=(0,),
            base_offsets_bytes=(4,),
            local_size_spec_ids=(100, 101, 102),
            argument_block_bytes=12,
        ),
        spec_constants=(pair, negate),
    )


_ADDRESS = """
OpCapability Shader
OpCapability PhysicalStorageBufferAddresses
OpMemoryModel PhysicalStorageBuffer64 GLSL450
OpEntryPoint GLCompute %main "add" %gid %arguments
OpExecutionMode %main LocalSize 8 1 1
OpDecorate %gid BuiltIn GlobalInvocationId
OpDecorate %array ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %args Block
OpMemberDecorate %args 0 Offset 8
OpMemberDecorate %args 1 Offset 0
%void = OpTypeVoid
%function = OpTypeFunction %void
%u32 = OpTypeInt 32 0
%u32x3 = OpTypeVector %u32 3
%in_u32x3 = OpTypePointer Input %u32x3
%in_u32 = OpTypePointer Input %u32
%gid = OpVariable %in_u32x3 Input
%array = OpTypeRuntimeArray %u32
%block = OpTypeStruct %array
%p_block = OpTypePointer PhysicalStorageBuffer %block
%p_element = OpTypePointer PhysicalStorageBuffer %u32
%args = OpTypeStruct %p_block %u32
%p_args = OpTypePointer PushConstant %args
%p_pointer = OpTypePointer PushConstant %p_block
%p_u32 = OpTypePointer PushConstant %u32
%arguments = OpVariable %p_args PushConstant
%u0 = OpConstant %u32 0
%u1 = OpConstant %u32 1
%main = OpFunction %void None %function
%entry = OpLabel
%i_p = OpAccessChain %in_u32 %gid %u0
%i = OpLoad %u32 %i_p
%x_p = OpAccessChain %p_pointer %arguments %u0
%x = OpLoad %p_block %x_p
%a_p = OpAccessChain %p_u32 %arguments %u1
%a = OpLoad %u32 %a_p
%e_p = OpAccessChain %p_element %x %u0 %i
%e = OpLoad %u32 %e_p Aligned 4
%sum = OpIAdd %u32 %e %a
OpStore %e_p %sum Aligned 4
OpReturn
OpFunctionEnd
"""


@cache
def add_by_address() -> tuple[DeviceImage, KernelInfo]:
    """``x[i] += a`` through a buffer device address; parameters a, x; fixed local size (8,), not masked."""
    return _image(
        "add",
        _ADDRESS,
        parameters=(
            ScalarParameter(name="a", dtype="u32", offset_bytes=0),
            BufferParameter(name="x", dtype="u32", ndim=1, access="read_write", address_offset_bytes=8),
        ),
        abi=LaunchAbi(rank=1, is_masked=False, argument_block_bytes=16),
        required_work_group_size=(8,),
    )
