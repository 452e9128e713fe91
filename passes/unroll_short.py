"""Loops of a few known rounds are written out before anything else: the pass unroll-short.

input:    scf.for %k = 0 to 2 step 1 {                  output:   %v = memref.load %x[%i]
            %j = arith.addi %i, %k                                use(%v)
            %v = memref.load %x[%j]                               %j = arith.addi %i, 1
            use(%v)                                               %w = memref.load %x[%j]
          }                                                       use(%w)

A driver that compiles loops as they are written takes as long for the count, the test and the jumps of a round as for
two accesses; where it unrolls them itself, as llvmpipe does, there is nothing to gain.  What a round computes of its
number folds, and private arrays become values.  Used where `TargetEnv.unrolls_short` says so.

Loops with barriers stay: there barriers are what takes the time, and `rotate_barriers` needs the loop.

Invariant: the operations run in the same order on the same values; locations are kept.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, gpu, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ..ir.dialects.spirv.barrier import ControlBarrierOp
from .optimise.effects import optimised_functions
from .optimise.fold_control_flow import trip_count
from .optimise.forward_walk import ForwardWalk
from .unroll import size, unroll_short_loops

MAXIMUM_OPERATIONS = 160
"""What all rounds of a loop together may become."""
_STAY = (gpu.BarrierOp, ControlBarrierOp, func.CallOp, scf.WhileOp)


@dataclass(frozen=True)
class UnrollShort(ModulePass):
    """Writes out loops of a few known rounds."""

    name = "unroll-short"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        unroll_short(op)


def unroll_short(module: Operation, *, disabled: Collection[str] = ()) -> None:
    """Changes the loops of every function of `module`, inner ones first; folds if that pass is not `disabled`."""
    for function in optimised_functions(module):
        if unroll_short_loops(function, _is_wanted) and "canonicalize" not in disabled:
            ForwardWalk(fold=True, number=False).run(function)  # indices of private arrays must be known


def _is_wanted(op: scf.ForOp) -> bool:
    trips = trip_count(op)
    is_short = trips is not None and trips * size(op.body.block) <= MAXIMUM_OPERATIONS
    return is_short and not any(isinstance(inner, _STAY) for inner in op.walk())
