"""Kernels of clspv, which compiles OpenCL C: NonSemantic.ClspvReflection says what their arguments are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lapilli as lp

from .conftest import SHADERS

pytestmark = pytest.mark.device

FORMS = ["saxpy_pod_push", "saxpy_pod_buffer"]
Built = Callable[..., lp.KernelBundle]
OF_CLSPV = lp.BuildOptions("--target-env=spv1.0")


def text_of(form: str) -> str:
    return (SHADERS / "clspv" / f"{form}.spvasm").read_text("utf-8")


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


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "ArgumentWorkgroup %100 %uint_3 %uint_3 %uint_4",
            "ArgumentSampler %100 %uint_3 %uint_0 %uint_3",
            "samplers",
        ),
        ("ArgumentPodPushConstant", "ArgumentPodUniform %111", "pod-pushconstant"),
    ],
)
def test_what_lapilli_does_not_pass(built: Built, old: str, new: str, message: str):
    text = text_of("saxpy_pod_push")
    assert old in text
    if "Uniform" in new:
        old, new = (f"{word} %111 %uint_1 {more}%uint_4 %uint_4" for word, more in
                    (("ArgumentPodPushConstant", ""), ("ArgumentPodUniform", "%uint_0 %uint_2 ")))  # fmt: skip
    with pytest.raises(lp.FeatureNotSupportedError, match=message):
        built(lp.SourceLanguage.SPIRV_ASM, text.replace(old, new), OF_CLSPV)


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
