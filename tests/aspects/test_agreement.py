"""The aspects that follow from the IR and those that follow from the binary are compared for every image built."""

from __future__ import annotations

from dataclasses import replace

import pytest

import lapilli as lp
from lapilli.frontend.compile import analyse_kernels
from lapilli.ir.kernel_info import AspectUse, Requirements
from lapilli.ir.target_env import TargetEnv
from lapilli.passes.pipeline import lower_image
from lapilli.spirv.build_image import build_image
from lapilli.spirv.errors import SpirvValidationError


@lp.kernel
def doubles(x: lp.Array[lp.f64]):
    i = lp.global_id(0)
    x[i] = x[i] * 2.0


@pytest.fixture
def split():
    (image,) = analyse_kernels([doubles], TargetEnv()).images
    return lower_image(image, TargetEnv())


@pytest.mark.behaviour("ASP-22")
def test_they_agree(split):
    assert build_image(split, TargetEnv()).requirements.aspects == (lp.Aspect.FP64,)


def test_a_capability_without_its_requirement_is_found(split):
    with pytest.raises(SpirvValidationError, match="capability Float64 needs aspect fp64"):
        build_image(replace(split, requirements=Requirements()), TargetEnv())


def test_a_use_without_its_capability_is_found(split):
    (kernel,) = split.kernels
    use = AspectUse(aspect=int(lp.Aspect.FP16), location=None, what="f16 value")
    with_use = replace(split, kernels=(replace(kernel, aspect_uses=(*kernel.aspect_uses, use)),))
    with pytest.raises(SpirvValidationError, match="requires aspect fp16, but its code declares no such"):
        build_image(with_use, TargetEnv())
    declared = replace(use, is_declared=True)
    said = replace(split, kernels=(replace(kernel, aspect_uses=(*kernel.aspect_uses, declared)),))
    assert build_image(said, TargetEnv())


def test_fixed_targets_stand_for_the_aspects(split):
    fixed = replace(split, requirements=Requirements(fixed_targets=(0x20000,)))
    assert build_image(fixed, TargetEnv()).requirements.aspects == ()
