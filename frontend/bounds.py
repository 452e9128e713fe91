"""Intervals of integer values, as far as they follow from ids, sizes, literals and loop bounds.

They prove that an index into a fixed array is in range and that a quotient needs no floor correction.  An
interval that may leave its type (and so wrap) is given up.  Pure functions.
"""

from __future__ import annotations

from .types import ScalarType

Bounds = tuple[int, int] | None


def fitting(low: int, high: int, scalar: ScalarType) -> Bounds:
    """Returns the interval if no value of it wraps in `scalar`."""
    if scalar.bits == 0 or (scalar.minimum <= low and high <= scalar.maximum):
        return (low, high)
    return None


def known(bounds: Bounds, scalar: ScalarType) -> tuple[int, int] | None:
    """Returns the interval, or what the type alone says for unsigned integers."""
    if bounds is None and scalar.kind == "uint":
        return (0, scalar.maximum)
    return bounds


def combine(operator: str, left: Bounds, right: Bounds, scalar: ScalarType) -> Bounds:
    """Returns the interval of ``left operator right`` in type `scalar`.

    Args:
        operator: class name of the ast operator: ``Add``.
    """
    left, right = known(left, scalar), known(right, scalar)
    if left is None or right is None:
        return _one_sided(operator, left, right)
    match operator:
        case "Add":
            return fitting(left[0] + right[0], left[1] + right[1], scalar)
        case "Sub":
            return fitting(left[0] - right[1], left[1] - right[0], scalar)
        case "Mult":
            products = [a * b for a in left for b in right]
            return fitting(min(products), max(products), scalar)
        case "FloorDiv" if right[0] > 0:
            return (
                min(left[0] // right[0], left[0] // right[1]),
                max(left[1] // right[0], left[1] // right[1]),
            )
        case "FloorDiv" if right[0] >= 0 and left[0] >= 0:
            return (0, left[1])
        case "Mod" if right[0] >= 0:
            return (0, max(right[1] - 1, 0))
        case "BitAnd" if left[0] >= 0 and right[0] >= 0:
            return (0, min(left[1], right[1]))
        case "RShift" if left[0] >= 0:
            return (0, left[1])
        case _:
            return None


def _one_sided(operator: str, left: Bounds, right: Bounds) -> Bounds:
    """The remainder by a positive number, and the bits that a non-negative mask leaves, need no second interval."""
    if operator == "Mod" and right is not None and right[0] >= 0:
        return (0, max(right[1] - 1, 0))
    if operator == "BitAnd":
        for bounds in (left, right):
            if bounds is not None and bounds[0] >= 0:
                return (0, bounds[1])
    return None
