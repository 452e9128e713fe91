"""The aspects that follow from the IR and those that follow from the binary are compared for every image built."""

from __future__ import annotations

from dataclasses import replace

import pytest

import lapilli as lp
from lapilli.frontend.compile import analyse_kernels, compile_kernels
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


SCALARS = ("f16", "f32", "f64", "i8", "u8", "i16", "u16", "i32", "i64", "u64", "bf16", "bool_")
UNREAD = {
    "parameter": "@lp.kernel\ndef k(d: lp.{0}, out: lp.Array[lp.f32]):\n    out[0] = 1.0\n",
    "vector": "@lp.kernel\ndef k(d: lp.Vec[lp.{0}, 3], out: lp.Array[lp.f32]):\n    out[0] = 1.0\n",
    "fixed array": "@lp.kernel\ndef k(d: lp.FixedArray[lp.{0}, 3], out: lp.Array[lp.f32]):\n    out[0] = 1.0\n",
    "struct": "@lp.struct\nclass S:\n    a: lp.f32\n    b: lp.{0}\n"
    "@lp.kernel\ndef k(d: S, out: lp.Array[lp.f32]):\n    out[0] = d.a\n",
    "helper's": "def h(v: lp.{0}, w: lp.f32):\n    return w\n"
    "@lp.kernel\ndef k(d: lp.{0}, out: lp.Array[lp.f32]):\n    out[0] = h(d, 2.0)\n",
    "dead code": "@lp.kernel\ndef k(d: lp.{0}, out: lp.Array[lp.f32]):\n"
    "    for i in range(0):\n        out[i] = lp.f32(d)\n    out[1] = 1.0\n",
}


@pytest.mark.behaviour("ASP-12")
@pytest.mark.parametrize("place", list(UNREAD))
@pytest.mark.parametrize("level", [0, 1])
def test_a_value_that_no_code_reads_is_required_and_may_be_missing_in_the_binary(place, level):
    """Parameters count as uses; nothing remains of those that are not read, which is no disagreement."""
    env = TargetEnv(optimisation_level=level)
    for scalar in SCALARS:
        (image,) = compile_kernels([lp.kernel_from_source(UNREAD[place].format(scalar))], env)
        expected = {"f64": lp.Aspect.FP64, "f16": lp.Aspect.FP16, "i64": lp.Aspect.VK_INT64}.get(scalar)
        assert expected is None or expected in image.requirements.aspects


@pytest.mark.device
@pytest.mark.parametrize(
    "operation", ["reduce(x[i], 'max')", "shuffle(x[i], 1)", "any(x[i] > 0.0)", "ballot(x[i] > 0.0).x"]
)
def test_one_sub_group_operation_alone(device, operation):
    """Its capability implies the one of basic operations, which the kernel does not use itself."""
    kernel = lp.kernel_from_source(
        "@lp.kernel(local_size=4)\ndef k(x: lp.Array[lp.f32]):\n    i = lp.global_id(0)\n"
        f"    x[i] = lp.f32(lp.sub_group.{operation})\n"
    )
    (image,) = compile_kernels([kernel])
    assert len(image.requirements.aspects) == 1
    x = lp.zeros(4, device=device)
    kernel[4](x)
    assert x.numpy().tolist() == [0] * 4


def test_a_capability_is_implied_by_required_ones_only(split):
    from lapilli.spirv.image_agreement import disagreements
    from lapilli.spirv.reflect import reflect
    from lapilli.spirv.tables import Capability

    binary = build_image(split, TargetEnv()).spirv
    found = reflect(binary)
    more = replace(
        found,
        capabilities=(*found.capabilities, Capability.GroupNonUniformArithmetic, Capability.GroupNonUniform),
    )
    assert len(disagreements(more, split, TargetEnv())) == 2
    required = replace(split, requirements=Requirements(aspects=(6, lp.Aspect.VK_SUBGROUP_ARITHMETIC)))
    assert disagreements(more, required, TargetEnv()) == ()
