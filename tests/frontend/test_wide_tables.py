"""Captured NumPy arrays of float64 and int64 that make narrower numbers 64-bit ones: warned of, and nothing else is."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lapilli as lp

WEIGHTS = np.array([0.25, 0.5])
STEPS = np.array([[1, 0], [0, 1]])
NARROW = np.array([0.25, 0.5], np.float32)


def warned(kernel):
    """Returns the texts of the warnings that compiling a kernel causes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel.inspect("ir")
    assert all(issubclass(w.category, lp.KernelWarning) for w in caught)
    return [str(w.message) for w in caught]


def test_float64_beside_f32():
    @lp.kernel
    def weighted(x: lp.Array[lp.f32]):
        i = lp.global_id(0)
        x[i] = x[i] * WEIGHTS[i % 2]
        x[i] += WEIGHTS[0] - x[0]  # the same table again

    (text,) = warned(weighted)
    assert "'WEIGHTS' is a NumPy array of float64" in text and "make it np.float32" in text
    assert "x[i] = x[i] * WEIGHTS[i % 2]\n" in text


@pytest.mark.parametrize(("element", "wanted"), [("i32", "np.int32"), ("u32", "np.uint32")])
def test_int64_beside_narrower_integers(element, wanted):
    kind = lp.Array[getattr(lp, element)]

    @lp.kernel
    def stepped(x: kind):
        i = lp.global_id(0)
        if STEPS[i, 0] < x[i]:
            x[i] = 1

    (text,) = warned(stepped)
    assert "'STEPS' is a NumPy array of int64" in text and f"make it {wanted}" in text


def test_an_assignment_with_an_operator():
    @lp.kernel
    def scaled(x: lp.Array[lp.f32]):
        x[lp.global_id(0)] *= WEIGHTS[1]

    assert len(warned(scaled)) == 1


def test_a_parameter_of_the_same_name():
    @lp.kernel
    def hiding(x: lp.Array[lp.f32], WEIGHTS: lp.In[lp.f64]):
        x[0] = lp.f32(x[0] * WEIGHTS[0])

    assert warned(hiding) == []


def test_what_is_meant_or_narrow():
    @lp.kernel
    def quiet(x: lp.Array[lp.f32], y: lp.Array[lp.f64]):
        i = lp.global_id(0)
        y[i] = y[i] * WEIGHTS[0] + lp.f64(x[i]) * WEIGHTS[i % 2] + 2.0 * WEIGHTS[1]
        x[i] = x[STEPS[i, 1]] * NARROW[i % 2] + lp.f32(WEIGHTS[0])
        x[i] *= STEPS[0, i % 2]  # in 32 bits: integers become the other operand's type

    assert warned(quiet) == []
