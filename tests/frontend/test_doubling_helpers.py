"""Helpers that call the next one twice: drivers, which inline every call, would never end."""

from __future__ import annotations

import pytest

import lapilli as lp
from lapilli.frontend.builder import build_module
from lapilli.frontend.kernel import KernelFunction
from lapilli.ir.target_env import TargetEnv
from lapilli.passes.pipeline import analyse, lower_image
from lapilli.spirv.binary import parse
from lapilli.spirv.build_image import build_image
from lapilli.spirv.call_order import inlined_calls


def kernel_of(levels: int) -> KernelFunction:
    """Returns a kernel whose helpers lie so many levels deep, each with two calls of the one below."""
    text = "def h0(x):\n    return x * 1.5 + 1.0\n\n"
    for level in range(1, levels + 1):
        text += f"def h{level}(x):\n    return h{level - 1}(x) + h{level - 1}(x * 0.5)\n\n"
    return lp.kernel_from_source(
        f"{text}@lp.kernel\ndef k(a: lp.Array[lp.f32]):\n    i = lp.global_id(0)\n    a[i] = h{levels}(a[i])\n"
    )


def spirv_of(kernel: KernelFunction) -> bytes:
    (image,) = analyse(build_module([kernel]), TargetEnv()).images
    return build_image(lower_image(image, TargetEnv()), TargetEnv()).spirv


def test_as_many_calls_as_drivers_compile() -> None:
    assert inlined_calls(parse(spirv_of(kernel_of(15)))) == 2**16 - 1


def test_more_are_refused() -> None:
    with pytest.raises(
        lp.BuildError, match=r"'h16' comes to 131,070 calls.* expected at most 65,536"
    ) as caught:
        spirv_of(kernel_of(18))
    assert caught.value.code == "LP2111"
