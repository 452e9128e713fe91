"""Canonicalisation, common subexpressions, loop invariants, dead code, barriers.

`optimise` is what the compiler runs; `canonicalize`, `cse`, `dce` and `narrow-barriers` are the same steps as separate
passes.
"""

from .canonicalize import Canonicalize
from .cse import CommonSubexpressionElimination
from .dce import DeadCodeElimination
from .narrow_barriers import NarrowBarriers
from .pipeline import optimise
from .promote_arrays import PromoteArrays

PASSES = (Canonicalize, CommonSubexpressionElimination, DeadCodeElimination, NarrowBarriers, PromoteArrays)
"""The passes of this folder."""

__all__ = [
    "PASSES",
    "Canonicalize",
    "CommonSubexpressionElimination",
    "DeadCodeElimination",
    "NarrowBarriers",
    "PromoteArrays",
    "optimise",
]
