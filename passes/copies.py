"""Copies of operations and of whole blocks, with other values in the place of what they read."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from ..ir.walk import block_operations


def copy_operations(
    ops: Sequence[Operation], values: dict[SSAValue, SSAValue], target: Block, before: Operation | None = None
) -> None:
    """Copies operations in front of `before`, or to the end of `target`; notes their results in `values`."""
    for op in ops:
        copy = op.clone(values)
        for original, new in zip(op.walk(), copy.walk(), strict=True):
            new.location = original.location
        if before is None:
            target.add_op(copy)
        else:
            target.insert_op_before(copy, before)


def copy_block(
    source: Block, arguments: Sequence[SSAValue], target: Block, before: Operation | None = None
) -> list[SSAValue]:
    """Copies a block without its terminator in front of `before`, or to the end of `target`.

    Args:
        source: copied, and stays as it is.
        arguments: what its arguments are in the copy.
        target: gets the copies.
        before: an operation of `target`.

    Returns:
        What the operands of the terminator are in the copy.
    """
    values: dict[SSAValue, SSAValue] = dict(zip(source.args, arguments, strict=True))
    *ops, end = block_operations(source)
    copy_operations(ops, values, target, before)
    return [values.get(value, value) for value in end.operands]
