"""A translation unit that calls a function that nobody exports."""

from __future__ import annotations

import lapilli as lp


@lp.extern("bundles_nowhere")
def nowhere(x: lp.f32) -> lp.f32: ...


@lp.kernel
def unresolved_kernel(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = nowhere(x[lp.global_id(0)])
