"""gl_NumSubgroups and gl_SubgroupID of other compilers' kernels, also where sub-groups are partial."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

import lapilli as lp
from lapilli.spirv.binary import parse, serialise
from lapilli.spirv.counted_sub_groups import sub_groups_counted
from lapilli.spirv.driver_remedies import module_for

pytestmark = [pytest.mark.device, pytest.mark.native_only("foreign kernels are not interpreted")]

GLSL = """#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout({layout}) in;
layout(binding = 0) buffer O {{ uint o[]; }};
uint which() {{ return gl_SubgroupID; }}
void main() {{
    uint i = gl_LocalInvocationIndex;
    o[3 * i] = gl_NumSubgroups;
    o[3 * i + 1] = which();
    o[3 * i + 2] = gl_SubgroupInvocationID;
}}
"""
SIZES = [
    (12, 1, 1),
    (8, 1, 1),
    (20, 1, 1),
    (3, 1, 1),
    (5, 3, 1),
    (8, 2, 1),
    (3, 2, 2),
    (12, 2, 1),
    (33, 1, 2),
]


def _check(device: lp.Device, text: str, size: tuple[int, int, int]) -> None:
    context = lp.Context([device])
    bundle = lp.build(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.GLSL, text))
    count = int(np.prod(size))
    o = lp.zeros(3 * count, lp.u32, device=device)
    queue = lp.Queue(context=context, device=device)
    queue.parallel_for(lp.NdRange(size[::-1], size[::-1]), bundle.ext_oneapi_get_kernel("main"), o)
    numbers, which, lanes = o.numpy().reshape(count, 3).T
    assert set(numbers) == {len(set(which))}
    assert set(which) == set(range(len(set(which))))
    for number in set(which):
        own = lanes[which == number]
        assert sorted(own) == list(range(len(own)))  # no two are the same work-item of a sub-group


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed")
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_each_sub_group_has_a_number(device: lp.Device, size: tuple[int, int, int]) -> None:
    x, y, z = size
    _check(device, GLSL.format(layout=f"local_size_x = {x}, local_size_y = {y}, local_size_z = {z}"), size)


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslang is not installed")
def test_the_size_of_a_launch(device: lp.Device) -> None:
    text = GLSL.format(layout="local_size_x_id = 0, local_size_y_id = 1")
    _check(device, text, (10, 3, 1))


ASSEMBLY = """
OpCapability GroupNonUniform
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %count
OpExecutionModeId %main LocalSizeId %twelve %one %one
OpDecorate %count BuiltIn NumSubgroups
%void = OpTypeVoid
%function = OpTypeFunction %void
%int = OpTypeInt 32 1
%one = OpConstant %int 1
%twelve = OpConstant %int 12
%input = OpTypePointer Input %int
%private = OpTypePointer Private %int
%count = OpVariable %input Input
%own = OpVariable %private Private
%main = OpFunction %void None %function
%begin = OpLabel
{body}
OpReturn
OpFunctionEnd
"""


def test_sizes_by_ids_and_numbers_with_signs(device: lp.Device) -> None:
    binary = lp.spirv.assemble(ASSEMBLY.format(body="%n = OpLoad %int %count"), target_env="spv1.3")
    module = sub_groups_counted(parse(binary))
    lp.spirv.validate(serialise(module))
    stores = [item for item in module.instructions if item.name == "OpStore"]
    assert len(stores) == 1


LIBRARY = """
OpCapability GroupNonUniform
OpCapability Shader
OpCapability Linkage
OpMemoryModel Logical GLSL450
OpDecorate %count BuiltIn NumSubgroups
OpDecorate %read LinkageAttributes "sub_groups_of_the_kernel" Export
%uint = OpTypeInt 32 0
%function = OpTypeFunction %uint
%input = OpTypePointer Input %uint
%count = OpVariable %input Input
%read = OpFunction %uint None %function
%begin = OpLabel
%n = OpLoad %uint %count
OpReturnValue %n
OpFunctionEnd
"""
USER = """
import lapilli as lp

@lp.extern("sub_groups_of_the_kernel")
def sub_groups() -> lp.u32: ...

@lp.kernel
def user(x: lp.Array[lp.u32]):
    x[lp.global_id(0)] = sub_groups()
"""


def test_libraries_that_are_linked(device: lp.Device) -> None:
    context = lp.Context([device])
    sources = ((lp.SourceLanguage.SPIRV_ASM, LIBRARY), (lp.SourceLanguage.PYTHON, USER))
    made = [lp.compile(lp.create_kernel_bundle_from_source(context, *source)) for source in sources]
    kernel = lp.link(made).ext_oneapi_get_kernel("user")
    x = lp.zeros(12, lp.u32, device=device)
    lp.Queue(context=context, device=device).parallel_for(lp.NdRange(12, 12), kernel, x)
    assert set(x.numpy()) == {-(-12 // device.info.sub_group_sizes[0])}


def test_only_drivers_that_miscount_get_it(device: lp.Device) -> None:
    module = parse(lp.spirv.assemble(ASSEMBLY.format(body="%n = OpLoad %int %count"), target_env="spv1.3"))
    env = replace(device.target_env, miscounts_sub_groups=False)
    assert module_for(module, env).instructions == module.instructions
    other = parse(
        lp.spirv.assemble(ASSEMBLY.format(body="").replace("OpDecorate", "; "), target_env="spv1.3")
    )
    assert sub_groups_counted(other) is other


def test_pointers_to_the_inputs_are_refused() -> None:
    binary = lp.spirv.assemble(ASSEMBLY.format(body="OpCopyMemory %own %count"), target_env="spv1.3")
    with pytest.raises(lp.Error, match="expected OpLoad"):
        sub_groups_counted(parse(binary))
