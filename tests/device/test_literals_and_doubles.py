"""Literals beside 64 bits: choices between them, and variables that have made an f32 of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lapilli as lp

pytestmark = [pytest.mark.device]
RATE = 0.1


@lp.kernel
def chosen(x: lp.In[lp.f64], y: lp.Out[lp.f64, 2]):
    i = lp.global_id(0)
    is_high = x[i] > 0
    y[i, 0] = x[i] * (0.1 if is_high else 0.2)
    y[i, 1] = 0.1 if is_high else 3
    y[i, 2] = lp.select(is_high, 0.1, 0.2) - x[i]
    value = x[i]
    y[i, 3] = value + (0.1 if value > 2 else 0.2 if value > 0 else 0.3)
    kept = 0.1 if is_high else 0.2
    kept += x[i]
    y[i, 4] = kept
    y[i, 5] = max(x[i], 0.7 if is_high else 0.1)
    y[i, 6] = (RATE if is_high else 2 * RATE) / x[i]


@pytest.mark.aspects("fp64")
def test_a_choice_between_literals_is_taken_in_f64(lapilli_device):
    x = np.array([3.0, 0.5, -2.0])
    y = lp.empty((3, 7), lp.f64, device=lapilli_device)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen[3](lp.asarray(x, device=lapilli_device), y)
    high = x > 0
    tenth = np.where(high, 0.1, 0.2)
    thirds = np.where(x > 2, 0.1, np.where(high, 0.2, 0.3))
    largest = np.maximum(x, np.where(high, 0.7, 0.1))
    expected = [x * tenth, np.where(high, 0.1, 3), tenth - x, x + thirds, tenth + x, largest, tenth / x]
    np.testing.assert_array_equal(y.numpy(), np.stack(expected, 1))


def doubled(x: lp.u32) -> lp.u32:
    return ((x << 1) ^ (0x8000001B if x & 0x80 else 0)) & (0xFFFFFFFF if x > 3 else 0xFF)


@lp.kernel
def masks(x: lp.In[lp.u32], y: lp.Out[lp.u32]):
    y[lp.global_id(0)] = doubled(x[lp.global_id(0)]) + (3 if x[0] else 4)


@pytest.mark.parametrize("interpret", [False, True])
def test_a_choice_between_literals_meets_unsigned_integers(device, interpret):
    x = np.array([0, 1, 0x80, 0xFFFFFFFF], np.uint32)
    y = lp.empty(4, lp.u32, device=device)
    with lp.config.override(interpret=interpret):
        masks[4](lp.asarray(x, device=device), y)
    expected = ((x << 1) ^ np.where(x & 0x80, 0x8000001B, 0).astype(np.uint32)) & np.where(
        x > 3, 0xFFFFFFFF, 0xFF
    ).astype(np.uint32)
    np.testing.assert_array_equal(y.numpy(), expected + 4)


def test_beside_narrow_integers_it_is_wide(device):
    if not (device.has(lp.Aspect.VK_INT8) and device.has(lp.Aspect.VK_STORAGE_8BIT)):
        pytest.skip(f"{device.name} has no integers of 8 bits")

    @lp.kernel
    def add(x: lp.In[lp.u8], y: lp.Out[lp.i32]):
        y[lp.global_id(0)] = x[lp.global_id(0)] + (200 if x[0] else 100)

    y = lp.empty(1, lp.i32, device=device)
    add[1](lp.asarray(np.array([100], np.uint8), device=device), y)
    assert y.numpy()[0] == 300


def test_a_variable_has_the_type_of_variables(device):
    @lp.kernel
    def mixed(x: lp.In[lp.u32], y: lp.Out[lp.u32]):
        step = 1 if x[0] else 2
        y[0] = x[0] + step

    with pytest.raises(lp.CompileError, match=r"mixes signed lp\.i32 with unsigned lp\.u32"):
        mixed[1](lp.zeros(1, lp.u32, device=device), lp.zeros(1, lp.u32, device=device))


def rate():
    return 0.1


@pytest.mark.aspects("fp64")
def test_a_literal_that_became_an_f32_is_told(lapilli_device):
    @lp.kernel
    def rounded(x: lp.In[lp.f64], y: lp.Out[lp.f64]):
        i = lp.global_id(0)
        c = 0.1
        exact = 0.5
        y[i] = c * x[i] + exact * x[i] + c

    x, y = lp.ones(2, lp.f64, device=lapilli_device), lp.empty(2, lp.f64, device=lapilli_device)
    with pytest.warns(lp.KernelWarning) as caught:
        rounded[2](x, y)
    (message,) = [str(w.message) for w in caught]
    assert "variable 'c' is an lp.f32 in 'rounded', as only literals are assigned to it" in message
    assert "f64 takes 0.1 here as 0.10000000149011612; write lp.f64(0.1) there, or lp.f32(0.1)" in message
    assert y.numpy()[0] == 2 * float(np.float32(0.1)) + 0.5


@pytest.mark.aspects("fp64")
def test_so_is_what_a_helper_returns_and_a_tuple_holds(lapilli_device):
    @lp.kernel
    def rounded(x: lp.In[lp.f64], y: lp.Out[lp.f64]):
        weights = (0.25, 0.3)
        y[0] = rate() * x[0]
        y[1] = weights[1] * x[0]

    x, y = lp.ones(2, lp.f64, device=lapilli_device), lp.empty(2, lp.f64, device=lapilli_device)
    with pytest.warns(lp.KernelWarning) as caught:
        rounded[1](x, y)
    texts = sorted(str(w.message) for w in caught)
    assert len(texts) == 2
    assert "what a helper returns is an lp.f32 in " in "".join(
        texts
    ) and "as only literals are returned" in "".join(texts)
    assert "variable 'weights' is an lp.f32" in "".join(texts)


@pytest.mark.aspects("fp64")
def test_what_the_warning_says_to_write_is_quiet(lapilli_device):
    @lp.kernel
    def meant(x: lp.In[lp.f64], y: lp.Out[lp.f64]):
        double, single, named = lp.f64(0.1), lp.f32(0.1), RATE
        typed: lp.f32 = 0.1
        unused = 0.1
        y[0] = double * x[0] + single + typed + x[0] * 0.1
        y[1] = RATE * x[0] + lp.f64(named * 0 + unused * 0)

    x, y = lp.ones(2, lp.f64, device=lapilli_device), lp.empty(2, lp.f64, device=lapilli_device)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        meant[1](x, y)
    single = float(np.float32(0.1))
    assert y.numpy().tolist() == [0.1 + single + single + 0.1, 0.1]
