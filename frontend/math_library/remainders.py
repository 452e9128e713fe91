"""remainder: exact, from fmod."""

from __future__ import annotations

from typing import Any

import lapilli as lp


def remainder(x: Any, y: Any, rest: Any) -> Any:
    """x - n y with n rounded half to even, from the rest of |x| divided by 2 |y|."""
    size = abs(y)
    is_odd = rest >= size
    once = lp.select(is_odd, rest - size, rest)
    other = size - once  # exact where it is not the larger one; half of |y| may not be
    is_above = (once > other) | ((once == other) & is_odd)
    twice = lp.select(is_above, once - size, once)
    return lp.select(lp.math.copysign(1.0 + 0.0 * rest, x) < 0.0, -twice, twice)


def remainder_f32(x: lp.f32, y: lp.f32) -> lp.f32:
    """x - n y with n rounded half to even."""
    return remainder(x, y, lp.math.fmod(abs(x), 2.0 * abs(y)))


def remainder_f64(x: lp.f64, y: lp.f64) -> lp.f64:
    """x - n y with n rounded half to even."""
    return remainder(x, y, lp.math.fmod(abs(x), 2.0 * abs(y)))
