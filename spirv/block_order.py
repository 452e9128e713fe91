"""The order in which the blocks of a region are emitted.

SPIR-V wants a block before those that it dominates (SPIR-V 1.6 §2.4 and §2.16.1); MLIR allows any order after
the entry.  Reverse post-order satisfies it; merge and continue blocks, which SPIR-V needs even where nothing
reaches them, come last.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Region

from ..ir.dialects.spirv import MergeOp


def emission_order(region: Region, *, is_loop: bool = False) -> list[Block]:
    """Returns all blocks of a region: entry first, merge block last, a loop's continue block before it."""
    blocks = list(region.blocks)
    if len(blocks) <= 2:
        return blocks
    tail: list[Block] = []
    if isinstance(blocks[-1].last_op, MergeOp):
        tail = blocks[-2:] if is_loop else blocks[-1:]
    reached = _reverse_post_order(blocks[0], set(tail))
    seen = {*reached, *tail}
    # Unreachable blocks stay: their branches may be operands of OpPhi.
    return [*reached, *(block for block in blocks if block not in seen), *tail]


def _reverse_post_order(entry: Block, excluded: set[Block]) -> list[Block]:
    order: list[Block] = []
    visited = {entry, *excluded}
    stack: list[tuple[Block, Iterator[Block]]] = [(entry, _successors(entry))]
    while stack:
        block, successors = stack[-1]
        following = next((s for s in successors if s not in visited), None)
        if following is None:
            order.append(block)
            stack.pop()
        else:
            visited.add(following)
            stack.append((following, _successors(following)))
    order.reverse()
    return order


def _successors(block: Block) -> Iterator[Block]:
    # Last first, so that the first successor comes first in the reversed order.
    last_op = block.last_op
    return iter(()) if last_op is None else iter(tuple(last_op.successors)[::-1])
