"""Kernels of the tests."""

from __future__ import annotations

import lapilli as lp


@lp.kernel
def saxpy(a: lp.f32, x: lp.Array[lp.f32], y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = a * x[i] + y[i]


@lp.kernel
def double(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = 2.0 * x[i]


@lp.kernel
def double_wide(x: lp.Array[lp.f64]):
    i = lp.global_id(0)
    x[i] = 2.0 * x[i]


@lp.kernel
def wide_integers(x: lp.Array[lp.i64]):
    i = lp.global_id(0)
    x[i] = x[i] + lp.i64(1)
