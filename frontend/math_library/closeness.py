"""isclose, as Python defines it (PEP 485)."""

from __future__ import annotations

from typing import Any


def isclose(a: Any, b: Any, rel_tol: Any, abs_tol: Any) -> Any:
    """Whether a and b differ by no more than a part of the larger one, or than `abs_tol`; infinities are close to
    themselves only, and NaN to nothing."""
    size = max(abs(a), abs(b))
    is_near = abs(a - b) <= max(rel_tol * size, abs_tol)
    return (a == b) | (is_near & (a - a == b - b))
