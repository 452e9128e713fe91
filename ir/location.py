"""From MLIR location attributes to `Location`."""

from __future__ import annotations

from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute

from .attribute_values import elements
from .errors import Location


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
