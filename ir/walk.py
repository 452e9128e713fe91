"""What is inside of an operation, as lists: many times faster than xDSL's iterators, views and nested generators."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from functools import cache
from typing import cast

from xdsl.ir import Block, Operation, Region, SSAValue, SSAValues


def operations(root: Operation | Region | Block) -> list[Operation]:
    """Returns `root`, where it is an operation, and everything inside of it, each before what is inside of it.

    Changes made while the list is gone through are not seen.
    """
    found: list[Operation] = []
    if type(root) is Region:  # isinstance costs a call in Python for everything else
        _visit(root, found)
        return found
    for op in block_operations(root) if type(root) is Block else (cast("Operation", root),):
        found.append(op)
        for region in op.regions:
            _visit(region, found)
    return found


def region_blocks(region: Region) -> list[Block]:
    """Returns the blocks of a region, in order."""
    found: list[Block] = []
    block = region._first_block
    while block is not None:
        found.append(block)
        block = block._next_block
    return found


def block_operations(block: Block) -> list[Operation]:
    """Returns the operations of a block, in order, without what is inside of them."""
    found: list[Operation] = []
    op = block._first_op
    while op is not None:
        found.append(op)
        op = op._next_op
    return found


def enclosing(op: Operation) -> list[Operation]:
    """Returns the operations that an operation is inside of, innermost first."""
    found: list[Operation] = []
    block = op.parent
    while (
        block is not None and (region := block.parent) is not None and (around := region.parent) is not None
    ):
        found.append(around)
        block = around.parent
    return found


def operands_of(op: Operation) -> SSAValues[SSAValue]:
    """Returns the operands of an operation as they are now; ``op.operands`` is a view that follows changes."""
    return op._operands


def instances(root: Operation | Region | Block, *kinds: type[Operation]) -> list[Operation]:
    """Returns the operations of some classes, in the order of `operations`.

    The classes that occur are few, and each `isinstance` of xDSL's abstract ones is a call in Python: they are asked
    once each.
    """
    ops = operations(root)
    wanted = {kind for kind in {type(op) for op in ops} if _is_subclass(kind, kinds)}
    return [op for op in ops if type(op) in wanted] if wanted else []


def has_any(root: Operation | Region, *kinds: type[Operation]) -> bool:
    """Whether there is an operation of one of these classes: what a pass asks before it looks closer."""
    return any(_is_subclass(kind, kinds) for kind in {type(op) for op in operations(root)})


@cache
def _is_subclass(kind: type[Operation], kinds: tuple[type[Operation], ...]) -> bool:
    return issubclass(kind, kinds)  # a call in Python for each of xDSL's abstract classes


def _visit(region: Region, found: list[Operation]) -> None:
    # The lists are followed by xDSL's own fields: its properties and iterators would be most of the time.
    block = region._first_block
    while block is not None:
        op = block._first_op
        while op is not None:
            found.append(op)
            for inner in op.regions:
                _visit(inner, found)
            op = op._next_op
        block = block._next_block
