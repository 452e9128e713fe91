"""Errors of the passes.

BuildError (ir/errors.py)
└── PassError                  a pass cannot transform an operation; carries the operation
"""

from __future__ import annotations

from xdsl.ir import Operation

from ..ir.errors import BuildError, Diagnostic, Location
from ..ir.location import location_of


class PassError(BuildError):
    """A pass met an operation that it cannot transform."""

    code = "LP2100"
    _stays_behind = ("op",)

    def __init__(
        self, message: str, op: Operation | None = None, *, function: str = "", code: str | None = None
    ) -> None:
        """Describes what is wrong with `op`, whose location becomes the error's.

        Args:
            message: What was found, what was expected and what to do.
            op: The operation at fault.
            function: Qualified name of the function around it.
            code: Of a mistake in the program; without it the fault is the compiler's.
        """
        location = None if op is None else operation_location(op, function)
        super().__init__(message, code=code, diagnostics=(Diagnostic(message, location),))
        self.op = op

    def __str__(self) -> str:
        return self.log


def operation_location(op: Operation, function: str = "") -> Location | None:
    """Returns the place in source of an operation inside `function`, or None where it has none."""
    place = location_of(op.location)
    return None if place is None else Location(place.file, place.line, place.column, function)
