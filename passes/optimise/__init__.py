"""Canonicalisation, common subexpressions, loop invariants, dead code, barriers.

`optimise` is what the compiler runs; `canonicalize`, `cse`, `dce`, `hoist-invariants` and `narrow-barriers` are the
same steps as separate passes.
"""

from .canonicalize import Canonicalize
from .cse import CommonSubexpressionElimination
from .dce import DeadCodeElimination
from .hoist_invariants import HoistInvariants
from .join_loads import JoinLoads
from .lift_breaks import LiftBreaks
from .linearise_indices import LineariseIndices
from .narrow_barriers import NarrowBarriers
from .pipeline import optimise
from .promote_arrays import PromoteArrays
from .reduce_strength import ReduceStrength

PASSES = (
    Canonicalize,
    CommonSubexpressionElimination,
    DeadCodeElimination,
    HoistInvariants,
    JoinLoads,
    LiftBreaks,
    LineariseIndices,
    NarrowBarriers,
    PromoteArrays,
    ReduceStrength,
)
"""The passes of this folder."""

__all__ = [
    "PASSES",
    "Canonicalize",
    "CommonSubexpressionElimination",
    "DeadCodeElimination",
    "HoistInvariants",
    "JoinLoads",
    "LiftBreaks",
    "LineariseIndices",
    "NarrowBarriers",
    "PromoteArrays",
    "ReduceStrength",
    "optimise",
]
