"""Texts that are long or deep: elif chains beyond what drivers nest, expressions beyond Python's recursion limit."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


def chain(arms: int, *, last: str = "    else:\n        r = -1\n") -> lp.kernel:
    text = "@lp.kernel\ndef chosen(out: lp.Array[lp.i32]):\n    i = lp.global_id(0)\n    r = -5\n"
    text += "    if i == 0:\n        r = 1\n"
    text += "".join(f"    elif i == {n}:\n        r = {7 * n}\n" for n in range(1, arms))
    return lp.kernel_from_source(text + last + "    out[i] = r\n")


@pytest.mark.parametrize("arms", [32, 33, 70, 200])
def test_elif_chains_of_any_length(device, arms):
    out = lp.zeros(arms + 5, lp.i32, device=device)
    chain(arms)[arms + 5](out)
    expected = 7 * np.arange(arms + 5)
    expected[0], expected[arms:] = 1, -1
    np.testing.assert_array_equal(out.numpy(), expected)


def test_a_long_chain_without_else_leaves_the_variable_alone(device):
    out = lp.zeros(50, lp.i32, device=device)
    chain(40, last="")[50](out)
    assert out.numpy()[40:].tolist() == [-5] * 10
    assert out.numpy()[39] == 7 * 39


def test_conditions_run_in_order_and_only_as_long_as_none_held(device):
    text = "@lp.kernel\ndef counted(out: lp.Array[lp.i32]):\n    i = lp.global_id(0)\n    n = 0\n"
    text += "    if i == 0:\n        out[i] = 0\n"
    text += "".join("    elif (n := n + 1) == i:\n        out[i] = n * 10\n" for _ in range(40))
    kernel = lp.kernel_from_source(text + "    else:\n        return\n    out[i] += n\n")
    out = lp.full(50, -1, lp.i32, device=device)
    kernel[50](out)
    expected = np.where(np.arange(50) <= 40, 11 * np.arange(50), -1)
    np.testing.assert_array_equal(out.numpy(), expected)


def test_a_variable_that_one_arm_forgets_is_found():
    text = (
        "@lp.kernel\ndef k(out: lp.Array[lp.i32]):\n    i = lp.global_id(0)\n    if i == 0:\n        r = 1\n"
    )
    text += "".join(f"    elif i == {n}:\n        {'r = 2' if n != 20 else 'pass'}\n" for n in range(1, 40))
    with pytest.raises(lp.CompileError, match="variable 'r' may be unset"):
        lp.kernel_from_source(text + "    else:\n        r = 3\n    out[i] = r\n").inspect("ir")


def test_expressions_deeper_than_the_recursion_limit(device):
    kernel = lp.kernel_from_source(
        "@lp.kernel\ndef k(out: lp.Array[lp.f32]):\n    out[0] = " + "-" * 1501 + "out[0]\n"
    )
    out = lp.ones(1, device=device)
    kernel[1](out)
    assert out.numpy()[0] == -1
