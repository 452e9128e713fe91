"""A kernel with an optional feature is refused where the device lacks it; its neighbours run."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.compile import compile_kernels
from lapilli.spirv.reflect import reflect
from lapilli.spirv.tables import Capability

pytestmark = pytest.mark.device


def widen(v: lp.f32):
    return lp.f64(v) * 3.0  # the use that the message must name


@lp.kernel
def with_double(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    out[i] = lp.f32(widen(x[i]))


@lp.kernel
def without_double(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    out[i] = x[i] * 3.0


@lp.kernel
def double_folded_away(out: lp.Out[lp.f32]):
    out[lp.global_id(0)] = lp.f32(lp.f64(0.1) + lp.f64(0.2))


def test_double_kernel_runs_or_is_refused_by_name(device):
    x = lp.asarray(np.float32([1, 2, 3]), device=device)
    out = lp.zeros(3, device=device)
    if device.has(lp.Aspect.FP64):
        with_double[3](x, out)
        assert out.numpy().tolist() == [3, 6, 9]
        return
    with lp.trace() as trace, pytest.raises(lp.KernelNotSupportedError) as caught:
        with_double[3](x, out)
    assert trace.count("module") == trace.count("pipeline") == trace.count("launch") == 0
    message = str(caught.value)
    sentence = "Kernel uses optional feature corresponding to 'aspect::fp64' but device does not support this aspect."
    assert sentence in message
    line = inspect.getsourcelines(widen)[1] + 1
    assert f"test_aspects.py:{line}:" in message
    assert "with_double" in message
    assert device.name in message
    for other in lp.devices():
        if other.has(lp.Aspect.FP64):
            assert other.name in message
    assert caught.value.errc is lp.Errc.KERNEL_NOT_SUPPORTED
    assert caught.value.location is not None and caught.value.location.line == line
    assert out.numpy().tolist() == [0, 0, 0]


def test_other_kernels_of_the_program_run_everywhere(device):
    out = lp.zeros(3, device=device)
    without_double[3](lp.asarray(np.float32([1, 2, 3]), device=device), out)
    assert out.numpy().tolist() == [3, 6, 9]


def test_double_that_the_optimiser_removes_is_no_requirement(device):
    out = lp.zeros(1, device=device)
    double_folded_away[1](out)
    assert out.numpy().tolist() == [np.float32(0.1 + 0.2)]


def test_kernels_with_and_without_double_land_in_different_images():
    images = compile_kernels([with_double, without_double])
    kernels = {tuple(k.name for k in image.kernels): image for image in images}
    assert set(kernels) == {("with_double",), ("without_double",)}
    for names, image in kernels.items():
        is_double = names == ("with_double",)
        assert (Capability.Float64 in reflect(image.spirv).capabilities) is is_double
        assert image.requirements.aspects == ((lp.Aspect.FP64,) if is_double else ())


def test_kernels_of_equal_needs_share_an_image():
    (image,) = compile_kernels([without_double, double_folded_away])
    assert [k.name for k in image.kernels] == ["without_double", "double_folded_away"]
