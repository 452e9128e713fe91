"""Kernels of bundle files, which are built for no device, keep NaN, infinities and -0.0 where the device can."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

OBJECT, EXECUTABLE = lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE
SOURCE = """
import lapilli as lp


@lp.external
def times_nothing(x: lp.f32) -> lp.f32:
    return x * 0.0


@lp.kernel
def plain(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
    i = lp.global_id(0)
    y[i] = x[i] * 0.0


@lp.kernel
def imported(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
    i = lp.global_id(0)
    y[i] = times_nothing(x[i])
"""
GLSL = """
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer X { float x[]; };
void main() { x[gl_GlobalInvocationID.x] *= 0.0; }
"""


@pytest.mark.parametrize("state", [OBJECT, EXECUTABLE], ids=lambda state: state.name)
@pytest.mark.parametrize("is_native", [False, True], ids=["spirv", "native"])
def test_what_is_not_a_number_stays_so(make_project, device, context, state, is_native):
    if 32 not in device.target_env.signed_zero_inf_nan_preserve_bits:
        pytest.skip("the device promises nothing of NaN")
    project = make_project(SOURCE)
    file = project.folder / "floats.lpk"
    project.build("-o", file, *(("--targets", device.selector) if is_native else ()))
    project.forget()
    bundle = lp.load_kernel_bundle(context, file, state=state)
    bundle = bundle if state is EXECUTABLE else lp.link(bundle)
    x = lp.asarray(np.float32([np.nan, np.inf, -np.inf, -2.0, 2.0]), device=device)
    for kernel in ("plain", "imported"):
        y = lp.empty(5, device=device)
        lp.Queue(device, context=context).parallel_for(5, bundle.get_kernel(kernel), x, y)
        with np.errstate(invalid="ignore"):
            expected = x.numpy() * np.float32(0)
        np.testing.assert_array_equal(y.numpy(), expected)
        np.testing.assert_array_equal(np.signbit(y.numpy()[3:]), np.signbit(expected[3:]))
    for image in bundle:
        assert "SignedZeroInfNanPreserve 32" in image.disassemble()
        lp.spirv.validate(image.binary.spirv, target_env="vulkan1.2")


def test_kernels_of_other_compilers_are_as_they_are(device, context, tmp_path):
    source = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.GLSL, GLSL)
    lp.build(source).save(tmp_path / "glsl.lpk")
    for image in lp.load_kernel_bundle(context, tmp_path / "glsl.lpk", [device]):
        assert "SignedZeroInfNanPreserve" not in image.disassemble()
