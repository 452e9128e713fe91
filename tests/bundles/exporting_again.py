"""A translation unit that exports a symbol that `exporting` exports too."""

from __future__ import annotations

import lapilli as lp


@lp.external("bundles_scale")
def scale(x: lp.f32) -> lp.f32:
    return -x


@lp.kernel
def second_exporter(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = scale(x[lp.global_id(0)])
