"""Zeros that a driver finds out by inlining, forwarding stores and running the first rounds of loops.

Mesa's llvmpipe took v * float(n) for 0.0 where it found that n is 0: an argument of a function, what one gives, a local
id in groups of one work-item, an integer that was stored before it is loaded.  What differs for two inputs stays as it
is: only where all samples agree it is hidden.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.compile import compile_kernels
from lapilli.ir.target_env import TargetEnv
from lapilli.spirv.tools import spirv_tools

FACTOR = lp.SpecializationId(lp.i32, 5)
X = np.array([1.0, np.inf, -np.inf, np.nan, -2.0, -0.0], np.float32)


def times_difference(v: lp.f32, n: lp.i32, m: lp.i32) -> lp.f32:
    return v * lp.f32(n - m)


def times_whole(v: lp.f32, c: lp.f32) -> lp.f32:
    return v * lp.f32(lp.i32(c))


def of_low_bits(v: lp.f32, n: lp.i32) -> lp.f32:
    return times_difference(v, n & 1, n & 1)


def shifted_out(n: lp.i32) -> lp.i32:
    return (n & 1) >> 1


def chosen(n: lp.i32, v: lp.f32) -> lp.f32:
    if n == 7:
        return 0.0
    return v


def store(a: lp.Array[lp.i32], i: lp.i32):
    a[i] = 0


def fetch(a: lp.Array[lp.i32], i: lp.i32) -> lp.i32:
    return a[i]


@lp.kernel
def calls(x: lp.In[lp.f32], m: lp.Array[lp.i32], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    v = x[i]
    n = m[i]
    out[0, i] = times_difference(v, n, n)
    out[1, i] = times_difference(v, 3, 3)
    out[2, i] = times_whole(v, 0.25)
    out[3, i] = of_low_bits(v, n)
    out[4, i] = v * lp.f32(shifted_out(n))
    out[5, i] = v * chosen(7, v)
    out[6, i] = v * lp.f32(fetch(m, i) - n)
    store(m, i)
    out[7, i] = v * lp.f32(fetch(m, i))
    out[8, i] = v * lp.f32(m[i])


@lp.kernel
def loops(x: lp.In[lp.f32], m: lp.Array[lp.i32], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    v = x[i]
    n = m[i]
    t = n
    out[0, i] = v * 0.0
    for k in range(4):
        if k == 0:
            out[0, i] = v * lp.f32(t - n)
        t = t * FACTOR
    out[1, i] = v * lp.f32(t)
    doubled = 0
    rounds = 3
    while rounds > 0:
        doubled = doubled * 2
        rounds -= 1
    out[2, i] = v * lp.f32(doubled)
    z = n + 1
    for _ in range(3):
        z = z * 0
    out[3, i] = v * lp.f32(z)
    half = lp.f32(i) * 0.5
    out[4, i] = v * lp.f32(lp.i32(half) - lp.i32(lp.f32(i) * 0.5))
    out[5, i] = v * lp.f32(m[i + 1 - 1] - n)
    out[6, i] = v * lp.f32((n % 8) // 8)
    s = lp.private.array(4, lp.i32)
    s[i & 3] = 0
    out[7, i] = v * lp.f32(s[i & 3])
    out[8, i] = v * lp.f32(m[i] - m[i])


@lp.kernel(local_size=2)
def stores(
    x: lp.In[lp.f32], m: lp.Array[lp.i32], out: lp.Out[lp.f32, 2], w: lp.Array[lp.f32], c: lp.Array[lp.i32]
):
    i = lp.global_id(0)
    v = x[i]
    n = m[i]
    group = lp.local.array(2, lp.i32)
    group[lp.local_id(0)] = n
    out[0, i] = v * lp.f32(group[lp.local_id(0)] - n)
    c[i] = n
    out[1, i] = v * lp.f32(c[i] - n)
    second = c[i]
    c[i] = second + 1
    out[2, i] = v * lp.f32(c[i] - n - 1)
    w[i] = v
    out[3, i] = v * lp.f32(lp.i32(w[i]) - lp.i32(v))
    out[4, i] = v * (0.0 if c[i] == n + 1 else 1.0)
    w[i] = lp.f32(n)
    out[5, i] = v * (w[i] - lp.f32(n))


@lp.kernel(contract=False)
def late_rounds(x: lp.In[lp.f32], m: lp.Array[lp.i32], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    v = x[i]
    p = m[i] + 1
    q = m[i] + 2
    for k in range(4):
        if k > 1:
            out[k - 2, i] = v * lp.f32(p)
        p = q
        q = 0
    y = lp.f32(m[i])
    z = lp.f32(i) * 0.75
    out[2, i] = v * lp.f32(lp.i32(y + z) - lp.i32(z + y))
    out[3, i] = v * lp.f32(lp.i32(y * z) - lp.i32(z * y))


@lp.kernel(local_size=1)
def ids(x: lp.In[lp.f32], m: lp.Array[lp.i32], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    v = x[i]
    out[0, i] = v * lp.f32(lp.local_id(0))
    out[1, i] = v * lp.f32(i - lp.group_id(0))
    out[2, i] = v * lp.f32(i - (lp.group_id(0) * lp.local_range(0) + lp.local_id(0)))


@pytest.mark.parametrize("opt_level", [0, 1, 2])
@pytest.mark.parametrize(
    ("kernel", "rows"), [(calls, 9), (loops, 9), (ids, 3), (stores, 6), (late_rounds, 4)]
)
def test_products_with_zeros(device: lp.Device, kernel: lp.Kernel, rows: int, opt_level: int) -> None:
    local_size = {"ids": 1, "stores": 2}.get(kernel.name)
    kernel = lp.kernel(
        kernel.function, opt_level=opt_level, local_size=local_size, contract=kernel is not late_rounds
    )
    out = lp.zeros((rows, X.size), device=device)
    m = lp.asarray(np.arange(X.size, dtype=np.int32), device=device)
    extra = [lp.zeros(X.size, type_, device=device) for type_ in (np.float32, np.int32)]
    arrays = [lp.asarray(X, device=device), m, out, *(extra if kernel.name == "stores" else [])]
    kernel[X.size].spec({FACTOR: 0} if kernel.name == "loops" else {})(*arrays)
    with np.errstate(all="ignore"):
        expected = np.broadcast_to(X * np.float32(0), out.shape)
    np.testing.assert_array_equal(out.numpy(), expected)
    signed = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(out.numpy())[signed], np.signbit(expected)[signed])


@lp.kernel
def nothing_known(x: lp.In[lp.f32, 2], m: lp.In[lp.u32], rounds: lp.i32, out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    state = m[i] * 9781 + 17
    total = x[i, 0]
    for k in range(rounds):
        state = state * 747796405 + 2891336453
        word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737
        total = total + lp.f32(word >> 8) * x[i, k]
    out[i] = total * lp.math.exp(total - x[i, 1])


def test_numbers_that_differ_are_not_hidden() -> None:
    texts = [
        spirv_tools().disassemble(
            compile_kernels([nothing_known], replace(TargetEnv(), folds_zeros=hides))[0].spirv
        )
        for hides in (False, True)
    ]
    plain, hiding = (text.count("OpBitwiseOr") + text.count("OpSelect ") for text in texts)
    assert plain == hiding
