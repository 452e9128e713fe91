"""Upstream's `math` dialect, imported when the first operation of it is made: many kernels have none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.math import AbsFOp as AbsFOp
    from xdsl.dialects.math import CopySignOp as CopySignOp
    from xdsl.dialects.math import FloorOp as FloorOp
    from xdsl.dialects.math import PowFOp as PowFOp
    from xdsl.dialects.math import RoundEvenOp as RoundEvenOp
    from xdsl.dialects.math import TruncOp as TruncOp
else:

    def __getattr__(name: str) -> object:
        from importlib import import_module

        from ..deferred_operations import deferred_imports

        with deferred_imports():
            dialect = import_module("xdsl.dialects.math")
        found = globals()[name] = getattr(dialect, name)
        return found
