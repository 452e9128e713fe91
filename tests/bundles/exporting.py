"""A translation unit that exports functions."""

from __future__ import annotations

import lapilli as lp

from .kernels import COEFF


@lp.external("bundles_scale")
def scale(x: lp.f32) -> lp.f32:
    return x * COEFF


@lp.kernel
def exporter_kernel(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = scale(x[lp.global_id(0)])
