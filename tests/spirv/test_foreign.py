"""SPIR-V of strangers: taken apart, described, normalised, or refused."""

from __future__ import annotations

import math
import re
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lapilli as lp
from lapilli.ir.kernel_info import BufferParameter, ScalarParameter
from lapilli.spirv.deserialise.module import deserialise
from lapilli.spirv.foreign import foreign_kernels
from lapilli.spirv.reflect import reflect
from lapilli.spirv.tools import spirv_tools

SHADERS = Path(__file__).resolve().parents[1] / "shaders"
NAMES = sorted(path.stem for path in SHADERS.glob("*.spv"))


def binary(name: str) -> bytes:
    return (SHADERS / f"{name}.spv").read_bytes()


def assemble(text: str) -> bytes:
    return spirv_tools().assemble(text)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_left_is_valid_and_in_set_0(name):
    (image,) = foreign_kernels(binary(name)).images
    assert spirv_tools().validate(image.spirv) is None
    bindings = reflect(image.spirv).entry_points[0].bindings
    assert {found.descriptor_set for found in bindings} <= {0}
    recorded = {p.binding for p in image.kernels[0].parameters if isinstance(p, BufferParameter)}
    assert {found.binding for found in bindings} == recorded
    assert type(image).from_bytes(image.to_bytes()) == image


@pytest.mark.parametrize(
    ("name", "aspects"),
    [
        ("saxpy", set()),
        ("doubles", {lp.Aspect.FP64}),
        ("half_storage", {lp.Aspect.VK_STORAGE_16BIT}),
        ("subgroup_sum", {lp.Aspect.VK_SUBGROUP_BASIC, lp.Aspect.VK_SUBGROUP_ARITHMETIC}),
    ],
)
def test_aspects_follow_from_capabilities(name, aspects):
    (image,) = foreign_kernels(binary(name)).images
    assert set(image.requirements.aspects) == aspects


TWO_KERNELS = """
               OpCapability Shader
               OpCapability Float64
               OpMemoryModel Logical GLSL450
               OpEntryPoint GLCompute %wide "wide" %arg1
               OpEntryPoint GLCompute %narrow "narrow" %arg0 %arg1
               OpExecutionMode %wide LocalSize 1 1 1
               OpExecutionMode %narrow LocalSize 2 3 4
               OpName %arg1 "arg1"
               OpName %arg0 "arg0"
               OpDecorate %arg0 DescriptorSet 3
               OpDecorate %arg0 Binding 1
               OpDecorate %arg1 DescriptorSet 0
               OpDecorate %arg1 Binding 2
               OpDecorate %array ArrayStride 4
               OpDecorate %block Block
               OpMemberDecorate %block 0 Offset 0
       %void = OpTypeVoid
   %function = OpTypeFunction %void
      %float = OpTypeFloat 32
     %double = OpTypeFloat 64
        %int = OpTypeInt 32 1
       %zero = OpConstant %int 0
       %half = OpConstant %float 0.5
      %third = OpConstant %double 0.25
      %array = OpTypeRuntimeArray %float
      %block = OpTypeStruct %array
    %pointer = OpTypePointer StorageBuffer %block
    %element = OpTypePointer StorageBuffer %float
       %arg0 = OpVariable %pointer StorageBuffer
       %arg1 = OpVariable %pointer StorageBuffer
       %wide = OpFunction %void None %function
         %w0 = OpLabel
         %w1 = OpFConvert %float %third
         %w2 = OpAccessChain %element %arg1 %zero %zero
               OpStore %w2 %w1
               OpReturn
               OpFunctionEnd
     %narrow = OpFunction %void None %function
         %n0 = OpLabel
         %n1 = OpAccessChain %element %arg0 %zero %zero
         %n2 = OpAccessChain %element %arg1 %zero %zero
         %n3 = OpLoad %float %n2
               OpStore %n1 %n3
               OpReturn
               OpFunctionEnd
"""


