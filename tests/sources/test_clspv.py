"""Kernels of clspv, which compiles OpenCL C: NonSemantic.ClspvReflection says what their arguments are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lapilli as lp

from .conftest import SHADERS

pytestmark = pytest.mark.device

FORMS = ["saxpy_pod_push", "saxpy_pod_buffer", "saxpy_pod_uniform"]
Built = Callable[..., lp.KernelBundle]
OF_CLSPV = lp.BuildOptions("--target-env=spv1.0")


def text_of(form: str) -> str:
    if form != "saxpy_pod_uniform":
        return (SHADERS / "clspv" / f"{form}.spvasm").read_text("utf-8")
    text = text_of("saxpy_pod_buffer")  # with -pod-ubo: the same in a uniform buffer
    for old, new in (
        (
            "%_ptr_Pods__struct_9 = OpTypePointer StorageBuffer",
            "%_ptr_Pods__struct_9 = OpTypePointer Uniform",
        ),
        (
            "%_ptr_Pods__struct_8 = OpTypePointer StorageBuffer",
            "%_ptr_Pods__struct_8 = OpTypePointer Uniform",
        ),
        ("OpVariable %_ptr_Pods__struct_9 StorageBuffer", "OpVariable %_ptr_Pods__struct_9 Uniform"),
        ("OpDecorate %pods NonWritable", ""),
        ("ArgumentPodStorageBuffer", "ArgumentPodUniform"),
    ):
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("form", FORMS)
def test_arguments_in_the_order_of_the_kernel(device: lp.Device, queue: lp.Queue, built: Built, form: str):
    kb = built(lp.SourceLanguage.SPIRV_ASM, text_of(form), OF_CLSPV)
    x, y = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
    out = lp.asarray(y, device=device)
    given = (out, 0.5, lp.asarray(x, device=device), lp.local(16), 50)
    queue.parallel_for(lp.NdRange(64, 16), kb.ext_oneapi_get_kernel("saxpy"), *given)
    expected = np.where(np.arange(64) < 50, y + 0.5 * x.reshape(4, 16)[:, ::-1].ravel(), y)
    np.testing.assert_array_equal(out.numpy(), expected)  # exact: few bits


@pytest.mark.parametrize("form", FORMS)
def test_arguments_by_name(device: lp.Device, queue: lp.Queue, built: Built, form: str):
    kernel = built(lp.SourceLanguage.SPIRV_ASM, text_of(form), OF_CLSPV).ext_oneapi_get_kernel("fill")
    out = lp.zeros(8, lp.i32, device=device)
    for value in (-7, 9):  # each launch has values of its own
        queue.parallel_for(8, kernel, value=value % (1 << 32), out=out)
    queue.parallel_for(4, kernel, value=5, out=out)
    assert out.numpy().tolist() == [5] * 4 + [9] * 4
    with pytest.raises(lp.KernelArgumentError, match=r"'value'.*found float"):
        queue.parallel_for(8, kernel, out, 1.5)
    with pytest.raises(lp.KernelArgumentError, match="missing: 'value'"):
        queue.parallel_for(8, kernel, out=out)


def test_images_and_samplers(device: lp.Device, queue: lp.Queue, built: Built):
    kernel = built(lp.SourceLanguage.SPIRV_ASM, text_of("warp_images"), OF_CLSPV).ext_oneapi_get_kernel(
        "warp"
    )
    pixels = np.random.default_rng(0).random((8, 4, 4), np.float32)
    source, target = lp.UnsampledImage(pixels, device=device), lp.UnsampledImage(0 * pixels, device=device)
    queue.parallel_for((8, 4), kernel, source, 1.5, lp.ImageSampler("clamp"), target)
    expected = np.zeros_like(pixels)
    expected[:-1, :-1] = pixels[1:, 1:]  # the middle of the pixel one further in both dimensions
    np.testing.assert_array_equal(target.numpy(), expected)
    queue.parallel_for((8, 4), kernel, s=lp.ImageSampler(), source=source, target=target, shift=0.5)
    np.testing.assert_array_equal(target.numpy(), pixels)
    with pytest.raises(lp.KernelArgumentError, match=r"'s'.*expected an lp\.ImageSampler"):
        queue.parallel_for((8, 4), kernel, source, 0.5, source, target)


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        ("PushConstantEnqueuedLocalSize %uint_0 %uint_4", "the enqueued local size"),
        ("PushConstantGlobalSize %uint_0 %uint_4", "the global size"),
        ("PushConstantNumWorkgroups %uint_0 %uint_4", "the number of work-groups"),
        ("ConstantDataStorageBuffer %uint_0 %uint_0 %n_y", "constant data in a buffer"),
        ("ConstantDataUniform %uint_0 %uint_0 %n_y", "constant data in a buffer"),
        ("LiteralSampler %uint_0 %uint_3 %uint_1", "make it an argument"),
        ("ArgumentPointerPushConstant %100 %uint_0 %uint_0 %uint_4 %101", "pointers in push constants"),
        ("ArgumentPointerUniform %100 %uint_0 %uint_0 %uint_0 %uint_0 %uint_4 %101", "pointers in uniform"),
        ("ProgramScopeVariablesStorageBuffer %uint_0 %uint_0 %n_y", "program-scope variables"),
        ("ProgramScopeVariablePointerRelocation %uint_0 %uint_0 %uint_4", "program-scope variables"),
        ("ImageArgumentInfoChannelOrderPushConstant %100 %uint_0 %uint_0 %uint_4", "the channel order"),
        ("ImageArgumentInfoChannelDataTypePushConstant %100 %uint_0 %uint_0 %uint_4", "the channel type"),
        (
            "ImageArgumentInfoChannelOrderUniform %100 %uint_0 %uint_0 %uint_0 %uint_0 %uint_4",
            "the channel order",
        ),
        (
            "ImageArgumentInfoChannelDataTypeUniform %100 %uint_0 %uint_0 %uint_0 %uint_0 %uint_4",
            "the channel type",
        ),
        ("ArgumentStorageTexelBuffer %100 %uint_0 %uint_0 %uint_0 %101", "texel buffers"),
        ("ArgumentUniformTexelBuffer %100 %uint_0 %uint_0 %uint_0 %101", "texel buffers"),
        ("ConstantDataPointerPushConstant %uint_0 %uint_4 %n_y", "constant data by its address"),
        ("ProgramScopeVariablePointerPushConstant %uint_0 %uint_4 %n_y", "program-scope variables"),
        ("PrintfInfo %uint_0 %n_y", "printf"),
        ("PrintfBufferStorageBuffer %uint_0 %uint_0 %uint_4", "printf"),
        ("PrintfBufferPointerPushConstant %uint_0 %uint_4 %uint_4", "printf"),
    ],
)
def test_what_lapilli_does_not_pass(built: Built, instruction: str, message: str):
    text = text_of("saxpy_pod_push") + f"%200 = OpExtInst %void %90 {instruction}\n"
    with pytest.raises(lp.FeatureNotSupportedError, match=message):
        built(lp.SourceLanguage.SPIRV_ASM, text, OF_CLSPV)


def test_plain_arguments_in_two_places(built: Built):
    text = text_of("saxpy_pod_buffer")
    twice = text.replace("%100 %uint_4 %uint_0 %uint_2", "%100 %uint_4 %uint_0 %uint_3")
    assert twice != text
    with pytest.raises(lp.FeatureNotSupportedError, match="cluster-pod-kernel-args"):
        built(lp.SourceLanguage.SPIRV_ASM, twice, OF_CLSPV)


@pytest.mark.parametrize("name", ["saxpy", "shared_reverse", "several_sets"])
def test_what_spirv_dis_prints_is_the_same_kernel(built: Built, name: str):
    binary = (SHADERS / f"{name}.spv").read_bytes()
    text = lp.spirv.disassemble(binary)
    assert "; Version: 1." in text  # which says what an interface lists
    (first,), (second,) = built(lp.SourceLanguage.SPIRV_ASM, text), built(lp.SourceLanguage.SPIRV, binary)
    assert first.binary.kernels == second.binary.kernels
