"""Kernels of bundles from source: by name, their arguments, languages of one's own, linking with foreign functions."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.source_language import (
    register_language,
    unregister_language,
)

from . import source_importer
from .conftest import SHADERS
from .source_text import TWO, Mine, Reversed, create

pytestmark = pytest.mark.device

Language = lp.SourceLanguage


@pytest.mark.behaviour("SRC-24", "SRC-25", "SRC-26", "SRC-28")
def test_kernels_by_name(context, queue, device):
    kb = lp.build(create(context))
    assert [kb.ext_oneapi_has_kernel(name) for name in ("iota", "affine", "second", "")] == [
        True,
        True,
        False,
        False,
    ]
    with pytest.raises(lp.UnknownKernelError, match="affine, iota"):
        kb.ext_oneapi_get_kernel("second")
    with pytest.raises(TypeError):
        kb.ext_oneapi_has_kernel(3)
    with pytest.raises(lp.UnknownKernelError, match=r"it has affine \(from source\), iota \(from source\)"):
        kb.get_kernel(source_importer.calls_foreign)
    x, out = lp.zeros(6, lp.i32, device=device), lp.zeros(6, lp.i32, device=device)
    queue.parallel_for(6, kb.ext_oneapi_get_kernel("iota"), x)
    queue.parallel_for(6, kb.ext_oneapi_get_kernel("affine"), x, out=out)
    np.testing.assert_array_equal(out.numpy(), 2 * np.arange(6) + 100)
    assert kb.ext_oneapi_get_kernel("iota").get_kernel_bundle() == kb


ADDING = """
               OpCapability Shader
               OpMemoryModel Logical GLSL450
               OpEntryPoint GLCompute %one "add one" %place %data
               OpEntryPoint GLCompute %two "two" %place %data
               OpExecutionMode %one LocalSize 1 1 1
               OpExecutionMode %two LocalSize 1 1 1
               OpName %one "not_this"
               OpDecorate %place BuiltIn GlobalInvocationId
               OpDecorate %items ArrayStride 4
               OpDecorate %block Block
               OpMemberDecorate %block 0 Offset 0
               OpDecorate %data DescriptorSet 0
               OpDecorate %data Binding 0
       %void = OpTypeVoid
         %fn = OpTypeFunction %void
        %u32 = OpTypeInt 32 0
         %v3 = OpTypeVector %u32 3
        %pv3 = OpTypePointer Input %v3
         %c0 = OpConstant %u32 0
         %c1 = OpConstant %u32 1
         %c2 = OpConstant %u32 2
      %items = OpTypeRuntimeArray %u32
      %block = OpTypeStruct %items
         %pb = OpTypePointer StorageBuffer %block
         %pu = OpTypePointer StorageBuffer %u32
      %place = OpVariable %pv3 Input
       %data = OpVariable %pb StorageBuffer
        %one = OpFunction %void None %fn
          %a = OpLabel
         %a1 = OpLoad %v3 %place
         %a2 = OpCompositeExtract %u32 %a1 0
         %a3 = OpAccessChain %pu %data %c0 %a2
               OpStore %a3 %c1
               OpReturn
               OpFunctionEnd
        %two = OpFunction %void None %fn
          %b = OpLabel
         %b1 = OpLoad %v3 %place
         %b2 = OpCompositeExtract %u32 %b1 0
         %b3 = OpAccessChain %pu %data %c0 %b2
               OpStore %b3 %c2
               OpReturn
               OpFunctionEnd
