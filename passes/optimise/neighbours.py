"""Accesses to elements that lie a constant number of rows and columns apart: `a[i, j]`, `a[i - 1, j]`, `a[i, j + 2]`.

A stencil in three dimensions has six of them, each with two products of its own.  From the element that they lie
around, each is one sum away, and the distances `columns` and `rows * columns` are the same for all work-items.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i32
from xdsl.ir import Attribute, SSAValue

from ...ir.walk import operands_of
from .constants import INDEX_WIDTH, constant_integer, wrap

_DEPTH = 4
"""How many sums are followed."""


@dataclass(frozen=True, slots=True)
class Distance:
    """Where an access goes, seen from another element."""

    starts: tuple[SSAValue | None, ...]
    """Indices of that element, each an index or an i32; None: 0."""
    steps: tuple[int, ...]
    """What is added to them."""


class Neighbours:
    """Which accesses of a function go to neighbours of others.

    Args:
        accesses: the array and the indices of each, of 32 bits.
    """

    def __init__(self, accesses: Iterable[tuple[SSAValue, Sequence[SSAValue]]]) -> None:
        self._rows: dict[tuple[SSAValue, tuple[SSAValue | None, ...]], set[tuple[int, ...]]] = {}
        for array, indices in accesses:
            found = _distance(indices)
            self._rows.setdefault((array, found.starts), set()).add(found.steps[:-1])

    def distance(self, array: SSAValue, indices: Sequence[SSAValue]) -> Distance | None:
        """Returns where an access goes that has neighbours in other rows; None for others, which gain nothing."""
        found = _distance(indices)
        has_neighbours = len(self._rows[array, found.starts]) > 1 and any(found.starts)
        return found if has_neighbours else None


def _distance(indices: Sequence[SSAValue]) -> Distance:
    parts = [_parts(index) for index in indices]
    return Distance(tuple(start for start, _ in parts), tuple(step for _, step in parts))


def _parts(index: SSAValue) -> tuple[SSAValue | None, int]:
    """Returns an index as what a constant is added to, and the constant."""
    value, total = _uncast(index), 0
    for _ in range(_DEPTH):
        owner = value.owner
        if type(owner) is not arith.AddiOp and type(owner) is not arith.SubiOp:
            break
        a, b = operands_of(owner)
        step = constant_integer(b)
        if step is not None:
            value, total = a, total + (step if type(owner) is arith.AddiOp else -step)
        elif type(owner) is arith.AddiOp and (step := constant_integer(a)) is not None:
            value, total = b, total + step
        else:
            break
        value = _uncast(value)
    number = constant_integer(value)
    return (value, wrap(total, INDEX_WIDTH)) if number is None else (None, wrap(number + total, INDEX_WIDTH))


def _uncast(value: SSAValue) -> SSAValue:
    """Returns what casts between i32 and index, which has 32 bits here, were made of."""
    for _ in range(_DEPTH):
        owner = value.owner
        if type(owner) is not arith.IndexCastOp or not _has_32_bits(owner.input.type):
            break
        value = owner.input
    return value


def _has_32_bits(type_: Attribute) -> bool:
    return type_ == i32 or isinstance(type_, IndexType)
