"""A translation unit that calls functions of others."""

from __future__ import annotations

import lapilli as lp

from . import exporting


@lp.kernel
def importer_kernel(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = exporting.scale(x[i]) + 1.0
