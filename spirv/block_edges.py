"""Which blocks lead to a block, and with which values: what OpPhi and branches out of regions are made of."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from ..ir.dialects import spirv
from .emit_context import cannot_emit

_LEAVING = frozenset((spirv.BreakOp, spirv.ContinueOp))  # asked by type(): isinstance costs more


def edge_target(block: Block) -> Block | None:
    """Returns where a block goes that only stands for a branch out of its region; None for any other."""
    op = block.first_op
    if type(op) in _LEAVING and isinstance(op, spirv.BreakOp | spirv.ContinueOp):
        return op.target if op.is_edge is not None and not block.args else None
    return None


def predecessors(block: Block) -> list[tuple[Block, Sequence[SSAValue]]]:
    """Returns the blocks of its region that branch to `block`, each once, and the values that they pass.

    Raises:
        EmissionError: a terminator names the block twice and passes it different values, for which OpPhi has
            no form.
    """
    region = block.parent
    assert region is not None
    found: list[tuple[Block, Sequence[SSAValue]]] = []
    for candidate in region.blocks:
        terminator = candidate.last_op
        if terminator is None or not any(target is block for target in terminator.successors):
            continue
        passed = _passed(terminator, block)
        if any(tuple(values) != tuple(passed[0]) for values in passed[1:]):
            cannot_emit("it passes one block different values", terminator)
        found += [(candidate, values) for values in passed[:1]]
    return found


def _passed(terminator: Operation, block: Block) -> list[Sequence[SSAValue]]:
    """Returns the values that a terminator passes to `block`, once for each of its targets that is `block`."""
    if isinstance(terminator, spirv.BranchOp):
        return [terminator.block_arguments]
    if isinstance(terminator, spirv.BranchConditionalOp):
        values = terminator.true_target_operands, terminator.false_target_operands
        return [v for target, v in zip(terminator.successors, values, strict=True) if target is block]
    if isinstance(terminator, spirv.SwitchOp):
        found = [values for _, target, values in terminator.case_operands() if target is block]
        return [*found, terminator.default_operands] if terminator.default_target is block else found
    return []
