"""Takes vectors apart, which programs written for MLIR use; the front end never makes an operation on them.

    %w = vector.load %x[%i] : memref<?xf32>, vector<2xf32>     %a = memref.load %x[%i]   %b = memref.load %x[%i + 1]
    %s = vector.reduction <add>, %w : vector<2xf32> into f32   %s = arith.addf %a, %b

Every vector becomes its components, of any shape up to 1024 of them; what cannot be lowered is refused by name.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .upstream.vectors import take_vectors_apart


def lower_vectors(module: ModuleOp) -> None:
    """Replaces the operations on vectors; raises `PassError`."""
    take_vectors_apart(module)


class LowerVectorsPass(ModulePass):
    """Lowers operations on vectors (see the head of this file)."""

    name = "lower-vectors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lower_vectors(op)
