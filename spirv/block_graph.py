"""The blocks of a region as a graph: the order in which they are emitted, and what leads to each.

SPIR-V wants a block before those that it dominates (SPIR-V 1.6 §2.4 and §2.16.1); MLIR allows any order after
the entry.  Reverse post-order satisfies it; merge and continue blocks, which SPIR-V needs even where nothing
reaches them, come last.  Edges, and the values that they carry, are what OpPhi is made of.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, Region, SSAValue

from ..ir.dialects import spirv
from ..ir.walk import region_blocks
from .emit_context import cannot_emit

STRUCTURED = frozenset((spirv.SelectionOp, spirv.LoopOp))
"""Operations that hold a region of blocks; asked by type(), as isinstance costs more."""
_LEAVING = frozenset((spirv.BreakOp, spirv.ContinueOp))


def emission_order(region: Region, *, is_loop: bool = False) -> list[Block]:
    """Returns all blocks of a region: entry first, merge block last, a loop's continue block before it."""
    blocks = region_blocks(region)
    if len(blocks) <= 2:
        return blocks
    tail: list[Block] = []
    if type(blocks[-1].last_op) is spirv.MergeOp:
        tail = blocks[-2:] if is_loop else blocks[-1:]
    # By identity: the hash of a block is a Python call.
    seen = {id(block) for block in tail}
    reached = _reverse_post_order(blocks[0], seen)
    # Unreachable blocks stay: their branches may be operands of OpPhi.
    return [*reached, *(block for block in blocks if id(block) not in seen), *tail]


def _reverse_post_order(entry: Block, visited: set[int]) -> list[Block]:
    """Returns the blocks that an entry reaches past those visited, whose identities it adds to them."""
    order: list[Block] = []
    visited.add(id(entry))
    stack = [(entry, _successors(entry))]
    while stack:
        block, successors = stack[-1]
        while successors:
            # Last first, so that the first successor comes first in the reversed order.
            following = successors.pop()
            if id(following) not in visited:
                visited.add(id(following))
                stack.append((following, _successors(following)))
                break
        else:
            order.append(block)
            stack.pop()
    order.reverse()
    return order


def _successors(block: Block) -> list[Block]:
    last_op = block.last_op
    return [] if last_op is None else list(last_op.successors)


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


def incoming_edges(
    block: Block, leavers: Sequence[spirv.BreakOp | spirv.ContinueOp]
) -> list[tuple[Block, Sequence[SSAValue]]]:
    """Returns the blocks that branch to `block` and the values that they pass, as OpPhi names them.

    Args:
        leavers: what leaves regions within the block's function, and may go to the block.

    Raises:
        EmissionError: as `predecessors`.
    """
    found = predecessors(block)
    region = block.parent
    assert region is not None
    if type(region.parent_op()) not in STRUCTURED:
        return found
    for op in leavers:
        if op.target is not block:
            continue
        inner = op.parent_block()
        assert inner is not None
        if edge_target(inner) is None:
            found.append((inner, op.values))
        else:
            found += [(before, op.values) for before, _ in predecessors(inner)]
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
