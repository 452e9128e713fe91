"""What the options of `@lp.kernel` do to the code: attributes of the IR, and which kernels share an image."""

from __future__ import annotations

import pytest

import lapilli as lp
from lapilli.frontend.compile import compile_kernels


def wave(x, i):
    return lp.math.sin(x[i]) * 2.0 + 1.0


def body(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = wave(x, i)


def other(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = 1.0


def images(**options: object) -> int:
    return len(compile_kernels([lp.kernel(**options)(body), lp.kernel(other)]))


@pytest.mark.behaviour("TPH-07")
def test_accuracy_is_an_internal_aspect_that_splits():
    assert images() == 1
    assert images(math_accuracy="high") == 2
    assert images(math_accuracy={"sin": "low"}) == 2
    (image,) = compile_kernels([lp.kernel(math_accuracy="high")(body)])
    assert all(aspect >= 0 for aspect in image.requirements.aspects)
    both = [lp.kernel(math_accuracy="high")(f) for f in (body, other)]
    assert len(compile_kernels(both)) == 1
    text = lp.kernel(math_accuracy={"sin": "low", "cos": "high"})(body).inspect("ir")
    (line,) = [part for part in text.splitlines() if "gpu.kernel" in part]
    assert line.count(" : i32") >= 2 and "aspect.used = [-" in line


@pytest.mark.parametrize("value", ["low", {"sin": "best"}, {"sinus": "high"}, 3, ["high"]])
def test_other_accuracies_are_refused(value):
    with pytest.raises(lp.InvalidError, match="math_accuracy"):
        lp.kernel(math_accuracy=value)(body)


def scaled(x, i):
    return x[i] * 2.0 + 1.0


def test_contraction_is_forbidden_in_helpers_too():
    def calls_scaled(x: lp.Array[lp.f32]):
        x[0] = scaled(x, 1)

    exact, free = lp.kernel(contract=False)(calls_scaled), lp.kernel(calls_scaled)
    assert exact.inspect("ir").count("kernel.no_contraction") == 2
    assert "NoContraction" in exact.inspect("spirv")
    assert "NoContraction" not in free.inspect("spirv")


def test_at_level_0_the_passes_fold_nothing():
    def folded(x: lp.Array[lp.i32]):
        a = x[0] * 0
        x[1] = a + x[0] * 0

    plain, kept = lp.kernel(folded).inspect("split"), lp.kernel(opt_level=0)(folded).inspect("split")
    assert plain.count("arith.muli") < kept.count("arith.muli") == 2
    assert "kernel.opt_level = 0" in kept
