"""What the tests of graphs record."""

from __future__ import annotations

import lapilli as lp


@lp.kernel
def add(a: lp.f32, x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] + a


@lp.kernel
def saxpy(a: lp.f32, x: lp.In[lp.f32], y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = a * x[i] + y[i]


@lp.kernel
def scale(x: lp.In[lp.f32], y: lp.Out[lp.f32], factor: lp.f32):
    i = lp.global_id(0)
    y[i] = factor * x[i]


def zeros(device, n=64):
    return lp.zeros(n, device=device)
