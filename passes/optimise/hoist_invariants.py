"""Loop-invariant code motion out of `scf.for` and `scf.while`.

input:    scf.for … { %a = arith.mulf %x, %y … }     output:   %a = arith.mulf %x, %y
                                                               scf.for … { … }

Invariant: only operations move that may run even where the loop has no trips; loads stay.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...ir.walk import block_operations, operands_of
from .effects import functions_of, is_speculatable, loops_of

_LOOPS = frozenset((scf.ForOp, scf.WhileOp))


@dataclass(frozen=True)
class HoistInvariants(ModulePass):
    """Moves what every round of a loop computes alike out of the loop."""

    name = "hoist-invariants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            hoist_invariants(function)


def hoist_invariants(function: Operation) -> None:
    """Moves invariant operations out of the loops of one function, innermost loops first."""
    for loop in loops_of(function, _LOOPS):
        for region in loop.regions:
            for body in region.blocks:
                _hoist(body, loop)


def _hoist(body: Block, loop: Operation) -> None:
    assert loop.parent is not None
    for op in block_operations(body):
        if is_speculatable(op) and not any(_is_inside(value, body) for value in operands_of(op)):
            op.detach()
            loop.parent.insert_op_before(op, loop)


def _is_inside(value: SSAValue, body: Block) -> bool:
    # An operand of an operation in `body` is made in that block or outside the loop.
    owner = value.owner
    return owner is body if isinstance(owner, Block) else owner.parent is body