"""
HINTS = (
    ADDING.replace("OpCapability Shader", "OpCapability Shader\nOpCapability ExpectAssumeKHR", 1)
    .replace("OpMemoryModel", 'OpExtension "SPV_KHR_expect_assume"\nOpMemoryModel', 1)
    .replace("OpStore %a3 %c1", "OpAssumeTrueKHR %true\n%a4 = OpExpectKHR %u32 %c1 %c2\nOpStore %a3 %a4")
    .replace(
        "%c0 = OpConstant %u32 0", "%c0 = OpConstant %u32 0\n%bool = OpTypeBool\n%true = OpConstantTrue %bool"
    )
)
ADDING_1_3 = ADDING.replace("%place %data", "%place")
"""As until SPIR-V 1.3: interfaces are of inputs alone."""

OF_MLIR = """
gpu.module @no_kernel {
  gpu.func @one(%x: memref<?xi32>) kernel {
    %i = gpu.global_id x
    %c1 = arith.constant 1 : i32
    memref.store %c1, %x[%i] : memref<?xi32>
    gpu.return
  }
  gpu.func @two(%x: memref<?xi32>) kernel {
    %i = gpu.global_id x
    %c2 = arith.constant 2 : i32
    memref.store %c2, %x[%i] : memref<?xi32>
    gpu.return
  }
}
"""
OF_GLSL = """#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer Out { int x[]; };
void main() { x[gl_GlobalInvocationID.x] = 1; }
"""


def test_hints_need_no_feature(built, queue, device):
    kernel = built(Language.SPIRV_ASM, HINTS).ext_oneapi_get_kernel("add one")
    x = lp.zeros(4, lp.u32, device=device)
    queue.parallel_for(4, kernel, x)
    np.testing.assert_array_equal(x.numpy(), 1)


@pytest.mark.behaviour("SRC-26", "SRC-28")
@pytest.mark.parametrize(
    ("language", "source", "names", "others"),
    [
        (Language.SPIRV, ADDING, ["add one", "two"], ["one", "not_this", "main"]),
        (Language.SPIRV_ASM, ADDING, ["add one", "two"], ["one", "not_this", "main"]),
        (Language.SPIRV_ASM, ADDING_1_3, ["add one", "two"], ["one", "not_this", "main"]),
        (Language.SPIRV, ADDING_1_3, ["add one", "two"], ["one", "not_this", "main"]),
        (Language.MLIR, OF_MLIR, ["one", "two"], ["no_kernel", "main"]),
        (Language.GLSL, OF_GLSL, ["main"], ["Out", ""]),
    ],
    ids=["SPIRV", "SPIRV_ASM", "SPIRV_ASM_1.3", "SPIRV_1.3", "MLIR", "GLSL"],
)
def test_names_of_each_language(context, queue, device, language, source, names, others):
    if not device.ext_oneapi_can_compile(language):
        pytest.skip(f"{language.name} has no compiler here")
    kb = lp.build(
        create(context, language, lp.spirv.assemble(source) if language is Language.SPIRV else source)
    )
    assert all(map(kb.ext_oneapi_has_kernel, names)) and not any(map(kb.ext_oneapi_has_kernel, others))
    for value, name in enumerate(names, 1):
        out = lp.zeros(4, lp.u32 if language.name.startswith("SPIRV") else lp.i32, device=device)
        queue.parallel_for(lp.NdRange(4, 1), kb.ext_oneapi_get_kernel(name), out)
        assert out.numpy().tolist() == [value] * 4


@pytest.mark.behaviour("SRC-24")
def test_an_ordinary_bundle_has_no_kernels_from_source(context):
    kb = lp.get_kernel_bundle(context, state=lp.BundleState.INPUT, kernel=source_importer.calls_foreign)
    assert not kb.ext_oneapi_has_kernel("calls_foreign")


@pytest.mark.behaviour("SRC-27")
def test_missing_and_mistyped_arguments(context, queue, device):
    binary = (SHADERS / "saxpy.spv").read_bytes()
    kernel = lp.build(create(context, Language.SPIRV, binary)).ext_oneapi_get_kernel("main")
    x = lp.zeros(64, lp.f32, device=device)
    for args, text in (
        ((x, x, 1.0), "missing: 'n'"),
        ((x, x, 1.0, 2, 3), "1 too many"),
        ((x, 1.0, x, 2), "'Y'.*found float"),
        ((x, lp.zeros(4, lp.i32, device=device), 1.0, 2), "'Y'.*expected an array of lp.f32"),
        ((x, np.zeros(4, np.float32), 1.0, 2), "'Y'.*NumPy"),
        ((x, x, 1.0, -2), "'n'.*-2"),
    ):
        with pytest.raises(lp.KernelArgumentError, match=text):
            queue.parallel_for(64, kernel, *args)
    with pytest.raises(lp.KernelArgumentError, match="'Z' is no parameter"):
        queue.parallel_for(64, kernel, x, x, 1.0, Z=4)


@pytest.mark.behaviour("SRC-27")
def test_arguments_set_by_hand(context, queue, device):
    kernel = lp.build(create(context)).ext_oneapi_get_kernel("affine")
    x = lp.asarray(np.arange(1024, dtype=np.int32), device=device)
    for name in ("set_args", "set_arg"):
        out = lp.zeros(1024, lp.i32, device=device)

        def group(h: lp.Handler, name: str = name, out: lp.Array = out):
            if name == "set_args":
                h.set_args(x, out)
            else:
                h.set_arg(1, out)
                h.set_arg(0, x)
            h.parallel_for(lp.Range(1024), kernel)

        queue.submit(group)
        np.testing.assert_array_equal(out.numpy(), 2 * np.arange(1024) + 100)

    def lacking(h: lp.Handler):
        h.set_arg(0, x)
        h.parallel_for(lp.Range(1024), kernel)

    def surplus(h: lp.Handler):
        h.set_args(x, x, x)
        h.parallel_for(lp.Range(1024), kernel)

    for group in (lacking, surplus):
        with pytest.raises(lp.KernelArgumentError) as caught:
            queue.submit(group)
        assert caught.value.errc is lp.Errc.KERNEL_ARGUMENT


@pytest.mark.behaviour("SRC-29", "SRC-02")
def test_a_language_of_ones_own(context, queue, device):
    front_end = Reversed()
    with pytest.raises(lp.InvalidError, match="no front end"):
        create(context, Mine.REVERSED, "")
    register_language(Mine.REVERSED, front_end)
    try:
        assert device.ext_oneapi_can_compile(Mine.REVERSED)
        kb = lp.build(create(context, Mine.REVERSED, TWO[::-1]), props=[lp.BuildOptions("--shout=1 -g")])
        assert front_end.requests[0].options.others == ("--shout=1",)
        out = lp.zeros(3, lp.i32, device=device)
        queue.parallel_for(3, kb.ext_oneapi_get_kernel("iota"), out)
        assert out.numpy().tolist() == [0, 1, 2]
    finally:
        unregister_language(Mine.REVERSED)
    assert not device.ext_oneapi_can_compile(Mine.REVERSED)


LIBRARY = """
               OpCapability Shader
               OpCapability Linkage
               OpMemoryModel Logical GLSL450
               OpDecorate %twice LinkageAttributes "foreign_twice" Export
      %float = OpTypeFloat 32
   %function = OpTypeFunction %float %float
      %twice = OpFunction %float None %function
          %x = OpFunctionParameter %float
      %label = OpLabel
        %sum = OpFAdd %float %x %x
               OpReturnValue %sum
               OpFunctionEnd
