"""NaN, infinities and zeros of both signs in products, sums, minima and choices, which Mesa takes for other numbers."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

NOTHING = lp.SpecializationId(lp.f32, 0.0)


PRODUCTS_WITHOUT_A_VALUE = """
@lp.kernel(contract=False)
def products_without_a_value(x: lp.In[lp.TYPE], n: lp.In[lp.i32], out: lp.Out[lp.f32]):
    factor = lp.TYPE(0.0)
    if n[0] > 0:
        factor = lp.TYPE(1.0)
    out[0] = max(lp.TYPE(2.0), factor * max(x[0], 1.0))
"""


@pytest.mark.parametrize("type_", ["f16", "f64"])
def test_products_of_other_types(device, type_):
    if not device.has({"f16": lp.Aspect.FP16, "f64": lp.Aspect.FP64}[type_]):
        pytest.skip(f"the device lacks {type_}")
    x, n = np.full(1, np.inf, {"f16": np.float16, "f64": np.float64}[type_]), np.zeros(1, np.int32)
    out = lp.zeros(1, device=device)
    kernel = lp.kernel_from_source(PRODUCTS_WITHOUT_A_VALUE.replace("TYPE", type_))
    kernel[1](lp.asarray(x, device=device), lp.asarray(n, device=device), out)
    assert out.numpy()[0] == 2


@lp.kernel(contract=False)
def products_without_a_value(x: lp.In[lp.f32], n: lp.In[lp.i32], out: lp.Out[lp.f32]):
    positive = max(lp.math.trunc(x[0]), -0.0)
    is_none = lp.f32(n[0] > 0)
    out[0] = max(2.0, is_none * positive)
    out[1] = min(positive * lp.f32(n[0]), 2.0)
    out[2] = max(2.0, lp.f32(n[0]) / 0.0)
    out[3] = max(2.0, min(is_none, NOTHING) * max(x[0], x[1], 1.0))
    factor = 0.0
    if n[0] > 0:
        factor = 1.0
    out[4] = max(2.0, factor * (positive + 1.0))
    out[5] = max(2.0, -is_none * abs(positive))


def test_products_that_are_not_numbers(device):
    """Mesa took 0.0 * inf for a number where it knew each factor for one, so that max and min gave NaN."""
    x, n, out = np.float32([np.inf, 1]), np.zeros(1, np.int32), lp.zeros(6, device=device)
    products_without_a_value[1](lp.asarray(x, device=device), lp.asarray(n, device=device), out)
    assert out.numpy().tolist() == [2] * 6


@lp.kernel
def fused_products(x: lp.In[lp.f32], n: lp.In[lp.i32], out: lp.Out[lp.f32]):
    count = lp.f32(n[0])
    number = count + max(x[0], 0.5)
    out[0] = max(2.0, lp.math.fma(count, number, 0.5))
    out[1] = min(lp.math.fma(number, max(count, 0.0), 0.5), 2.0)
    out[2] = max(2.0, lp.math.fma(lp.math.fma(count, 2.0, 0.0), lp.math.fma(max(x[0], 0.5), 2.0, 1.0), 1.0))
    out[3] = max(2.0, count * lp.math.fma(max(x[0], 0.5), 2.0, 1.0))


def test_fused_products_that_are_not_numbers(device):
    x, n, out = np.float32([np.inf]), np.zeros(1, np.int32), lp.zeros(4, device=device)
    fused_products[1](lp.asarray(x, device=device), lp.asarray(n, device=device), out)
    assert out.numpy().tolist() == [2] * 4


CHOSEN_ZEROS = """
@lp.kernel
def chosen_zeros(n: lp.In[lp.i32], out: lp.Out[lp.f32]):
    zero: lp.TYPE = -0.0 if n[0] > 0 else 1.0
    for k in range(2):
        zero = -0.0 if n[k] > 0 else 1.0
    other = lp.TYPE(1.0)
    if n[0] > 0:
        other = lp.TYPE(-0.0)
    out[0] = lp.f32(abs(max(zero, -0.0)))
    out[1] = lp.f32(abs(other))
    out[2] = lp.f32(abs(lp.math.floor(other * 0.5)))
