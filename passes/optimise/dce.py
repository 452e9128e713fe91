"""Dead code elimination.

input:    %a = arith.addi %x, %y : i32          output:   (nothing, unless %a is used)
          scf.if %c { %b = arith.muli … }                 (nothing)

Invariant: stores, barriers, calls and `scf.while` (which need not end) stay.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from .effects import body_blocks, functions_of, is_removable_class


@dataclass(frozen=True)
class DeadCodeElimination(ModulePass):
    """Removes operations without effect whose results nothing uses."""

    name = "dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            eliminate_dead_code(function)


def eliminate_dead_code(function: Operation) -> None:
    """Removes dead operations from one function, in one backward walk."""
    for block in reversed(body_blocks(function)):
        _block(block)


def _block(block: Block) -> None:
    op = block.last_op
    while op is not None:
        previous = op.prev_op
        # A loop's or branch's results decide before its body is looked at: a body is dead only as a whole.
        for region in op.regions:
            for inner in reversed(region.blocks):
                _block(inner)
        if _is_dead(op):
            op.detach()
            op.erase()
        op = previous


def _is_dead(op: Operation) -> bool:
    if any(result.first_use is not None for result in op.results):
        return False
    if isinstance(op, scf.IfOp | scf.ForOp):
        return all(_has_no_effect(block) for region in op.regions for block in region.blocks)
    return is_removable_class(type(op))


def _has_no_effect(block: Block) -> bool:
    return all(
        op is block.last_op
        or is_removable_class(type(op))
        or (
            isinstance(op, scf.IfOp | scf.ForOp)
            and all(_has_no_effect(inner) for region in op.regions for inner in region.blocks)
        )
        for op in block.ops
    )
