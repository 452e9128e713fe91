"""What tests need of the host for bf16: NumPy has no such numbers without ml_dtypes."""

from __future__ import annotations

import pytest


def require_host_numbers(dtype: object) -> None:
    """Skips a test whose host side computes with numbers of `dtype`, or its name, where NumPy has none."""
    if getattr(dtype, "spelling", dtype) == "bf16":
        pytest.importorskip("ml_dtypes", reason="NumPy has no bf16 without ml_dtypes")