"""


@pytest.mark.behaviour("IOP-44", "IOP-45")
def test_a_python_kernel_calls_a_function_of_a_spirv_module(context, queue, device):
    library = lp.compile(
        create(context, Language.SPIRV_ASM, LIBRARY), props=[lp.BuildOptions("--target-env=spv1.3")]
    )
    assert library.state is lp.BundleState.OBJECT
    kernels = lp.compile(
        lp.get_kernel_bundle(context, state=lp.BundleState.INPUT, kernel=source_importer.calls_foreign)
    )
    with pytest.raises(lp.LinkError, match="foreign_twice") as caught:
        lp.link(kernels)
    assert caught.value.errc is lp.Errc.BUILD
    linked = lp.link([kernels, library])
    x = lp.asarray(np.arange(10, dtype=np.float32), device=device)
    queue.parallel_for(10, linked.get_kernel(source_importer.calls_foreign), x)
    np.testing.assert_array_equal(x.numpy(), 2 * np.arange(10) + 1)


@pytest.mark.behaviour("KB-16", "KID-09")
def test_kernels_from_source_have_no_id(device: lp.Device):
    before = set(lp.get_kernel_ids())
    bundle = lp.build(create(device.default_context), [device])
    assert isinstance(bundle, lp.KernelBundle)
    assert bundle.ext_oneapi_has_kernel("iota")
    assert bundle.get_kernel_ids() in ([], ())
    assert set(lp.get_kernel_ids()) == before
    with pytest.raises(lp.UnknownKernelError):
        lp.get_kernel_id("iota")


STRUCTS = """
import lapilli as lp

@lp.struct
class Point:
    x: lp.f32
    y: lp.f32 = 2.0

@lp.struct
class Weighted(Point):
    weight: lp.i32 = 3

@lp.kernel
def moment(points: lp.In[Weighted], out: lp.Array[lp.f32]):
    out[0] = Weighted(1.0).y
    for p in points:
        out[0] += p.x * p.weight
"""


def test_python_structs_inherit_their_members(device, queue, context):
    kernel = lp.build(create(context, source=STRUCTS)).ext_oneapi_get_kernel("moment")

    @lp.struct
    class Mass:  # the layout of Weighted
        x: lp.f32
        y: lp.f32
        weight: lp.i32

    out = lp.zeros(1, device=device)
    queue.parallel_for(1, kernel, lp.asarray([Mass(0.5, 0.0, 4), Mass(1.0, 0.0, 5)], device=device), out)
    assert out.numpy()[0] == 9.0


def test_python_structs_inherit_from_structs_alone(context):
    text = STRUCTS.replace("Weighted(Point)", "Weighted(lp.Queue)")
    with pytest.raises(lp.BuildError, match="class 'Weighted': expected a struct of this text as its base"):
        lp.build(create(context, source=text))
