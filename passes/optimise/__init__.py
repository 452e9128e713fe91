"""Canonicalisation, common subexpressions, loop invariants, dead code.

`optimise` is what the compiler runs; `canonicalize`, `cse` and `dce` are the same steps as separate passes.
"""

from .canonicalize import Canonicalize
from .cse import CommonSubexpressionElimination
from .dce import DeadCodeElimination
from .pipeline import optimise

PASSES = (Canonicalize, CommonSubexpressionElimination, DeadCodeElimination)
"""The passes of this folder."""

__all__ = ["PASSES", "Canonicalize", "CommonSubexpressionElimination", "DeadCodeElimination", "optimise"]
