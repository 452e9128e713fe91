"""Verifies the discardable attributes of the `kernel` and `aspect` dialects, which xDSL has no hook for.

What is checked: see `verify_attributes` of each dialect; and that a program has one table of aspect numbers.
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from .dialects import aspect, kernel
from .verify import IRError
from .walk import operations


def verify_attributes(root: Operation) -> None:
    """Checks every operation in `root`; IRError names the first that has a wrong attribute."""
    table: Operation | None = None
    for op in operations(root):
        if not op.attributes:
            continue
        try:
            kernel.verify_attributes(op)
            aspect.verify_attributes(op)
        except VerifyException as error:
            raise IRError(f"'{op.name}' {error}", operation=op) from error
        if aspect.ASPECT_VALUES in op.attributes:
            if table is not None:
                raise IRError(f"'{aspect.ASPECT_VALUES}' is defined twice, expected one table", operation=op)
            table = op
