"""hypot, scaled by the larger part so that squares neither overflow nor vanish."""

from __future__ import annotations

from typing import Any

import lapilli as lp


def hypot(x: Any, y: Any) -> Any:
    """√(x² + y²); infinity wins over NaN."""
    a = abs(x)
    b = abs(y)
    large = max(a, b)
    ratio = min(a, b) / large
    result = lp.select(large == 0.0, large, large * lp.math.sqrt(1.0 + ratio * ratio))
    result = lp.select((x != x) | (y != y), lp.math.nan, result)
    return lp.select((a == lp.math.inf) | (b == lp.math.inf), lp.math.inf, result)


def hypot_f32(x: lp.f32, y: lp.f32) -> lp.f32:
    """√(x² + y²)"""
    return hypot(x, y)


def hypot_f64(x: lp.f64, y: lp.f64) -> lp.f64:
    """√(x² + y²)"""
    return hypot(x, y)
