"""Which elements the work-items of an invocation reach together, and where they lie.

An access along the last dimension is *in line* where its index is the work-item's plus a constant: lane x reaches
element 4·g + x + c.  Four such elements from a multiple of four on are one wide access.  Fixed accesses
(`optimise/rows`) need nothing of the lanes: what a work-item needs of four neighbours is one wide load.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import gpu, memref
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...ir.attribute_values import memref_element_type, memref_rank
from ..optimise.effects import writes_memory
from ..optimise.rows import WIDTH, Row, fixed, has_wide_form
from .axes import Axes
from .item_indices import item_index
from .lanes import Lanes, X


@dataclass(frozen=True, slots=True)
class Line:
    """Part of an array in which accesses differ by a constant only: the array and its leading indices."""

    array: SSAValue
    leading: tuple[SSAValue, ...]


def in_line(op: Operation, axes: Axes) -> tuple[Line, int] | None:
    """Returns where a `memref.load` or `memref.store` goes, and the constant c; None where it is not in line."""
    first = 1 if isinstance(op, memref.StoreOp) else 0
    array, *indices = op.operands[first:]
    rank = memref_rank(array.type)
    if rank is None or rank != len(indices) or not has_wide_form(memref_element_type(array.type)):
        return None
    if not isinstance(array, BlockArgument) or axes.of_all(indices[:-1]) & X:
        return None
    offset = _offset(indices[-1])
    return None if offset is None else (Line(array, tuple(indices[:-1])), offset)


def fixed_loads_of_run(op: Operation, row: Row) -> set[int]:
    """Returns the constants of the loads of a row from `op` on, up to where memory may change."""
    found: set[int] = set()
    following: Operation | None = op
    while following is not None and not writes_memory(following):
        place = fixed(following) if isinstance(following, memref.LoadOp) else None
        if place is not None and place[0] == row:
            found.add(place[1])
        following = following.next_op
    return found


def _offset(index: SSAValue) -> int | None:
    """Returns c where `index` is the work-item's along the last dimension plus c."""
    found = item_index(index)
    return None if found is None or found[0] is not gpu.DimensionEnum.X else found[1]


def loads_of_run(op: Operation, line: Line, axes: Axes) -> Iterator[int]:
    """Yields the constants of the loads of a line from `op` on, up to where memory may change."""
    following: Operation | None = op
    while following is not None:
        if isinstance(following, memref.LoadOp):
            found = in_line(following, axes)
            if found is not None and found[0] == line:
                yield found[1]
        elif writes_memory(following):
            return
        following = following.next_op


def whole_vectors(offsets: Iterator[int], lanes: Lanes) -> set[int]:
    """Returns the first elements of the aligned vectors of which the lanes need every element."""
    needed = {offset + x for offset in offsets for x in lanes.xs}
    starts = {element - element % WIDTH for element in needed}
    return {start for start in starts if all(start + i in needed for i in range(WIDTH))}
