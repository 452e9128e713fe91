"""A user's whole program: saxpy, its result, the clock."""

import time

import compushady as c
import numpy as np
from compushady.shaders import hlsl

SOURCE = """
RWStructuredBuffer<float> x : register(u0);
RWStructuredBuffer<float> y : register(u1);
[numthreads(64, 1, 1)] void main(uint3 g : SV_DispatchThreadID) { y[g.x] = 2.0 * x[g.x] + y[g.x]; }
"""


def buffer(host: np.ndarray) -> c.Buffer:
    """Returns the array on the device."""
    made, staging = c.Buffer(host.nbytes, stride=4), c.Buffer(host.nbytes, c.HEAP_UPLOAD)
    staging.upload(host)
    staging.copy_to(made)
    return made


x, y = buffer(np.arange(1024, dtype=np.float32)), buffer(np.ones(1024, np.float32))
c.Compute(hlsl.compile(SOURCE), uav=[x, y]).dispatch(16, 1, 1)
back, found = c.Buffer(4096, c.HEAP_READBACK), np.zeros(1024, np.float32)
y.copy_to(back)
back.readback(found)
assert np.array_equal(found, 2 * np.arange(1024) + 1)
print(time.monotonic(), flush=True)
