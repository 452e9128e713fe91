"""A translation unit that calls a function which a SPIR-V module defines."""

from __future__ import annotations

import lapilli as lp


@lp.extern("foreign_twice")
def twice(x: lp.f32) -> lp.f32: ...


@lp.kernel
def calls_foreign(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = twice(x[i]) + 1.0
