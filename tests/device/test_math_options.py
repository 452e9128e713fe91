"""Functions of Python's math with optional arguments: `lp.math.log` with a base, and `lp.math.isclose`."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

PAIRS = [
    (1.0, 1.0),
    (1.0, 1.0005),
    (1.0, 1.4),
    (-3.0, 3.0),
    (0.0, 0.25),
    (100.0, 100.05),
    (math.inf, math.inf),
    (math.inf, 1.0),
    (-math.inf, math.inf),
    (math.nan, math.nan),
    (3e38, -3e38),
]


@lp.kernel
def compared(pairs: lp.In[lp.f32x2], out: lp.Out[lp.i32, 2]):
    i = lp.global_id(0)
    a, b = pairs[i].x, pairs[i].y
    out[i, 0] = lp.math.isclose(a, b)
    out[i, 1] = lp.math.isclose(a, b, rel_tol=1e-3)
    out[i, 2] = math.isclose(a, b, abs_tol=0.5, rel_tol=0)
    near = lp.math.isclose(pairs[i], pairs[i].yx, abs_tol=1.0)
    out[i, 3] = near.x and near.y


def test_isclose_is_pythons(device):
    out = lp.zeros((len(PAIRS), 4), lp.i32, device=device)
    pairs = np.array(PAIRS, np.float32)
    compared[len(PAIRS)](lp.asarray(pairs, lp.f32x2, device=device), out)
    expected = [
        [
            math.isclose(a, b),
            math.isclose(a, b, rel_tol=1e-3),
            math.isclose(a, b, abs_tol=0.5, rel_tol=0),
            math.isclose(a, b, abs_tol=1.0),
        ]
        for a, b in pairs.tolist()
    ]
    np.testing.assert_array_equal(out.numpy(), expected)


@lp.kernel
def logarithms(x: lp.In[lp.f32], y: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    y[i, 0] = lp.math.log(x[i], 2)
    y[i, 1] = lp.math.log(x[i], 10.0)
    y[i, 2] = math.log(x[i], x[i] + 2.0)
    y[i, 3] = lp.math.log(8.0, 2.0)
    y[i, 4] = lp.math.log(lp.f32x2(x[i], 1.0), 3).x


def test_logarithms_to_a_base(device):
    x = 2.0 ** np.arange(-20, 20, dtype=np.float32)
    y = lp.zeros((x.size, 5), device=device)
    logarithms[x.size](lp.asarray(x, device=device), y)
    wide = x.astype(np.float64)
    np.testing.assert_array_equal(y.numpy()[:, 0], np.arange(-20, 20))  # exact, as log2 of powers of two
    np.testing.assert_array_equal(y.numpy()[:, 3], np.full(x.size, 3.0))
    expected = [np.log10(wide), np.log(wide) / np.log(wide + 2.0), np.log(wide) / np.log(3.0)]
    # 1 ULP for each logarithm and 2.5 for the quotient: 2**-23 * 4.5
    np.testing.assert_allclose(y.numpy()[:, [1, 2, 4]], np.stack(expected, 1), rtol=6e-7, atol=0)
