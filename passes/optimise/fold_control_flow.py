"""Simplification of `scf.if` and `scf.for`: known conditions and trip counts, values carried in vain.

Each function returns whether it replaced the operation; the walk then goes on with what took its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ...ir.walk import operands_of
from .constants import constant_integer


def simplify_if(op: Operation) -> bool:
    """Inlines the branch that a constant condition takes; drops results that are unused or equal in both arms."""
    assert isinstance(op, scf.IfOp)
    (test,) = operands_of(op)
    condition = constant_integer(test)
    if condition is None:
        return bool(op.results) and narrow_if(op)
    region = op.true_region if condition else op.false_region
    block = region.first_block
    if block is None:
        op.detach()
        op.erase()
    else:
        _inline_block(block, op)
    return True


def _inline_block(block: Block, op: Operation) -> None:
    """Moves a block without arguments in front of `op`, which its yield's operands replace."""
    assert op.parent is not None
    terminator = block.last_op
    assert terminator is not None
    yielded = tuple(terminator.operands)
    terminator.detach()
    terminator.erase()
    for inner in tuple(block.ops):
        inner.detach()
        op.parent.insert_op_before(inner, op)
    replace(op, yielded)


def replace(op: Operation, values: Sequence[SSAValue]) -> None:
    """Replaces the results of `op` by `values` and erases it."""
    for result, value in zip(op.results, values, strict=True):
        if value.name_hint is None:
            value.name_hint = result.name_hint
        result.replace_all_uses_with(value)
    op.detach()
    op.erase()


def narrow_if(op: scf.IfOp) -> bool:
    """Drops results that are unused or equal in both arms."""
    if_region, else_region = op.regions
    blocks = if_region.first_block, else_region.first_block
    if blocks[0] is None or blocks[1] is None:
        return False
    yields = blocks[0].last_op, blocks[1].last_op
    assert yields[0] is not None and yields[1] is not None
    arms = list(zip(operands_of(yields[0]), operands_of(yields[1]), strict=True))
    for result, (if_true, if_false) in zip(op.results, arms, strict=True):
        # A value that both arms yield was made outside of both.
        if if_true is if_false and result.first_use is not None:
            result.replace_all_uses_with(if_true)
    kept = [i for i, result in enumerate(op.results) if result.first_use is not None]
    if len(kept) == len(op.results):
        return False
    for terminator in (yields[0], yields[1]):
        terminator.operands = [terminator.operands[i] for i in kept]
    _rebuild(op, kept, op.operands)
    return True


def _rebuild(op: Operation, kept: Sequence[int], operands: Sequence[SSAValue]) -> None:
    """Puts the same operation with fewer results in the place of `op`."""
    assert op.parent is not None
    regions: list[Region] = [op.detach_region(region) for region in tuple(op.regions)]
    new = type(op).create(
        operands=tuple(operands),
        result_types=[op.results[i].type for i in kept],
        properties=op.properties,
        attributes=op.attributes,
        regions=regions,
        location=op.location,
    )
    op.parent.insert_op_before(new, op)
    for index, result in zip(kept, new.results, strict=True):
        result.name_hint = op.results[index].name_hint
        op.results[index].replace_all_uses_with(result)
    op.detach()
    op.erase()


def trip_count(op: Operation) -> int | None:
    """Returns how often an `scf.for` of constant bounds runs, or None."""
    low, high, step = (constant_integer(value) for value in op.operands[:3])
    if low is None or high is None:
        return None
    if low >= high:
        return 0
    return None if step is None or step <= 0 else -((low - high) // step)


def simplify_for(op: Operation) -> bool:
    """Removes a loop without trips, inlines one with a single trip, and drops what is carried in vain."""
    assert isinstance(op, scf.ForOp)
    trips = trip_count(op)
    if trips == 0:
        replace(op, op.operands[3:])
        return True
    if trips == 1:
        block = op.body.block
        for argument, value in zip(block.args, (op.operands[0], *op.operands[3:]), strict=True):
            argument.replace_all_uses_with(value)
        _inline_block(block, op)
        return True
    return _narrow_for(op)


def _narrow_for(op: scf.ForOp) -> bool:
    block = op.body.block
    terminator = block.last_op
    assert terminator is not None
    carried = block.args[1:]
    for argument, initial, yielded, result in zip(
        carried, op.operands[3:], terminator.operands, op.results, strict=True
    ):
        if yielded is argument or yielded is initial:  # never changes
            argument.replace_all_uses_with(initial)
            result.replace_all_uses_with(initial)
    yielded = tuple(terminator.operands)
    kept = [i for i, result in enumerate(op.results) if result.uses or _is_read(carried[i], terminator, i)]
    if len(kept) == len(op.results):
        return False
    terminator.operands = [yielded[i] for i in kept]
    for i in reversed(range(len(carried))):
        if i not in kept:
            block.erase_arg(carried[i])
    _rebuild(op, kept, (*op.operands[:3], *(op.operands[3 + i] for i in kept)))
    return True


def _is_read(argument: BlockArgument, terminator: Operation, index: int) -> bool:
    """Whether anything but its own place in the yield uses a carried value."""
    return any(use.operation is not terminator or use.index != index for use in argument.uses)


CONTROL_FLOW: dict[type[Operation], Callable[[Operation], bool]] = {
    scf.IfOp: simplify_if,
    scf.ForOp: simplify_for,
}
"""Simplifications of operations with regions by operation class."""
