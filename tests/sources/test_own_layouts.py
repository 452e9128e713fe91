"""Shared, local and module's arrays may have the type of an array in a buffer, as glslang 12 gives it to them."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import lapilli as lp
from lapilli.spirv.binary import Module, parse, serialise
from lapilli.spirv.own_layouts import layouts_owned
from lapilli.spirv.tools import spirv_tools

pytestmark = [pytest.mark.device, pytest.mark.native_only("foreign kernels are not interpreted")]

ASSEMBLY = """
OpCapability Shader
{capability}
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %index %data {interface}
OpExecutionMode %main LocalSize 4 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
OpDecorate %data DescriptorSet 0
OpDecorate %data Binding 0
OpDecorate %row ArrayStride 4
OpDecorate %rows ArrayStride 16
OpMemberDecorate %pair 0 Offset 0
OpMemberDecorate %pair 1 Offset 32
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
{decorations}
%void = OpTypeVoid
%function = OpTypeFunction %void
%uint = OpTypeInt 32 0
%four = OpConstant %uint 4
%two = OpConstant %uint 2
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%barrier = OpConstant %uint 264
%row = OpTypeArray %uint %four
%rows = OpTypeArray %row %two
%pair = OpTypeStruct %rows %row
%block = OpTypeStruct %pair
%p_block = OpTypePointer StorageBuffer %block
%p_pair = OpTypePointer StorageBuffer %pair
%p_uint = OpTypePointer StorageBuffer %uint
%p_row = OpTypePointer StorageBuffer %row
%input = OpTypePointer Input %uint
%own_pair = OpTypePointer {storage} %pair
%own_row = OpTypePointer {storage} %row
%own_uint = OpTypePointer {storage} %uint
%data = OpVariable %p_block StorageBuffer
%index = OpVariable %input Input
{variable}
%main = OpFunction %void None %function
%begin = OpLabel
{local}
%i = OpLoad %uint %index
%all = OpAccessChain %p_pair %data %zero
OpControlBarrier %two %two %barrier
{copies}
OpControlBarrier %two %two %barrier
OpReturn
OpFunctionEnd
"""
COPIES = {
    "pair": "%v = OpLoad %pair %all\nOpStore %own %v\n"
    "%r = OpCompositeExtract %row %v 0 0\n%to = OpAccessChain %p_row %data %zero %one\nOpStore %to %r",
    "memory": "OpCopyMemory %own %all\n%from = OpAccessChain %own_row %own %zero %zero\n"
    "%to = OpAccessChain %p_row %data %zero %one\nOpCopyMemory %to %from",
    "elements": "%a = OpAccessChain %p_uint %data %zero %zero %zero %i\n%v = OpLoad %uint %a\n"
    "%b = OpAccessChain %own_uint %own %one %i\nOpStore %b %v\n%w = OpLoad %uint %b\n"
    "%c = OpAccessChain %p_uint %data %zero %one %i\nOpStore %c %w",
}
PLACES = {
    "Workgroup": {"variable": "%own = OpVariable %own_pair Workgroup", "interface": "%own", "local": ""},
    "Private": {"variable": "%own = OpVariable %own_pair Private", "interface": "%own", "local": ""},
    "Function": {"variable": "", "interface": "", "local": "%own = OpVariable %own_pair Function"},
}
DATA = np.arange(3, 15, dtype=np.uint32)


def _assembly(place: str, copies: str, capability: str = "", decorations: str = "") -> bytes:
    text = ASSEMBLY.format(
        **PLACES[place], storage=place, copies=copies, capability=capability, decorations=decorations
    )
    return lp.spirv.assemble(text, target_env="spv1.6")


def _is_valid(module: Module) -> bool:
    return spirv_tools().validate(serialise(module), "vulkan1.3") is None


@pytest.mark.parametrize("copies", COPIES.values(), ids=COPIES.keys())
@pytest.mark.parametrize("place", PLACES)
def test_the_type_of_an_array_in_a_buffer(device: lp.Device, place: str, copies: str) -> None:
    binary = _assembly(place, copies)
    assert not _is_valid(parse(binary))
    context = lp.Context([device])
    bundle = lp.build(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.SPIRV, binary))
    data = lp.asarray(DATA, device=device)
    lp.Queue(context=context, device=device).parallel_for(4, bundle.ext_oneapi_get_kernel("main"), data)
    assert data.numpy().tolist() == [*DATA[:8], *DATA[:4]]


def test_what_may_have_a_layout_stays() -> None:
    module = parse(
        lp.spirv.assemble(
            ASSEMBLY.format(
                **PLACES["Function"], storage="Function", copies=COPIES["pair"], capability="", decorations=""
            ),
            target_env="spv1.4",
        )
    )
    assert layouts_owned(module) is module  # nothing forbade it before 1.5
    explicit = "OpCapability WorkgroupMemoryExplicitLayoutKHR"
    module = parse(_assembly("Workgroup", COPIES["elements"], capability=explicit))
    assert layouts_owned(module) is module


GLSL = """#version 450
layout(local_size_x = 16) in;
struct Cell { uint count[4]; vec2 at; };
layout(binding = 0) buffer A { uint a[16]; Cell cells[4]; uint table[3][5]; };
layout(binding = 1) buffer O { uint o[16]; };
shared uint bins[16];
shared Cell some[4];
shared uint rows[3][5];
uint sum(uint values[16]) { uint s = 0; for (int k = 0; k < 16; k++) s += values[k]; return s; }
void main() {
    uint i = gl_LocalInvocationIndex;
    a[i] += 1; cells[i & 3].count[i >> 2] = i; table[1][i % 5] = 7;
    bins[i] = a[i];
    uint own[16] = uint[16](0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    barrier();
    if (i < 4) some[i] = cells[3 - i];
    if (i == 4) rows = table;
    own[i] = bins[15 - i];
    barrier();
    o[i] = own[i] + 100 * some[i & 3].count[i >> 2] + 10000 * sum(own) + 10000000 * rows[1][i % 5];
    if (i == 0) a = own;
}
"""


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed")
def test_arrays_and_structs_in_glsl(device: lp.Device) -> None:
    context = lp.Context([device])
    bundle = lp.build(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.GLSL, GLSL))
    i = np.arange(16, dtype=np.uint32)
    memory = np.zeros(16 + 4 * 6 + 15, np.uint32)
    memory[:16] = i * i
    a, o = lp.asarray(memory, device=device), lp.zeros(16, lp.u32, device=device)
    kernel = bundle.ext_oneapi_get_kernel("main")
    lp.Queue(context=context, device=device).parallel_for(16, kernel, a, o)
    own = (15 - i) ** 2 + 1
    sums = i.sum() - i + own
    found = own + 100 * ((3 - (i & 3)) + 4 * (i >> 2)) + 10000 * sums + 70000000
    assert o.numpy().tolist() == found.tolist()
    assert a.numpy()[:16].tolist() == [own[0], *range(1, 16)]
