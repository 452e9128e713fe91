"""Loops that test floats and begin with constants: every bit arrives, also where the driver must not know it."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

STARTS = [0.0, -0.0, 1.0, -2.5, 1e-40, 3.4e38, float("inf"), float("-inf"), float("nan")]


@pytest.mark.parametrize("start", STARTS)
def test_a_start_arrives_bit_by_bit(device, start):
    @lp.kernel
    def run(found: lp.Out[lp.f32], rounds: lp.Out[lp.i32]):
        i = lp.global_id(0)
        x = lp.f32(start)
        n = 0
        while x * 0.5 != 12.0 and n < i:
            x = lp.f32(start)
            n += 1
        found[i] = x
        rounds[i] = n

    found, rounds = lp.zeros(5, lp.f32, device=device), lp.zeros(5, lp.i32, device=device)
    run[5](found, rounds)
    assert found.numpy().view(np.uint32).tolist() == [np.float32(start).view(np.uint32)] * 5 or np.isnan(
        start
    )
    assert np.isnan(found.numpy()).all() == np.isnan(start)
    assert rounds.numpy().tolist() == [0, 1, 2, 3, 4]


def test_mandelbrot_in_ranges_that_do_not_fill_groups(device):
    @lp.kernel
    def escape(out: lp.Out[lp.i32, 2]):
        i, j = lp.global_id(0), lp.global_id(1)
        cx, cy = lp.f32(j) * 0.0625 - 2.0, lp.f32(i) * 0.0625 - 1.5
        x, y = 0.0, 0.0
        n = 0
        while n < 50 and x * x + y * y <= 4.0:
            x, y = x * x - y * y + cx, 2.0 * x * y + cy
            n += 1
        out[i, j] = n

    out = lp.zeros((33, 45), lp.i32, device=device)
    escape[33, 45](out)
    c = (np.arange(45) * 0.0625 - 2.0).astype("f") + 1j * (np.arange(33)[:, None] * 0.0625 - 1.5).astype("f")
    z, expected = np.zeros_like(c), np.zeros(c.shape, np.int32)
    for _ in range(50):
        inside = abs(z) ** 2 <= 4
        expected += inside
        z = np.where(inside, z * z + c, z)
    assert (abs(out.numpy() - expected) > 1).mean() < 0.01
