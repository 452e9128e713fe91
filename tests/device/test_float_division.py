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
EXACT_QUOTIENT = {"f16": 2**21, "f32": 2**21, "f64": 2**50}
"""From which on NumPy's quotient is rounded more than once, as ours is from elsewhere on."""


@pytest.mark.parametrize(("name", "constant", "aspect"), [
    ("f16", 0.3, lp.Aspect.FP16), ("f32", 0.1, None), ("f64", 0.1, lp.Aspect.FP64),
])  # fmt: skip
def test_matches_numpy(device, name, constant, aspect):
    if aspect is not None and not device.has(aspect):
        pytest.skip(f"the device has no {name}")
    dtype = np.dtype(f"float{name[1:]}")
    rng = np.random.default_rng(0)
    x, y = (m.ravel() for m in np.meshgrid(np.array(SPECIAL, dtype), np.array(SPECIAL, dtype)))
    sizes = {"f16": (-3, 4), "f32": (-28, 37), "f64": (-200, 300)}[name]  # where no rest is subnormal
    for low, high in ((-2, 1), sizes):
        x = np.concatenate([x, (rng.normal(size=4000) * 10.0 ** rng.uniform(low, high, 4000)).astype(dtype)])
        y = np.concatenate([y, (rng.normal(size=4000) * 10.0 ** rng.uniform(low, high, 4000)).astype(dtype)])
    largest = np.finfo(dtype).max
    x = np.concatenate([x, np.full(100, largest), np.full(100, -largest), largest * rng.uniform(-1, 1, 800)])
    x = x.astype(dtype)
    y = np.concatenate([y, (largest / 2.0 ** rng.uniform(0, 19, 1000)).astype(dtype)])
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
            quotient, rest = a // b, a % b
            size = np.abs(a.astype(np.longdouble) / b)
        found_quotient, found_rest = out.numpy()[2 * number :][:2]
        is_normal = (np.abs(rest) >= np.finfo(dtype).tiny) | (rest == 0) | np.isnan(rest)
        is_exact = ~((size > EXACT_QUOTIENT[name]) & np.isfinite(size))
        np.testing.assert_array_equal(found_rest[is_normal], rest[is_normal])
        np.testing.assert_array_equal(found_quotient[is_exact], quotient[is_exact])
        np.testing.assert_allclose(found_quotient, quotient, rtol=4 * np.finfo(dtype).eps)
        for found, wanted in ((found_rest, rest), (found_quotient, quotient)):
            is_zero = (wanted == 0) & (found == 0)
            np.testing.assert_array_equal(np.signbit(found[is_zero]), np.signbit(wanted[is_zero]))


def test_literals_are_divided_as_python_divides():
    from lapilli.frontend.folding import fold

    for a, b in [(1.0, 0.1), (-7.5, 2.5), (10.1, -0.1), (-0.0, 3.0), (5.0, float("inf"))]:
        assert fold("FloorDiv", a, b) == a // b
        assert fold("Mod", a, b) == a % b
    assert fold("FloorDiv", 1.0, 0.0) == float("inf")
    assert np.isnan(fold("FloorDiv", float("inf"), 2.0))
