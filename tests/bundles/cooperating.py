"""Kernels whose work-items work together, wrongly where they are asked to; compiled in debug mode."""

from __future__ import annotations

import lapilli as lp

from . import reporting_library

LENGTH = lp.SpecializationId(lp.i32, 5)


@lp.kernel(local_size=4)
def mirrored(skipped: lp.i32, x: lp.In[lp.f32], tile: lp.LocalArray[lp.f32], y: lp.Out[lp.f32]):
    other = lp.local.array(LENGTH, lp.f32)
    i = lp.local_id(0)
    if lp.global_id(0) != skipped:
        tile[i] = reporting_library.double(x[lp.global_id(0)])
    other[i] = 1.0
    lp.barrier()
    y[lp.global_id(0)] = tile[3 - i] + other[3 - i]


@lp.kernel(local_size=4)
def apart(skipped: lp.i32, y: lp.Out[lp.f32]):
    own = lp.private.array(1, lp.i32)
    own[0] = lp.global_id(0)
    if own[0] != skipped:
        lp.barrier()
    y[lp.global_id(0)] = 1.0
