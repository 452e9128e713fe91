"""Our own validation of SPIR-V modules: one file a rule family, run by `validate`."""

from __future__ import annotations

from .finding import Finding
from .runner import validate

__all__ = ["Finding", "validate"]
