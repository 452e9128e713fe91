"""A user's whole program: saxpy, its result, the clock."""

import os
import time

import numpy as np
import vkdispatch as vd
import vkdispatch.codegen as vc
from vkdispatch.codegen.abbreviations import Buff, Const, f32

vd.initialize(backend="vulkan")
vd.make_context(use_cpu=True)


@vd.shader(exec_size=lambda arguments: arguments.y.size)
def saxpy(x: Buff[f32], y: Buff[f32], a: Const[f32]):
    i = vc.global_invocation_id().x
    y[i] = a * x[i] + y[i]


x = vd.asbuffer(np.arange(1024, dtype=np.float32))
y = vd.asbuffer(np.ones(1024, np.float32))
saxpy(x, y, 2.0)
assert np.array_equal(np.asarray(y.read(0)), 2 * np.arange(1024) + 1)
print(time.monotonic(), flush=True)
os._exit(0)
