"""Upstream's `math` dialect, imported when the first operation of it is made: many kernels have none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation

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


DEVICE_FUNCTION: Mapping[str, Attribute] = {"fastmath": FastMathFlagsAttr((FastMathFlag.APPROX_FUNC,))}
"""Properties of a function that the device's own instruction is to compute, as accurate as Vulkan asks."""


def is_device_function(op: Operation) -> bool:
    """Whether an operation may be as far off as the device's own instruction, as ``fastmath<fast>`` says too."""
    flags = op.properties.get("fastmath")
    return isinstance(flags, FastMathFlagsAttr) and FastMathFlag.APPROX_FUNC in flags.data
