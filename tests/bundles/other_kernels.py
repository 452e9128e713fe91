"""A second translation unit, with a kernel of the same name as one of `kernels`."""

from __future__ import annotations

import lapilli as lp


@lp.kernel
def scaled(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] *= 100.0


@lp.kernel(name="only here")
def named(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] -= 1.0