def test_each_kernel_asks_for_what_it_uses_itself():
    wide, narrow = foreign_kernels(assemble(TWO_KERNELS)).images
    assert wide.requirements.aspects == (lp.Aspect.FP64,)
    assert narrow.requirements.aspects == ()
    assert [p.name for p in wide.kernels[0].parameters] == ["arg1"]
    # Names of arguments win over sets and bindings.
    assert [p.name for p in narrow.kernels[0].parameters] == ["arg0", "arg1"]
    assert narrow.kernels[0].required_work_group_size == (4, 3, 2)


def test_lines_and_scopes_stand_around_functions():
    """As glslang -gVS and spirv-opt write them: in front of functions, and behind the end of the last block."""
    text = TWO_KERNELS.replace(
        "OpMemoryModel",
        '%debug = OpExtInstImport "NonSemantic.Shader.DebugInfo.100"\nOpMemoryModel',
    ).replace("OpCapability Float64", 'OpCapability Float64\nOpExtension "SPV_KHR_non_semantic_info"')
    text = text.replace("OpName %arg1", '%file = OpString "a.comp"\nOpName %arg1', 1)
    text = re.sub(r"(.*= OpFunction )", r"OpLine %file 3 1\n\1", text)
    first, *rest = text.split("OpReturn\n")
    text = first + "".join(
        f"OpReturn\n%end{number} = OpExtInst %void %debug DebugNoScope\n{part}"
        for number, part in enumerate(rest)
    )
    module = assemble(text)
    images = foreign_kernels(module).images
    assert len(images) == 2
    assert [spirv_tools().validate(image.spirv) for image in images] == [None, None]
    assert len([op for op in deserialise(module).walk() if op.name == "spirv.EntryPoint"]) == 2


@pytest.mark.parametrize(
    ("place", "debug"),
    [
        ("%zero = ", "%made = OpExtInst %void %debug DebugTypeArray %zero %none\n%zero = "),
        ("%number = OpVariable", "%scope = OpExtInst %void %debug DebugNoScope\n%number = OpVariable"),
    ],
    ids=["wrong operands", "in front of a variable"],
)
def test_debug_information_that_is_wrong_is_left_out(place: str, debug: str):
    """As glslang -gVS writes pointers and arrays, and spirv-opt -O what it has inlined."""
    text = TWO_KERNELS.replace(
        "OpMemoryModel",
        '%debug = OpExtInstImport "NonSemantic.Shader.DebugInfo.100"\nOpMemoryModel',
    ).replace("OpCapability Float64", 'OpCapability Float64\nOpExtension "SPV_KHR_non_semantic_info"')
    text = text.replace(
        "%zero = ",
        "%kept = OpTypePointer Function %int\n%none = OpExtInst %void %debug DebugInfoNone\n%zero = ",
        1,
    )
    text = re.sub(r"(OpLabel\n)", r"\1%number = OpVariable %kept Function\n", text, count=1)
    plain = assemble(text)
    assert spirv_tools().validate(plain) is None
    module = assemble(text.replace(place, debug, 1))
    assert spirv_tools().validate(module) is not None
    images = foreign_kernels(module).images
    assert [image.kernels[0].name for image in images] == ["wide", "narrow"]
    assert [spirv_tools().validate(image.spirv) for image in images] == [None, None]


