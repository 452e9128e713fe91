"""A translation unit in which one kernel cannot be compiled."""

from __future__ import annotations

import lapilli as lp


@lp.kernel
def sound(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = 1.0


@lp.kernel
def broken(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = missing_name  # noqa: F821
