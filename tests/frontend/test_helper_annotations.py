"""What annotations of helpers' parameters say of arrays, and of values beside None."""

from __future__ import annotations

import lapilli as lp
from lapilli.frontend.builder import build_module


@lp.struct
class Line:
    slope: lp.f32

    def at(self, place: lp.f32, offset: float = 0.0):
        return self.slope * place + offset


def first(a: lp.In[lp.f32], scale: lp.f32x2 | None = None, more: lp.Array[lp.f32] = None):
    if more is not None:
        return more[0]
    return a[0] if scale is None else a[0] * scale.y


def last(a: lp.LocalArray[lp.f32], i: int):
    return a[-1] + i


def store(a: lp.Out[lp.f32, 2], value: float):
    a[0, 0] = value


@lp.kernel
def every_kind(x: lp.In[lp.f32], y: lp.Array[lp.f32, 2], z: lp.Array[lp.f32], line: Line):
    shared = lp.local.array(4, lp.f32)
    shared[lp.local_id(0)] = line.at(1, offset=2)
    lp.barrier()
    store(y, first(x) + first(z, lp.f32x2(1.0)) + first(x, more=z))
    y[0, 1] = last(shared, 1) + first(shared) + y[0, 0]


def test_arrays_of_every_kind_are_taken():
    assert "func.func private @store" in str(build_module([every_kind]))
