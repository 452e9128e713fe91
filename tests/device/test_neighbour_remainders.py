"""Remainders that are found from those of neighbours: the same numbers as by division, whatever the divisor."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

DIVISORS = np.array(
    [0, 1, -1, 2, -2, 3, 5, -5, 7, 11, 2**31 - 1, 2**31 - 2, -(2**31), -(2**31) + 1, 2**30], np.int32
)


@lp.kernel
def around(v: lp.In[lp.i32], divisors: lp.In[lp.i32], out: lp.Out[lp.i32, 3]):
    i, j = lp.global_id(0), lp.global_id(1)
    n = divisors[j]
    base = v[i] & 0x7FFFFFFE  # base + 1 fits, base + 2 might not
    out[i, j, 0] = (base - 1) % n
    out[i, j, 1] = (base + 1) % n
    if n > 3:
        out[i, j, 2] = (base - 2) % n
    else:
        out[i, j, 2] = (base - 3) % n
    out[i, j, 3] = (1 + base - 3) % n
    out[i, j, 4] = base % n
    out[i, j, 5] = (base + 2) % n


def modulo(left, right):
    """Python's remainder of int64, 0 by zero."""
    safe = np.where(right == 0, 1, right)
    return np.where(right == 0, 0, np.mod(left, safe))


def test_neighbours_of_every_size_and_sign(device):
    v = np.array([0, 2, 4, 6, 10, 14, 54, 10**9, 2**30, 2**31 - 2, 2**31 - 4], np.int32)
    out = lp.zeros((v.size, DIVISORS.size, 6), lp.i32, device=device)
    around[v.size, DIVISORS.size](lp.asarray(v, device=device), lp.asarray(DIVISORS, device=device), out)
    base, n = (v.astype(np.int64) & 0x7FFFFFFE)[:, None], DIVISORS.astype(np.int64)[None]
    further = np.where(n > 3, base - 2, base - 3)
    beyond = (base + 2).astype(np.int32).astype(np.int64)  # wraps around
    numbers = [base - 1, base + 1, further, base - 2, base, beyond]
    expected = np.stack([modulo(number, n) for number in numbers], axis=-1)
    np.testing.assert_array_equal(out.numpy(), expected)


@lp.kernel
def unsigned(divisors: lp.In[lp.u32], out: lp.Out[lp.u32, 2]):
    i = lp.global_id(0)
    n, u = divisors[0], lp.u32(i)
    out[i, 0] = (u + 1) % n
    out[i, 1] = u % n
    out[i, 2] = (u + 3) % n
    out[i, 3] = (u - 1) % n  # wraps around in front of 0


@pytest.mark.parametrize("divisor", [0, 1, 2, 7, 2**32 - 1])
def test_unsigned_neighbours(device, divisor):
    out = lp.zeros((20, 4), lp.u32, device=device)
    unsigned[20](lp.asarray(np.array([divisor], np.uint32), device=device), out)
    i = np.arange(20)
    numbers = np.stack([i + 1, i, i + 3, (i - 1) % 2**32], axis=-1)
    np.testing.assert_array_equal(out.numpy(), modulo(numbers, np.int64(divisor)))


@lp.kernel
def both_signs(n: lp.i32, signed: lp.Out[lp.i32, 2], unsigned: lp.Out[lp.u32, 2]):
    i = lp.global_id(0)
    signed[i, 0] = i % n
    unsigned[i, 0] = lp.u32(i) % lp.u32(n)
    unsigned[i, 1] = (lp.u32(i) + 1) % lp.u32(n)
    signed[i, 1] = (i + 1) % n


@pytest.mark.parametrize("divisor", [-5, -1, 0, 3, -(2**31)])
def test_the_same_bits_as_signed_and_as_unsigned_numbers(device, divisor):
    signed, unsigned = (lp.zeros((20, 2), dtype, device=device) for dtype in (lp.i32, lp.u32))
    both_signs[20](divisor, signed, unsigned)
    numbers = np.arange(20)[:, None] + [0, 1]
    np.testing.assert_array_equal(signed.numpy(), modulo(numbers, np.int64(divisor)))
    np.testing.assert_array_equal(unsigned.numpy(), modulo(numbers, np.int64(divisor % 2**32)))


@lp.kernel
def below_zero(out: lp.Out[lp.i32, 2]):
    k = lp.global_id(0) % 50 * -3
    n = out.shape[1]
    out[lp.global_id(0), 0] = (k + 1) % n
    out[lp.global_id(0), 1] = k % n


@pytest.mark.parametrize("divisor", [2, 5, 7])
def test_numbers_far_below_zero(device, divisor):
    out = lp.zeros((50, divisor), lp.i32, device=device)
    below_zero[50](out)
    k = np.arange(50) * -3
    np.testing.assert_array_equal(out.numpy()[:, :2], np.stack([k + 1, k], axis=-1) % divisor)


@lp.kernel
def of_rounds(n: lp.i32, m: lp.i32, out: lp.Out[lp.i32]):
    total = 0
    for k in range(n):
        if k % 3 == 1:
            total += (k - 1) % m
        total = total * 3 + (k + 1) % m
        total += k % m
    out[0] = total


def test_rounds_of_a_loop(device):
    out = lp.zeros(1, lp.i32, device=device)
    for m in (-4, -1, 0, 1, 3, 100):
        of_rounds[1](9, m, out)
        total = 0
        for k in range(9):
            if k % 3 == 1:
                total += (k - 1) % m if m else 0
            total = total * 3 + ((k + 1) % m if m else 0)
            total += k % m if m else 0
        assert out.numpy()[0] == np.array(total).astype(np.int32)


@lp.kernel
def neighbours(a: lp.In[lp.i32, 2], out: lp.Out[lp.i32, 2]):
    y, x = lp.global_id(0), lp.global_id(1)
    total = 0
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            total += (dy + 2 * dx) * a[(y + dy) % a.shape[0], (x + dx) % a.shape[1]]
    out[y, x] = total


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 3), (37, 64)])
def test_a_torus(device, shape):
    a = np.random.default_rng(5).integers(0, 1000, shape, dtype=np.int32)
    out = lp.zeros(shape, lp.i32, device=device)
    neighbours[shape](lp.asarray(a, device=device), out)
    near = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
    expected = sum((dy + 2 * dx) * np.roll(a, (-dy, -dx), (0, 1)) for dy, dx in near)
    np.testing.assert_array_equal(out.numpy(), expected)


def test_a_torus_divides_once_a_dimension():
    text = str(neighbours.inspect("ir"))
    assert sum(text.count(f"arith.{name} ") for name in ("divsi", "divui", "remsi", "remui")) == 2
