"""The kernels; imported when the package is built, and not when it is used."""

from __future__ import annotations

import lapilli as lp


@lp.kernel
def brighten(amount: lp.f32, x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = min(x[i] + amount, 1.0)
