"""Canonicalisation: constant folding, identities, known branches and trip counts, one constant of each value.

input:    %a = arith.addi %x, %zero : i32     output:   uses of %a use %x
          %b = arith.addi %one, %two                    %b = arith.constant 3 : i32

Invariant: results are the same to the last bit; float arithmetic is folded only as IEEE 754 defines it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .dce import eliminate_dead_code
from .effects import functions_of
from .forward_walk import ForwardWalk


@dataclass(frozen=True)
class Canonicalize(ModulePass):
    """Brings functions into their simplest form, without removing common subexpressions."""

    name = "canonicalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            ForwardWalk(fold=True, number=False).run(function)
            eliminate_dead_code(function)
