"""Common subexpression elimination.

input:    %a = arith.addi %x, %y : i32     output:   %a = arith.addi %x, %y : i32
          %b = arith.addi %x, %y : i32               uses of %b use %a

Invariant: a value is shared only where its first computation dominates; a load only while no store, barrier
or call lies between, except from arrays that the kernel declares read-only.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .effects import functions_of
from .forward_walk import ForwardWalk


@dataclass(frozen=True)
class CommonSubexpressionElimination(ModulePass):
    """Computes equal values once."""

    name = "cse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            ForwardWalk(fold=False, number=True).run(function)
