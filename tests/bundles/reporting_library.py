"""A translation unit whose exported function the kernels of `reporting` call; no other exports its name."""

from __future__ import annotations

import lapilli as lp


@lp.external("bundles_double")
def double(x: lp.f32) -> lp.f32:
    return x * 2.0


@lp.kernel
def library_kernel(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = double(x[lp.global_id(0)])
