"""Whole numbers of f64: lavapipe's own are others."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.kernel
def whole(x: lp.In[lp.f64], y: lp.Out[lp.f64, 2], z: lp.Out[lp.i32]):
    i = lp.global_id(0)
    v = x[i]
    y[i, 0] = lp.math.trunc(v)
    y[i, 1] = lp.math.floor(v)
    y[i, 2] = lp.math.ceil(v)
    y[i, 3] = v % 4.0
    y[i, 4] = v // 4.0
    y[i, 5] = lp.math.fmod(v, 2.0)
    z[i] = round(v)


@pytest.fixture
def x():
    powers = 2.0 ** np.arange(0, 53)
    steps = np.concatenate([powers - 0.25, powers + 0.5, powers, [0.0, 0.25, 0.5, 2.5, 3.5, 1e300]])
    return np.concatenate([steps, -steps])


def test_every_size(device, x):
    if not device.has(lp.Aspect.FP64):
        pytest.skip("needs fp64")
    y, z = lp.zeros((x.size, 6), lp.f64, device=device), lp.zeros(x.size, lp.i32, device=device)
    whole[x.size](lp.asarray(x, device=device), y, z)
    expected = np.stack([np.trunc(x), np.floor(x), np.ceil(x), x % 4.0, x // 4.0, np.fmod(x, 2.0)], 1)
    np.testing.assert_array_equal(y.numpy(), expected)
    np.testing.assert_array_equal(np.signbit(y.numpy()[:, :3]), np.signbit(expected[:, :3]))
    np.testing.assert_array_equal(z.numpy(), np.rint(x).clip(-(2**31), 2**31 - 1).astype(np.int32))
