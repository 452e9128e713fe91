"""Loop-invariant code motion out of `scf.for` and `scf.while`.

input:    scf.for … { %a = arith.mulf %x, %y … }     output:   %a = arith.mulf %x, %y
                                                               scf.for … { … }

Invariant: only operations move that may run even where the loop has no trips; loads stay.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from .effects import body_blocks, is_speculatable


def hoist_invariants(function: Operation) -> None:
    """Moves invariant operations out of the loops of one function, innermost loops first."""
    for block in body_blocks(function):
        _block(block)


def _block(block: Block) -> None:
    for op in tuple(block.ops):
        for region in op.regions:
            for inner in region.blocks:
                _block(inner)
        if isinstance(op, scf.ForOp | scf.WhileOp):
            for region in op.regions:
                for inner in region.blocks:
                    _hoist(inner, op)


def _hoist(body: Block, loop: Operation) -> None:
    assert loop.parent is not None
    for op in tuple(body.ops):
        if is_speculatable(op) and not any(_is_inside(value, body) for value in op.operands):
            op.detach()
            loop.parent.insert_op_before(op, loop)


def _is_inside(value: SSAValue, body: Block) -> bool:
    # An operand of an operation in `body` is made in that block or outside the loop.
    owner = value.owner
    return owner is body if isinstance(owner, Block) else owner.parent is body
