"""A user's whole program: saxpy, its result, the clock."""

import time

import numpy as np
import taichi as ti

ti.init(arch=ti.vulkan, log_level=ti.ERROR)
Line = ti.types.ndarray(dtype=ti.f32, ndim=1)


@ti.kernel
def saxpy(a: ti.f32, x: Line, y: Line):
    for i in range(x.shape[0]):
        y[i] = a * x[i] + y[i]


x = ti.ndarray(ti.f32, 1024)
y = ti.ndarray(ti.f32, 1024)
x.from_numpy(np.arange(1024, dtype=np.float32))
y.from_numpy(np.ones(1024, np.float32))
saxpy(2.0, x, y)
assert np.array_equal(y.to_numpy(), 2 * np.arange(1024) + 1)
print(time.monotonic(), flush=True)