def test_clspv_says_which_argument_is_which():
    text = TWO_KERNELS.replace(
        "OpMemoryModel", '%strings = OpExtInstImport "NonSemantic.ClspvReflection.5"\nOpMemoryModel'
    ).replace("OpCapability Float64", 'OpCapability Float64\nOpExtension "SPV_KHR_non_semantic_info"')
    text = text.replace("OpName %arg1", '%name = OpString "narrow"\n%out = OpString "out"\nOpName %arg1', 1)
    text = text.replace("%zero = ", "%uint = OpTypeInt 32 0\n%u0 = OpConstant %uint 0\n%u1 = OpConstant %uint 1\n"
                        "%u2 = OpConstant %uint 2\n%u3 = OpConstant %uint 3\n%zero = ", 1)  # fmt: skip
    text += """
      %k = OpExtInst %void %strings Kernel %narrow %name
   %info = OpExtInst %void %strings ArgumentInfo %out
     %a1 = OpExtInst %void %strings ArgumentStorageBuffer %k %u0 %u0 %u2
     %a0 = OpExtInst %void %strings ArgumentStorageBuffer %k %u1 %u3 %u1 %info
"""
    images = foreign_kernels(assemble(text)).images
    narrow = images[1].kernels[0]
    assert [p.name for p in narrow.parameters] == ["arg0", "out"]
    assert [p.binding for p in narrow.parameters if isinstance(p, BufferParameter)] == [0, 1]
    assert b"ClspvReflection" not in images[1].spirv


def test_values_of_constants():
    (image,) = foreign_kernels(binary("spec_constants"), spec_values={0: 9, "SCALE": 0.25}).images
    found = {c.name: c.default for c in image.spec_constants}
    assert found["COUNT"] == (9).to_bytes(4, "little")
    (image,) = foreign_kernels(
        binary("spec_constants"), spec_values={"SCALE": math.nan}
    ).images  # equals nothing
    assert math.isnan(*struct.unpack("<f", {c.name: c.default for c in image.spec_constants}["SCALE"]))
    for wrong in ({77: 1}, {"nothing": 1}, {0: 0.5}, {0: 1 << 40}, {2: 3}):
        with pytest.raises(lp.KernelArgumentError):
            foreign_kernels(binary("spec_constants"), spec_values=wrong)


def test_unknown_capabilities_never_reach_a_driver():
    found = foreign_kernels(assemble(TWO_KERNELS.replace("Float64", "Float64\nOpCapability Geometry")))
    assert found.images == ()
    assert "Geometry" in found.left_out["narrow"]


def test_offsets_of_push_constants():
    (image,) = foreign_kernels(binary("push_struct")).images
    places = {p.name: getattr(p, "offset_bytes", None) for p in image.kernels[0].parameters[1:]}
    assert places == {"count": 0, "eye": 16, "turn": 32, "weights": 64, "light": 80}
    assert isinstance(image.kernels[0].parameters[1], ScalarParameter)


@pytest.mark.parametrize("length", [0, 3, 4, 19, 20, 21, 100, 200, -4, -8])
def test_truncated(length):
    data = binary("push_struct")[:length]
    with pytest.raises(lp.BuildError) as caught:
        foreign_kernels(data)
    assert caught.value.log


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    name=st.sampled_from(NAMES),
    flips=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 31)), min_size=1, max_size=4),
)
def test_flipped_bits_are_an_error_or_harmless(name, flips):
    data = bytearray(binary(name))
    for place, bit in flips:
        word = place % (len(data) // 4)
        data[word * 4 + bit // 8] ^= 1 << bit % 8
    try:
        found = foreign_kernels(bytes(data), loop_cap=65_535)
    except lp.Error as error:
        assert str(error)
        return
    for image in found.images:
        assert spirv_tools().validate(image.spirv) is None


def test_the_binaries_are_those_of_the_texts(tmp_path):
    import shutil

    if shutil.which("glslangValidator") is None:
        pytest.skip("glslang is not installed")
    for name in NAMES:
        text = (SHADERS / f"{name}.comp").read_text("utf-8")
        command = text.splitlines()[1].partition(": ")[2].split()
        out = tmp_path / f"{name}.spv"
        command = [str(SHADERS / part) if part.endswith(".comp") else part for part in command]
        command[-1] = str(out)
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        (one,), (two,) = foreign_kernels(out.read_bytes()).images, foreign_kernels(binary(name)).images
        assert one.kernels == two.kernels
