"""A translation unit that calls the function of `exporting_alone`."""

from __future__ import annotations

import lapilli as lp

from . import exporting_alone


@lp.kernel
def importer_kernel(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = exporting_alone.scale(x[i]) + 1.0
