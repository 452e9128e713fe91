"""Numbers that are a work-item's index plus a constant, and what neighbours compute of theirs alike.

The work-items of an invocation are those from a multiple of their number on, so `i // 8` of four neighbours is one
number, as is the place of the block of 8 × 8 in which they lie.
"""

from __future__ import annotations

from xdsl.dialects import arith, gpu
from xdsl.ir import Operation, SSAValue

from ..optimise.constants import constant_integer

ItemIndex = tuple[gpu.DimensionEnum, int]
"""A dimension, and what is added to the index along it."""
_MOST = 1 << 16
_QUOTIENTS = (arith.DivUIOp, arith.FloorDivSIOp)
_SHIFTS = (arith.ShRUIOp, arith.ShRSIOp)


def item_index(value: SSAValue) -> ItemIndex | None:
    """Returns what a number is to the index of the work-item; None where it is anything else."""
    owner = value.owner
    if isinstance(owner, gpu.GlobalIdOp):
        return owner.dimension.data, 0
    if isinstance(owner, arith.IndexCastOp):
        return item_index(owner.operands[0])
    if isinstance(owner, arith.AddiOp):
        for a, b in (owner.operands, tuple(reversed(owner.operands))):
            constant = constant_integer(b)
            if constant is not None:
                return _plus(item_index(a), constant)
    if isinstance(owner, arith.SubiOp):
        constant = constant_integer(owner.operands[1])
        return None if constant is None else _plus(item_index(owner.operands[0]), -constant)
    return None


def _plus(index: ItemIndex | None, constant: int) -> ItemIndex | None:
    return None if index is None or abs(constant) > _MOST else (index[0], index[1] + constant)


def shares_quotient(op: Operation, lanes: int) -> bool:
    """Whether an operation divides an index, rounding down, so that `lanes` neighbours have the same of theirs.

    Args:
        op: any operation.
        lanes: how many, a power of two; the first of them has a multiple of it as index.
    """
    if isinstance(op, _QUOTIENTS):
        divisor = constant_integer(op.operands[1])
    elif isinstance(op, _SHIFTS):
        shift = constant_integer(op.operands[1])
        divisor = 1 << shift if shift is not None and 0 <= shift < _MOST.bit_length() else None
    else:
        return False
    found = item_index(op.operands[0])
    if found is None or divisor is None:
        return False
    return 0 < divisor <= _MOST and divisor % lanes == 0 and found[1] % lanes == 0
