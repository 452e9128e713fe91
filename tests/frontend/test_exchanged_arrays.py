"""A name stands for one array: which one it means is known when a kernel is compiled, on every way through it."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.compile import compile_kernels


@lp.kernel
def each_round(x: lp.Array[lp.f32], y: lp.Array[lp.f32], n: lp.i32):
    for k in range(n):
        x, y = y, x
        x[0] += k  # of the one array, then of the other


@lp.kernel
def at_the_end(x: lp.Array[lp.f32], y: lp.Array[lp.f32], n: lp.i32):
    for _ in range(n):
        for k in range(n):
            x[k] += 1.0
        x, y = y, x


@lp.kernel
def before_a_continue(x: lp.Array[lp.f32], y: lp.Array[lp.f32], n: lp.i32):
    for k in range(n):
        if k == 1:
            x = y
            continue
        x[0] += 1.0


@lp.kernel
def before_a_break(x: lp.Array[lp.f32], y: lp.Array[lp.f32], n: lp.i32):
    while n > 0:
        n -= 1
        if n == 1:
            x = y
            break
    x[0] += 1.0


@lp.kernel
def through_a_variable(x: lp.Array[lp.f32], y: lp.Array[lp.f32], n: lp.i32):
    a = y
    for k in range(n):
        if k == 1:
            x = a
            continue
        x[0] += 1.0


def exchanging(x, y, n):
    for k in range(n):
        x, y = y, x
        x[0] += k


@lp.kernel
def in_a_helper(x: lp.Array[lp.f32], y: lp.Array[lp.f32], n: lp.i32):
    exchanging(x, y, n)


@pytest.mark.parametrize(
    "kernel",
    [each_round, at_the_end, before_a_continue, before_a_break, through_a_variable, in_a_helper],
    ids=lambda kernel: kernel.name,
)
def test_a_parameter_names_no_other_array(kernel: lp.Kernel):
    with pytest.raises(lp.CompileError, match="names the array 'x' in one place and 'y' in another"):
        compile_kernels([kernel])


def turning(pair, n):
    for k in range(n):
        if k == 1:
            pair = (pair[1], pair[0])
            continue
        pair[0][0] += k


@lp.kernel
def in_a_tuple(x: lp.Array[lp.f32], y: lp.Array[lp.f32], n: lp.i32):
    turning((x, y), n)


def test_arrays_in_a_tuple_are_two():
    with pytest.raises(lp.CompileError, match="variable 'pair' is a tuple of 2 in one place"):
        compile_kernels([in_a_tuple])


def add_to(a, k, v):
    a[k] += v


@lp.kernel
def fixed_names(x: lp.Array[lp.f32], y: lp.Array[lp.f32], n: lp.i32):
    a = x
    for k in range(n):
        a[k] += 1.0
        add_to(y, k, a[k])
    for b, v in zip((x, y), (10.0, 20.0)):  # noqa: B905
        add_to(b, 0, v)


def test_names_that_stay_with_their_array(lapilli_device: lp.Device):
    x, y = lp.zeros(2, device=lapilli_device), lp.zeros(2, device=lapilli_device)
    fixed_names[1](x, y, 2)
    np.testing.assert_array_equal([*x.numpy(), *y.numpy()], [11, 1, 21, 1])
