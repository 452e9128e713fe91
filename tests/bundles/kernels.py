"""Kernels of the kernel-bundle tests: one translation unit with images for several sets of aspects."""

from __future__ import annotations

import lapilli as lp

COEFF = lp.SpecializationId(lp.f32, 2.0)
"""Read by `scaled`."""
TABLE = lp.SpecializationId(lp.FixedArray[lp.i32, 3], [1, 2, 3])
"""Read by `looked_up`."""
UNREAD = lp.SpecializationId(lp.u32, 5)
"""Read by no kernel."""


@lp.kernel
def scaled(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] * COEFF


@lp.kernel
def looked_up(x: lp.Array[lp.i32]):
    i = lp.global_id(0)
    x[i] = TABLE[x[i]]


@lp.kernel
def doubled(x: lp.Array[lp.f64]):
    i = lp.global_id(0)
    x[i] = x[i] + x[i]


@lp.kernel
def halved(x: lp.Array[lp.f16]):
    i = lp.global_id(0)
    x[i] = x[i] * lp.f16(0.5)


@lp.kernel
def counted(x: lp.Array[lp.u64]):
    lp.atomic.add(x, 0, lp.u64(1))


ASPECTS = {doubled: lp.Aspect.FP64, halved: lp.Aspect.FP16, counted: lp.Aspect.ATOMIC64}
"""The aspect without which a device does not run a kernel."""
