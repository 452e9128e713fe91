"""Float ``//`` and ``%`` against NumPy, whose remainder is exact and has the sign of the divisor."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

SOURCE = """
@lp.kernel
def divide(x: lp.In[lp.{t}], y: lp.In[lp.{t}], out: lp.Out[lp.{t}, 2]):
    i = lp.global_id(0)
    out[0, i] = x[i] // y[i]
    out[1, i] = x[i] % y[i]
    out[2, i] = x[i] // {c}
    out[3, i] = x[i] % {c}
    out[4, i] = x[i] // -0.25
    out[5, i] = x[i] % -0.25
    out[6, i] = 7.0 // y[i]
    out[7, i] = 7.0 % y[i]
    q, r = divmod(x[i], y[i])
    out[8, i] = q
    out[9, i] = r
"""
SPECIAL = [0.0, -0.0, 1, -1, 2.5, -2.5, 3.5, 0.5, 7, -7, np.inf, -np.inf, np.nan]
LARGEST_QUOTIENT = {"f16": 2**22, "f32": 2**22, "f64": 2**50}
"""Up to which the remainder is exact."""


@pytest.mark.parametrize(("name", "constant", "aspect"), [
    ("f16", 0.3, lp.Aspect.FP16), ("f32", 0.1, None), ("f64", 0.1, lp.Aspect.FP64),
])  # fmt: skip
def test_matches_numpy(device, name, constant, aspect):
    if aspect is not None and not device.has(aspect):
        pytest.skip(f"the device has no {name}")
    dtype = np.dtype(f"float{name[1:]}")
    rng = np.random.default_rng(0)
    x, y = (m.ravel() for m in np.meshgrid(np.array(SPECIAL, dtype), np.array(SPECIAL, dtype)))
    x = np.concatenate([x, (rng.normal(size=5000) * 10.0 ** rng.uniform(-2, 3, 5000)).astype(dtype)])
    y = np.concatenate([y, (rng.normal(size=5000) * 10.0 ** rng.uniform(-2, 1, 5000)).astype(dtype)])
    out = lp.empty((10, len(x)), getattr(lp, name), device=device)
    kernel = lp.kernel_from_source(SOURCE.format(t=name, c=constant))
    kernel[len(x)](lp.asarray(x, device=device), lp.asarray(y, device=device), out)
    c, quarter, seven = dtype.type(constant), dtype.type(-0.25), dtype.type(7)
    pairs = [
        (x, y),
        (x, np.full_like(x, c)),
        (x, np.full_like(x, quarter)),
        (np.full_like(x, seven), y),
        (x, y),
    ]
    for number, (a, b) in enumerate(pairs):
        with np.errstate(all="ignore"):
            expected = a // b, a % b
            is_small = ~(np.abs(a.astype(float) / b) > LARGEST_QUOTIENT[name]) | ~np.isfinite(a) | (b == 0)
        for found, wanted in zip(out.numpy()[2 * number :], expected, strict=False):
            np.testing.assert_array_equal(found[is_small], wanted[is_small])
            is_zero = is_small & (wanted == 0)
            np.testing.assert_array_equal(np.signbit(found[is_zero]), np.signbit(wanted[is_zero]))


def test_literals_are_divided_as_python_divides():
    from lapilli.frontend.folding import fold

    for a, b in [(1.0, 0.1), (-7.5, 2.5), (10.1, -0.1), (-0.0, 3.0), (5.0, float("inf"))]:
        assert fold("FloorDiv", a, b) == a // b
        assert fold("Mod", a, b) == a % b
    assert fold("FloorDiv", 1.0, 0.0) == float("inf")
    assert np.isnan(fold("FloorDiv", float("inf"), 2.0))
