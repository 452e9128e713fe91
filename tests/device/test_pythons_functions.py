"""Functions of Python's math that count, take any number of arguments, or look for the next number of a type."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import lapilli as lp
from tests.host_bf16 import require_host_numbers

from .test_dtype_operations import INTEGERS, require, run

pytestmark = pytest.mark.device

CARDS = 5


def or_zero(function, *arguments):
    """What kernels give where Python raises."""
    try:
        return function(*arguments)
    except ValueError:
        return 0


@pytest.mark.parametrize("dtype", INTEGERS)
def test_combinations_are_exact_modulo_the_width_of_their_type(device, dtype):
    require(device, dtype)
    kind = getattr(lp, dtype)
    low, high = (-2 if kind.is_signed else 0), min(kind.maximum, 300)
    rng = random.Random(kind.bits)
    ns = [rng.randint(low, high) for _ in range(400)] + [high] * 100
    ks = [rng.randint(low, min(n + 2, kind.maximum)) if n > low else low for n in ns]
    columns = [np.array(column, kind.dtype) for column in (ns, ks)]
    calls = {
        "comb": "lp.math.comb(a, b)", "perm": "lp.math.perm(a, b)", "factorial": "lp.math.factorial(a)",
        "perm of all": "lp.math.perm(a)",
    }  # fmt: skip
    found = run(device, dtype, calls, columns)
    expected = {
        "comb": [or_zero(math.comb, n, k) for n, k in zip(ns, ks, strict=True)],
        "perm": [or_zero(math.perm, n, k) for n, k in zip(ns, ks, strict=True)],
        "factorial": [or_zero(math.factorial, n) for n in ns],
        "perm of all": [or_zero(math.perm, n) for n in ns],
    }
    for name, values in expected.items():
        wrapped = [(v - kind.minimum) % 2**kind.bits + kind.minimum for v in values]
        assert found[name].tolist() == wrapped, name


@lp.kernel
def of_several(x: lp.In[lp.f32], n: lp.In[lp.i32], reals: lp.Out[lp.f32], whole: lp.Out[lp.i32]):
    whole[0] = lp.math.gcd(n[0], n[1], n[2])
    whole[1] = lp.math.lcm(n[0], n[1], n[2])
    whole[2] = lp.math.gcd(n[2])
    whole[3] = lp.math.prod(n.shape)
    whole[4] = lp.math.prod((n[0], n[1]), start=n[2])
    whole[5] = lp.math.factorial(CARDS) + math.comb(10, 3)
    reals[0] = lp.math.hypot(x[0], x[1], x[2])
    reals[1] = lp.math.hypot(x[0])
    reals[2] = lp.math.hypot(lp.math.nan, x[0], -lp.math.inf)
    reals[3] = lp.math.dist((x[0], 1, x[1]), (0, 0.0, x[2]))
    reals[4] = lp.math.dist(lp.f32x2(x[0], x[1]), (0, 0))
    reals[5] = lp.math.prod(lp.math.prod(lp.FixedArray[lp.f32, 2, 2](x[0], x[1], x[2], 0.5)))  # by rows
    reals[6] = lp.math.factorial(3) / lp.math.prod(lp.f32x2(x[0], x[1]))


def test_functions_of_several_numbers(device):
    x, n = np.float32([-3, 4, 12]), np.int32([12, 18, -8])
    reals, whole = lp.zeros(7, device=device), lp.zeros(6, lp.i32, device=device)
    of_several[1](lp.asarray(x, device=device), lp.asarray(n, device=device), reals, whole)
    assert whole.numpy().tolist() == [2, 72, 8, 3, 12 * 18 * -8, 120 + 120]
    expected = [13, 3, math.inf, math.sqrt(9 + 1 + 64), 5, -3 * 4 * 12 * 0.5, 6 / -12]
    np.testing.assert_allclose(reals.numpy(), expected, rtol=1e-6)  # a few ulp of hypot, sqrt and division


@lp.kernel
def of_literals(out: lp.Out[lp.i64]):
    out[0] = lp.math.comb(100_000, 3)
    out[1] = lp.math.comb(100_000, 99_998) + 4
    out[2] = lp.math.perm(5000, 4)
    out[3] = lp.math.perm(3, 100_000) + lp.math.comb(3, 100_000) + lp.math.factorial(-1)


def test_functions_of_large_literals_are_literals(device):
    """They take the type of what is around them, as 166661666700000 does; i32 would wrap."""
    require(device, "i64")
    out = lp.zeros(4, lp.i64, device=device)
    of_literals[1](out)
    assert out.numpy().tolist() == [math.comb(100_000, 3), math.comb(100_000, 2) + 4, math.perm(5000, 4), 0]


@pytest.mark.parametrize(
    "call", ["factorial(10**9)", "comb(10**12, 10**11)", "perm(20000)", "perm(10**9, 10**8)"]
)
def test_literals_that_no_type_holds(call):
    source = f"@lp.kernel\ndef k(a: lp.Array[lp.i32]):\n    a[0] = lp.math.{call}\n"
    with pytest.raises(
        lp.CompileError, match=rf"lp.math.{call.partition('(')[0]} of .* is too large for any type"
    ):
        lp.kernel_from_source(source).inspect("ir")


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_neighbours_of_every_narrow_float(device, dtype):
    require(device, dtype)
    require_host_numbers(dtype)
    kind = np.dtype(getattr(lp, dtype).dtype).type
    x = np.arange(2**16, dtype=np.uint16).view(kind)
    y = np.random.default_rng(1).permutation(x)
    calls = {"next": "lp.math.nextafter(a, b)", "down": "lp.math.nextafter(a, -1.0)", "ulp": "lp.math.ulp(a)"}
    found = run(device, dtype, calls, [x, y])
    with np.errstate(all="ignore"):
        size, largest = np.abs(x), np.nextafter(kind(np.inf), kind(0))
        spacing = np.where(size == largest, largest - np.nextafter(largest, kind(0)), np.spacing(size))
        expected = {"next": np.nextafter(x, y), "down": np.nextafter(x, kind(-1))}
        expected["ulp"] = np.where(np.isinf(x), size, spacing)
        for name, values in expected.items():
            values, got = values.astype(np.float32), found[name].astype(np.float32)
            normal = ~(np.minimum(np.abs(values), size) < np.finfo(np.float32).tiny)  # others may be flushed
            np.testing.assert_array_equal(got[normal], values[normal], name)
