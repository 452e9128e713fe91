"""A translation unit that calls functions which SPIR-V modules define."""

from __future__ import annotations

import lapilli as lp


@lp.extern("foreign_twice")
def twice(x: lp.f32) -> lp.f32: ...


@lp.kernel
def calls_foreign(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = twice(x[i]) + 1.0


@lp.extern("foreign_spin")
def spin(n: lp.i32) -> lp.i32: ...


@lp.kernel
def spins(x: lp.Array[lp.i32], n: lp.i32):
    i = lp.global_id(0)
    for k in range(n):
        x[i] += k & 1
    x[i] = 2 * x[i] + spin(n)
