"""hypot, scaled by the larger part so that squares neither overflow nor vanish."""

from __future__ import annotations

from typing import Any

import lapilli as lp


def hypot(x: Any, y: Any, limit: Any, down: Any, up: Any) -> Any:
    """√(x² + y²); infinity wins over NaN.

    Above `limit` the numbers are scaled by `down`, and the result by `up`: NVIDIA's division flushes the reciprocal of
    what is near overflow (Vulkan 1.3, Precision of core SPIR-V Instructions, allows it above 2**126).
    """
    a = abs(x)
    b = abs(y)
    is_large = max(a, b) > limit
    factor = lp.select(is_large, down, 1.0)
    large = max(a, b) * factor
    ratio = min(a, b) * factor / large
    result = lp.select(large == 0.0, large, large * lp.math.sqrt(1.0 + ratio * ratio))
    result = result * lp.select(is_large, up, 1.0)
    result = lp.select((x != x) | (y != y), lp.math.nan, result)
    return lp.select((a == lp.math.inf) | (b == lp.math.inf), lp.math.inf, result)


def hypot_f32(x: lp.f32, y: lp.f32) -> lp.f32:
    """√(x² + y²)"""
    return hypot(x, y, lp.f32(1e30), lp.f32(2.0**-32), lp.f32(2.0**32))


def hypot_f64(x: lp.f64, y: lp.f64) -> lp.f64:
    """√(x² + y²)"""
    return hypot(x, y, lp.f64(1e300), lp.f64(2.0**-32), lp.f64(2.0**32))
