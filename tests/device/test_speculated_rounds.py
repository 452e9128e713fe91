"""Loops that begin a second round before the test of the first count what Python counts."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device
WORK_ITEMS = 45
MOST = 2**31 - 1


@lp.kernel
def escapes(limit: lp.i32, first: lp.i32, start: lp.In[lp.f32], out: lp.Out[lp.i32, 2]):
    i = lp.global_id(0)
    c = start[i]
    z, n = lp.f32(0.0), first
    while n < limit and z * z <= 4.0:
        z = z * z + c
        n += 1
    out[0, i] = n
    z, n, m = lp.f32(0.0), first, lp.u32(7)
    while n < limit and z <= 2.0:
        z = z * z + c
        n += 3
        m -= 2
    out[1, i] = n
    out[2, i] = lp.i32(m)
    z, n = lp.f32(0.0), 0
    for _ in range(50):
        if z * z > 4.0:
            break
        z = z * z + c
        n += 1
    else:
        n = -1
    out[3, i] = n
    v, n = lp.u32(i + 1), first
    while v != 1 and n < limit:
        v = v >> 1 if v & 1 == 0 else 3 * v + 1
        n += 1
    out[4, i] = n


def expected(limit: int, first: int, start: np.ndarray) -> np.ndarray:
    found = np.zeros((5, len(start)), np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        for i, c in enumerate(start):
            z, n = np.float32(0), first
            while n < limit and z * z <= 4:
                z, n = z * z + c, n + 1
            found[0, i] = n
            z, n, m = np.float32(0), first, 7
            while n < limit and z <= 2:
                z, n, m = z * z + c, n + 3, m - 2
            found[1:3, i] = n, m
            z, n = np.float32(0), 0
            while n < 50 and not z * z > 4:
                z, n = z * z + c, n + 1
            found[3, i] = -1 if n == 50 else n
            v, n = i + 1, first
            while v != 1 and n < limit:
                v, n = v // 2 if v % 2 == 0 else 3 * v + 1, n + 1
            found[4, i] = n
    return found.astype(np.int32)


@pytest.mark.parametrize(
    ("limit", "first"), [(0, 0), (1, 0), (2, 0), (7, 0), (30, -3), (MOST, MOST - 3), (MOST, MOST), (5, 9)]
)
def test_counts_are_those_of_single_rounds(device, limit, first):
    start = np.linspace(-2.3, 2.5, WORK_ITEMS, dtype=np.float32)
    start[3:6] = np.nan, np.inf, 0.25
    out = lp.zeros((5, WORK_ITEMS), lp.i32, device=device)
    escapes[WORK_ITEMS](limit, first, lp.asarray(start, device=device), out)
    assert out.numpy().tolist() == expected(limit, first, start).tolist()


@pytest.mark.native_only("counts rounds as drivers do")
def test_pairs_of_rounds_count_once(device):
    """A driver that ends loops after 65,535 rounds does 131,000 of these."""

    @lp.kernel
    def count(limit: lp.i32, out: lp.Out[lp.i32]):
        z, n = lp.f32(0.0), 0
        while n < limit and z < 1.0:
            z = z * 0.5
            n += 1
        out[lp.global_id(0)] = n

    if not device.target_env.pairs_rounds:
        pytest.skip("the device runs this loop as it is")
    out = lp.zeros(2, lp.i32, device=device)
    count[2](100_001, out)
    assert out.numpy().tolist() == [100_001] * 2
    if device.target_env.loop_iteration_cap is not None:
        count[2](200_000, out)
        with pytest.raises(lp.KernelTrap, match="this loop has reached"):
            out.numpy()
