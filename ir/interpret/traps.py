"""What the interpreter finds wrong: `KernelTrap` with the place in Python and the work-item."""

from __future__ import annotations

import linecache

from xdsl.ir import Operation

from ..errors import Diagnostic, KernelTrap, Location
from ..location import location_of

OUT_OF_RANGE = "LP4110"
"""An index out of range."""
UNINITIALISED = "LP4111"
"""A read of memory that nothing was written to."""
DATA_RACE = "LP4112"
"""Two accesses of one location that nothing orders."""
DIVERGENT = "LP4113"
"""A barrier that only some work-items of a group reach."""
ENDLESS = "LP4114"
"""More loop iterations than the limit."""
UNDEFINED = "LP4115"
"""Arithmetic whose result devices leave undefined."""


def place_of(op: Operation | None) -> Location | None:
    """Returns where the Python code of an operation stands, or of the nearest one around it."""
    while op is not None:
        found = location_of(op.location)
        if found is not None:
            return found
        op = op.parent_op()
    return None


def spelled(place: Location | None) -> str:
    """Returns a place as messages name it."""
    return "an unknown place" if place is None else f"{place.file}:{place.line}"


def kernel_trap(
    kernel: str, op: Operation, item: tuple[int, ...], code: str, message: str, group: tuple[int, ...]
) -> KernelTrap:
    """Returns the error that ends a launch.

    Args:
        kernel: the kernel's name.
        op: what was being executed.
        item: global id of the work-item, slowest dimension first.
        code: of this kind of mistake.
        message: what was expected and found.
        group: id of its work-group.
    """
    place = place_of(op)
    text = f"kernel '{kernel}', work-item {item} of work-group {group}: {message}"
    line = None if place is None else linecache.getline(place.file, place.line).rstrip("\n") or None
    diagnostic = Diagnostic(text, place, source_line=line)
    return KernelTrap(
        str(diagnostic), kernel=kernel, work_item=item, code=code, location=place, diagnostics=[diagnostic]
    )
