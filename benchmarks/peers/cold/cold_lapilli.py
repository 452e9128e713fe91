"""A user's whole program: saxpy, its result, the clock."""

import time

import numpy as np

import lapilli as lp


@lp.kernel
def saxpy(a: lp.f32, x: lp.Array[lp.f32], y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = a * x[i] + y[i]


x = lp.asarray(np.arange(1024, dtype=np.float32))
y = lp.asarray(np.ones(1024, np.float32))
saxpy[x.size](2.0, x, y)
assert np.array_equal(np.asarray(y), 2 * np.arange(1024) + 1)
print(time.monotonic(), flush=True)
