"""Parts of rows that lie side by side at constant columns: `a[i, 0]`, `a[i, 1]`, …

An access is *fixed* where the last index is a constant, as in a row of coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from xdsl.dialects import memref
from xdsl.dialects.builtin import ArrayAttr, BFloat16Type, IntegerAttr, IntegerType, NoneAttr, VectorType, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ...ir.narrowing import is_integer_type, is_memref_type
from ...ir.walk import instances
from .constants import constant_integer

WIDTH = 4
"""Elements of a wide access; of a coarsened kernel also the work-items along the last dimension."""


@dataclass(frozen=True, slots=True)
class Row:
    """Part of an array in which fixed accesses differ by a constant only."""

    array: SSAValue
    leading: tuple[SSAValue, ...]


def fixed(op: Operation) -> tuple[Row, int] | None:
    """Returns where a `memref.load` with a constant last index goes, and that; None for others, and for arrays of one
    dimension, which need not have the three neighbours."""
    array, *indices = op.operands
    type_ = array.type
    if not isinstance(array, BlockArgument) or len(indices) < 2 or not is_memref_type(type_):
        return None
    if type_.get_num_dims() != len(indices) or not isinstance(type_.layout, NoneAttr):
        return None
    number = constant_integer(indices[-1])
    if number is None or number < 0 or not has_wide_form(type_.element_type):
        return None
    return Row(array, tuple(indices[:-1])), number


def arrays_of_whole_rows(body: Block) -> frozenset[SSAValue]:
    """Returns the arrays whose rows seem to be multiples of `WIDTH`: the last constant index in use ends such a part.

    A row of three or five weights does not, and must not keep the kernel from being coarsened.
    """
    last: dict[SSAValue, int] = {}
    for load in instances(body, memref.LoadOp):
        place = fixed(load)
        if place is not None:
            row, number = place
            last[row.array] = max(number, last.get(row.array, 0))
    return frozenset(array for array, number in last.items() if (number + 1) % WIDTH == 0)


def has_wide_form(element: Attribute | None) -> bool:
    """Whether four elements make a vector of the device: numbers other than bool and bf16."""
    if element is None or isinstance(element, VectorType | BFloat16Type):
        return False
    if is_integer_type(element):
        return element != IntegerType(1)
    return hasattr(element, "bitwidth")


@cache
def extract_index(number: int) -> Attribute:
    """Returns the property of `spirv.CompositeExtract` for an element of a vector."""
    return ArrayAttr([IntegerAttr(number, i32)])
