"""The order in which the blocks of a region are emitted.

SPIR-V wants a block before those that it dominates (SPIR-V 1.6 §2.4 and §2.16.1); MLIR allows any order after
the entry.  Reverse post-order satisfies it; merge and continue blocks, which SPIR-V needs even where nothing
reaches them, come last.
"""

from __future__ import annotations

from xdsl.ir import Block, Region

from ..ir.dialects.spirv import MergeOp
from ..ir.walk import region_blocks


def emission_order(region: Region, *, is_loop: bool = False) -> list[Block]:
    """Returns all blocks of a region: entry first, merge block last, a loop's continue block before it."""
    blocks = region_blocks(region)
    if len(blocks) <= 2:
        return blocks
    tail: list[Block] = []
    if type(blocks[-1].last_op) is MergeOp:
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
