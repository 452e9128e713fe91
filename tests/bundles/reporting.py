"""A translation unit whose kernels check and print, and call a function of another unit."""

from __future__ import annotations

import lapilli as lp

from . import reporting_library


@lp.kernel
def guarded(x: lp.Array[lp.f32], limit: lp.f32):
    i = lp.global_id(0)
    assert x[i] < limit, f"element {i}"
    x[i] = reporting_library.double(x[i])


@lp.kernel
def spoken(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    print("item", i, x[i])
    assert x[i] >= 0.0, "negative"
    x[i] += 1.0


@lp.kernel
def everywhere(x: lp.Array[lp.i32]):
    i = lp.global_linear_id()
    assert i != 5
    x[i] = 1
