"""Verifies the discardable attributes of the `kernel` and `aspect` dialects, which xDSL has no hook for.

What is checked: see `verify_attributes` of `kernel_rules` and `aspect`; that a program has one table of aspect
numbers; and that constants of type index fit the device's 32 bits.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from .attribute_values import integer
from .dialects import aspect, kernel_rules
from .verify import IRError
from .walk import operations


def verify_attributes(root: Operation, *, of_passes: bool = False) -> None:
    """Checks every operation in `root`; IRError names the first that has a wrong attribute.

    Args:
        root: a module, or any other operation.
        of_passes: whether a pass may have written attributes that no input has.
    """
    table: Operation | None = None
    for op in operations(root):
        if type(op) is arith.ConstantOp:
            _verify_constant(op)
        if not op.attributes:
            continue
        try:
            kernel_rules.verify_attributes(op, of_passes=of_passes)
            aspect.verify_attributes(op)
        except VerifyException as error:
            raise IRError(f"'{op.name}' {error}", operation=op) from error
        if aspect.ASPECT_VALUES in op.attributes:
            if table is not None:
                raise IRError(f"'{aspect.ASPECT_VALUES}' is defined twice, expected one table", operation=op)
            table = op


def _verify_constant(op: Operation) -> None:
    """Folding computes with all of a constant, the device with its low 32 bits: larger ones would differ."""
    number = integer(op.properties.get("value"), IndexType())
    if number is not None and not -(1 << 31) <= number < 1 << 31:
        raise IRError(
            f"'{op.name}' makes the index {number}, and an index has 32 bits; use i64 for larger numbers",
            operation=op,
        )
