"""From places in source to MLIR location attributes and back."""

from __future__ import annotations

from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute

from .attribute_values import elements
from .attributes import attribute, number_attribute, text_attribute
from .errors import Location


def file_location(file: str, line: int, column: int) -> FileLineColLoc:
    """Returns the location attribute of a place in a file; line and column count from 1."""
    return attribute(FileLineColLoc, text_attribute(file), number_attribute(line), number_attribute(column))


def location_of(attribute: Attribute) -> Location | None:
    """Returns the place in source that a location attribute names; None for `loc(unknown)`.

    Of a call site it is the callee, of a fused location the first that is known.
    """
    if isinstance(attribute, FileLineColLoc):
        return Location(attribute.filename.data, attribute.line.data, attribute.column.data)
    if isinstance(attribute, NameLoc):
        return location_of(attribute.location)
    if isinstance(attribute, CallSiteLoc):
        return location_of(attribute.callee)
    if isinstance(attribute, FusedLoc):
        known = (location_of(location) for location in elements(attribute.locations) or ())
        return next((location for location in known if location is not None), None)
    return None
