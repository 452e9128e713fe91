"""Minima and maxima of floats by comparison and selection, and quotients by powers of two as products."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.inspection import inspect
from lapilli.ir.target_env import TargetEnv


@lp.kernel
def extrema(x: lp.In[lp.f32], y: lp.In[lp.f32], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    out[0, i] = min(x[i], y[i])
    out[1, i] = max(x[i], y[i])
    out[2, i] = min(x[i], 1.5)
    out[3, i] = max(2.5, x[i])


@lp.kernel
def quotients(x: lp.In[lp.f32], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    out[0, i] = x[i] / 256.0
    out[1, i] = x[i] / -0.125
    out[2, i] = x[i] / 8.507059173023462e37
    out[3, i] = x[i] / 1.1754943508222875e-38
    out[4, i] = x[i] / 1.401298464324817e-45
    out[5, i] = x[i] / 3.0


@pytest.mark.parametrize("selects", [False, True])
def test_they_are_selected_where_the_environment_says_so(selects: bool) -> None:
    text = inspect(extrema, "spirv", env=TargetEnv(selects_extrema=selects))
    assert isinstance(text, str)
    assert (" NMin " in text, " NMax " in text) == (not selects, not selects)
    assert text.count("OpSelect ") == (4 if selects else 0)
    assert text.count("OpIsNan ") == (2 if selects else 0)  # no constant is NaN


VALUES = np.array([np.nan, -np.inf, -3.0, 0.5, 1.5, 2.5, 7.0, np.inf], np.float32)


@pytest.mark.device
def test_numbers_win_over_nan(device: lp.Device) -> None:
    x, y = (a.ravel() for a in np.meshgrid(VALUES, VALUES))
    out = lp.zeros((4, x.size), device=device)
    extrema[x.size](lp.asarray(x, device=device), lp.asarray(y, device=device), out)
    with np.errstate(all="ignore"):
        expected = [np.fmin(x, y), np.fmax(x, y), np.fmin(x, np.float32(1.5)), np.fmax(x, np.float32(2.5))]
    np.testing.assert_array_equal(out.numpy(), np.stack(expected))


def test_quotients_by_powers_of_two_are_products() -> None:
    text = inspect(quotients, "spirv", env=TargetEnv())
    assert isinstance(text, str)
    assert (text.count("OpFMul "), text.count("OpFDiv ")) == (4, 2)


@pytest.mark.device
def test_quotients(device: lp.Device) -> None:
    x = np.array([1.0, -3.7, 1e-34, 1e38, np.inf, np.nan, -0.0, 0.1], np.float32)
    out = lp.zeros((6, x.size), device=device)
    quotients[x.size](lp.asarray(x, device=device), out)
    with np.errstate(all="ignore"):
        exact = [x / np.float32(256.0), x / np.float32(-0.125)]
        large, small = x / np.float32(2.0**126), x / np.float32(2.0**-126)
    found = out.numpy()
    np.testing.assert_array_equal(found[:2], np.stack(exact))
    normal = (abs(large) >= 2.0**-126) | ~np.isfinite(large) | (x == 0)  # others may be 0
    np.testing.assert_array_equal(found[2][normal], large[normal])
    np.testing.assert_array_equal(found[3], small)
    np.testing.assert_allclose(found[5][:4], x[:4] / 3, rtol=1e-6)
