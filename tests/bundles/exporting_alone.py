"""A translation unit whose symbol no other one exports, so that a whole program links while others are imported."""

from __future__ import annotations

import lapilli as lp

from .kernels import COEFF


@lp.external("bundles_scale_alone")
def scale(x: lp.f32) -> lp.f32:
    return x * COEFF