"""


@pytest.mark.parametrize("type_", ["f32", "f16", "f64"])
def test_signs_of_chosen_zeros(device, type_):
    """Mesa took -0.0 for a number that is not negative, and left out what takes its sign."""
    if not device.has({"f16": lp.Aspect.FP16, "f64": lp.Aspect.FP64}.get(type_, lp.Aspect.CPU)):
        pytest.skip(f"the device lacks {type_}")
    n, out = lp.asarray(np.ones(2, np.int32), device=device), lp.zeros(3, device=device)
    lp.kernel_from_source(CHOSEN_ZEROS.replace("TYPE", type_))[1](n, out)
    assert np.signbit(out.numpy()).tolist() == [False] * 3


@lp.kernel(contract=False, opt_level=0, local_size=4)
def found_out_zeros(
    x: lp.In[lp.f32], n: lp.In[lp.i32], u: lp.In[lp.u32], s: lp.Array[lp.f32], out: lp.Out[lp.f32, 2]
):
    i, a, b = lp.global_id(0), n[0], u[0]
    tile = lp.local.array(4, lp.f32)
    s[i] = 0.0
    tile[i] = 0.0
    out[i, 0] = s[i] * x[i]
    out[i, 1] = tile[i] * x[i]
    out[i, 2] = lp.f32(a - a) * x[i]
    out[i, 3] = (1.0 if a < a else 0.0) * x[i]
    out[i, 4] = (0.0 if x[i] <= x[i] or a >= a else 1.0) * x[i]
    out[i, 5] = (1.0 if b < 0 else 0.0) * x[i]
    out[i, 6] = lp.f32((a << 16) & 0xFFFF) * x[i]
    out[i, 7] = lp.f32(a & 0) * x[i]
    out[i, 8] = lp.math.trunc(lp.f32(0.5)) * x[i]
    out[i, 9] = lp.f32(a % 1) * x[i]
    zero = 0.0
    if x[i] > 1.0:
        zero = -0.0
    out[i, 10] = zero * x[i]
    out[i, 11] = lp.f32(b >> 31 >> 1) * x[i]


def test_zeros_that_a_driver_finds_out(device):
    """Mesa found them by itself, and its code generator took their products with infinity for zeros."""
    x, n = lp.full(4, np.inf, device=device), lp.ones(1, lp.i32, device=device)
    u, out = lp.ones(1, lp.u32, device=device), lp.zeros((4, 12), device=device)
    found_out_zeros[4](x, n, u, lp.zeros(4, device=device), out)
    assert np.isnan(out.numpy()).all()


ZERO = lp.SpecializationId(lp.f32, 0.0)


@lp.kernel(contract=False, local_size=4)
def shared_zero(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    factor = lp.sub_group.broadcast(ZERO, 0)
    out[i] = factor * x[i]


def test_zeros_that_a_sub_group_shares(device):
    if not device.has(lp.Aspect.VK_SUBGROUP_BALLOT):
        pytest.skip("the device lacks broadcasts")
    out = lp.zeros(4, device=device)
    shared_zero[4](lp.full(4, np.inf, device=device), out)
    assert np.isnan(out.numpy()).all()


@lp.kernel(contract=False)
def zeros_of_truths(n: lp.In[lp.i32], out: lp.Out[lp.f32]):
    is_one = n[0] == 1
    out[0] = 1.0 if not is_one else -0.0
    out[1] = -1.0 if not is_one else 0.0
    out[2] = -0.0 if is_one else 1.0
    out[3] = lp.f32(is_one) - 1.0
    out[4] = -1.0 + lp.f32(is_one)
    out[5] = 1.0 - lp.f32(is_one)
    out[6] = -1.0 if not is_one else -0.0


def test_signs_of_zeros_made_of_truth_values(device):
    """Mesa took a choice of one and a zero of any sign for a truth value, and its opposite for -0.0."""
    out = lp.ones(7, device=device)
    zeros_of_truths[1](lp.ones(1, lp.i32, device=device), out)
    found = out.numpy()
    assert not found.any()
    assert np.signbit(found).tolist() == [True, False, True, False, False, False, True]


@lp.kernel(contract=False, opt_level=0)
def zero_of_a_function(n: lp.In[lp.i32], out: lp.Out[lp.f32]):
    out[0] = lp.math.acosh(lp.f32(n[0] == 1))
    out[1] = lp.math.log(lp.f32(n[0] == 1))


def test_signs_of_zeros_that_functions_make_of_truth_values(device):
    """The function takes one from its argument."""
    out = lp.ones(2, device=device)
    zero_of_a_function[1](lp.ones(1, lp.i32, device=device), out)
    assert not out.numpy().any() and not np.signbit(out.numpy()).any()
