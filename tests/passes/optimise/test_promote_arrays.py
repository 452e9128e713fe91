"""Private arrays whose indices are known become values; what they hold is tested on devices."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.compile import analyse_kernels
from lapilli.frontend.kernel import KernelFunction
from lapilli.ir.target_env import TargetEnv


def optimised(kernel: KernelFunction, level: int = 1) -> str:
    (image,) = analyse_kernels([kernel], TargetEnv(optimisation_level=level)).images
    image.module.verify()
    return str(image.module)


@lp.kernel
def turns(x: lp.In[lp.f32], n: lp.i32, y: lp.Out[lp.f32]):
    """Loops, a while and branches around every element."""
    i = lp.global_id(0)
    a = lp.private.array(4, lp.f32)
    for k in range(4):
        a[k] = x[i + k]
    for _ in range(n):
        first = a[0]
        for k in range(3):
            a[k] = a[k + 1] * 0.5
        if first > 4.0:
            a[3] = first
        else:
            a[3] = first + 1.0
            a[1] += a[3]
    rounds = 0
    while a[0] < 30.0 and rounds < 40:
        a[0] += a[2] + 1.0
        rounds += 1
        if rounds == 7:
            a[2] = 0.0
    y[i] = a[0] + 10.0 * a[1] + 100.0 * a[2] + 1000.0 * a[3]


def turns_on_host(x: np.ndarray, n: int) -> np.float32:
    a = [np.float32(v) for v in x]
    for _ in range(n):
        first = a[0]
        a = [a[1] * np.float32(0.5), a[2] * np.float32(0.5), a[3] * np.float32(0.5), np.float32(0)]
        if first > 4:
            a[3] = first
        else:
            a[3] = first + np.float32(1)
            a[1] += a[3]
    rounds = 0
    while a[0] < 30 and rounds < 40:
        a[0] += a[2] + np.float32(1)
        rounds += 1
        if rounds == 7:
            a[2] = np.float32(0)
    return a[0] + 10 * a[1] + 100 * a[2] + 1000 * a[3]


@lp.kernel
def vectors(x: lp.In[lp.f32x4], n: lp.i32, y: lp.Out[lp.f32x4]):
    i = lp.global_id(0)
    a = lp.private.array((2, 2), lp.f32x4)
    for r in lp.static_range(2):
        a[r, 0] = x[i]
        a[r, 1] = x[i + 1] * 2.0
    for _ in range(n):
        a[0, 0] += a[1, 1]
        a[1, 1] = a[0, 1].wzyx
    y[i] = a[0, 0] + a[1, 1] + a[1, 0]


@pytest.mark.parametrize("kernel", [turns, vectors])
def test_nothing_is_left_of_the_array(kernel: KernelFunction):
    text = optimised(kernel)
    assert "memref.alloca" not in text and "storage_class<Function>" not in text
    assert "memref.alloca" in optimised(kernel, 0)


def test_arrays_with_an_index_of_run_time_stay():
    @lp.kernel
    def pick(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
        i = lp.global_id(0)
        a = lp.private.array(4, lp.i32)
        b = lp.private.array(2, lp.i32)
        for k in range(4):
            a[k] = k * k
        b[0], b[1] = x[i], 3
        y[i] = a[x[i] & 3] + b[0] + b[1]

    text = optimised(pick)
    assert text.count("memref.alloca") == 1 and "memref<4xi32" in text and "memref<2xi32" not in text


def test_large_arrays_and_long_loops_stay():
    @lp.kernel
    def long(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
        a = lp.private.array(600, lp.f32)
        for k in range(600):
            a[k] = x[k]
        y[lp.global_id(0)] = a[7]

    assert "memref.alloca" in optimised(long)


@pytest.mark.device
@pytest.mark.parametrize("n", [0, 1, 2, 5, 9])
def test_values_are_those_of_the_array(device: lp.Device, n: int):
    x = np.random.default_rng(n).uniform(0, 9, 11).astype(np.float32)
    y = lp.zeros(8, device=device)
    turns[8](lp.asarray(x, device=device), n, y)
    expected = [turns_on_host(x[i : i + 4], n) for i in range(8)]
    assert np.allclose(y.numpy(), expected, rtol=1e-5)


@pytest.mark.device
@pytest.mark.parametrize("n", [0, 1, 4])
def test_vectors_are_carried_by_their_components(device: lp.Device, n: int):
    x = np.random.default_rng(n).random((5, 4), dtype=np.float32)
    y = lp.zeros(4, dtype=lp.f32x4, device=device)
    vectors[4](lp.asarray(x, dtype=lp.f32x4, device=device), n, y)
    for i in range(4):
        a00, a01, a10, a11 = x[i].copy(), x[i + 1] * 2, x[i].copy(), x[i + 1] * 2
        for _ in range(n):
            a00 = a00 + a11
            a11 = a01[::-1]
        assert np.allclose(y.numpy()[i], a00 + a11 + a10, rtol=1e-5)
