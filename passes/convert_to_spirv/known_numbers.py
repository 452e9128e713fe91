"""Numbers and conditions that Mesa may find out when it compiles a kernel: n - n, x < x, u < 0, 7 & (n << 3)."""

from __future__ import annotations

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from ...ir.dialects.spec_constant import GetOp
from ..optimise.constants import constant_integer, integer_width
from .types import is_float

_NE, _ULT = 1, 6
"""Predicates of `arith.cmpi`: the last for equality, the first without sign."""
_ONE_TO_ONE = (arith.AddiOp, arith.SubiOp, arith.XOrIOp, arith.CmpiOp, arith.CmpfOp)
"""Operations whose result says nothing where one operand is not known."""


def is_known(value: SSAValue, depth: int) -> bool:
    """Whether the driver may find out a number: from constants, from what loops that it writes out count, and from
    operations of one value with itself."""
    owner = value.owner
    if isinstance(owner, Block):
        return _is_counted(owner, value, depth)
    if isinstance(owner, arith.ConstantOp | GetOp):
        return True
    if not _is_computed(owner):
        is_passed_on = owner.name.startswith("spirv.Group") and depth > 0
        return is_passed_on and all(is_known(operand, depth - 1) for operand in owner.operands)
    operands = owner.operands
    if depth == 0:
        return not is_float(value.type)
    if isinstance(owner, arith.SelectOp):
        condition, *arms = operands
        are_known = [is_known(arm, depth - 1) for arm in arms]
        return all(are_known) or (any(are_known) and is_known(condition, depth - 1))
    if all(is_known(operand, depth - 1) for operand in operands):
        return True
    if is_float(value.type) or len(operands) == 1:
        return False
    if isinstance(owner, arith.CmpiOp) and any(_is_limit(owner, operand) for operand in operands):
        return True
    return not (isinstance(owner, _ONE_TO_ONE) and _are_independent(operands[0], operands[1], depth))


def _is_limit(op: arith.CmpiOp, operand: SSAValue) -> bool:
    """Whether an integer is compared with the least or largest one: nothing is below or above it."""
    number, width = constant_integer(operand), integer_width(operand.type)
    if number is None or width is None or op.predicate.value.data <= _NE:
        return False
    lowest = 0 if op.predicate.value.data >= _ULT else -(1 << (width - 1))
    return (number - lowest) % (1 << width) in (0, (1 << width) - 1)


def _is_computed(owner: Operation) -> bool:
    return owner.name.startswith(("arith.", "math."))


def _are_independent(a: SSAValue, b: SSAValue, depth: int) -> bool:
    """Whether one of two operands is a value of which the other says nothing: their order and sum are not known."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one.owner, Block) or not _is_computed(one.owner):
            is_constant = isinstance(other.owner, arith.ConstantOp | GetOp)
            if is_constant and not isinstance(one.owner, Block | memref.LoadOp):
                continue  # the driver knows limits of ids
            if is_constant and isinstance(one.owner, Block) and is_known(one, depth - 1):
                continue
            if not _depends(other, one, depth):
                return True
    return False


def _depends(value: SSAValue, on: SSAValue, depth: int) -> bool:
    """Whether a number is computed of another, as far as that can be followed."""
    if value is on or depth == 0:
        return True
    owner = value.owner
    if isinstance(owner, Block) or not _is_computed(owner):
        return False
    return any(_depends(operand, on, depth - 1) for operand in owner.operands)


def _is_counted(block: Block, value: SSAValue, depth: int) -> bool:
    """Whether a loop begins with a known value of an integer that it carries; floats begin hidden."""
    loop, number = block.parent_op(), block.args.index(value)
    if is_float(value.type) or depth == 0:
        return False
    if isinstance(loop, scf.ForOp):
        return is_known(loop.lb if number == 0 else loop.iter_args[number - 1], depth - 1)
    if not isinstance(loop, scf.WhileOp):
        return False
    if block is loop.before_region.block:
        return is_known(loop.arguments[number], depth - 1)
    condition = loop.before_region.block.last_op
    return condition is not None and is_known(condition.operands[number + 1], depth - 1)
