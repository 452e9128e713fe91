"""Fixed arrays of vectors and structs as values: a fixed array of each component or member.

So an element is an element of each of these arrays, and ``v[k].x`` is ``v.x[k]``: what stores, joins and hands on fixed
arrays of numbers does so for these, and a member that nobody reads is not computed.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from operator import is_
from typing import TypeGuard

import numpy as np

from .chosen_elements import insert_fixed
from .fixed_arrays import in_range, load_at, load_fixed, stacked, whole_of
from .function_builder import FunctionBuilder
from .types import FixedArrayType
from .values import Composite, FixedArray, Scalar, Tuple, Unset, Value, constant
from .vector_types import CompositeArrayType


def is_array(value: Value | Unset) -> TypeGuard[Composite]:
    """Whether a value is a fixed array of vectors or structs."""
    return isinstance(value, Composite) and isinstance(value.type, CompositeArrayType)


def has_memory(value: Value | Unset) -> bool:
    """Whether a value, or a member of it, is a variable that keeps its elements in memory (`fixed_cells`)."""
    if isinstance(value, FixedArray):
        return value.cell is not None
    return isinstance(value, Composite) and any(has_memory(item) for item in value.items)


def shape_of(value: Value) -> tuple[int, ...] | None:
    """Returns the extents of a fixed array, of whatever elements; None of anything else."""
    if isinstance(value, FixedArray):
        return value.remaining_shape
    if isinstance(value, Composite) and isinstance(value.type, CompositeArrayType):
        return value.type.shape
    return None


def gathered(fb: FunctionBuilder, kind: FixedArrayType | CompositeArrayType, parts: Sequence[Value]) -> Value:
    """Makes a fixed array of values for its leading dimensions, in C order: all elements, or all rows.

    Args:
        kind: the array.
        parts: numbers, vectors and structs of its element type, or fixed arrays of one shape.
    """
    if isinstance(kind, FixedArrayType):
        return stacked(fb, kind, parts)
    rows = [part.items for part in parts if isinstance(part, Composite)]
    assert len(rows) == len(parts)
    columns = zip(kind.members, zip(*rows, strict=True), strict=True)
    return Composite(tuple(gathered(fb, member, column) for member, column in columns), kind)


def element_at(fb: FunctionBuilder, value: Value, indices: Sequence[Scalar]) -> Value:
    """Returns what indices that are in range leave of a fixed array; rows of numbers are not read yet."""
    if isinstance(value, FixedArray):
        return load_at(fb, value, indices)
    assert isinstance(value, Composite) and isinstance(value.type, CompositeArrayType)
    items = tuple(element_at(fb, item, indices) for item in value.items)
    return Composite(items, value.type.row(len(indices)))


def load_element(fb: FunctionBuilder, base: Value, indices: Sequence[Scalar], node: ast.AST) -> Value:
    """Applies indices to a fixed array of whatever elements; fewer than it has dimensions give a row.

    Raises:
        CompileError: too many indices, or a literal one out of range.
    """
    if isinstance(base, FixedArray):
        return load_fixed(fb, base, indices, node)
    assert isinstance(base, Composite) and isinstance(base.type, CompositeArrayType)
    return element_at(fb, base, in_range(fb, indices, base.type.shape, base.type, node))


def elements_along(fb: FunctionBuilder, value: Value) -> list[Value]:
    """Returns the elements along the first dimension of a fixed array of whatever elements: these, or rows."""
    shape = shape_of(value)
    assert shape
    return [element_at(fb, value, [constant(position)]) for position in range(shape[0])]


def all_elements(fb: FunctionBuilder, value: Composite) -> list[Value]:
    """Returns the vectors or structs of a fixed array in C order."""
    assert isinstance(value.type, CompositeArrayType)
    indices = np.ndindex(*value.type.shape)
    return [element_at(fb, value, [constant(i) for i in index]) for index in indices]


def insert_element(
    fb: FunctionBuilder, base: Value, indices: Sequence[Scalar], value: Value, node: ast.AST
) -> Value:
    """Returns a fixed array with one element, or one row, replaced by a value of its type; indices are in range."""
    if isinstance(base, FixedArray):
        assert isinstance(value, Scalar | FixedArray)
        return insert_fixed(fb, base, indices, value, node)
    assert isinstance(base, Composite) and isinstance(value, Composite)
    pairs = zip(base.items, value.items, strict=True)
    return base.with_items(insert_element(fb, old, indices, new, node) for old, new in pairs)


def without_rows(fb: FunctionBuilder, value: Value) -> Value:
    """Returns a value in which rows of fixed arrays, and those in a variable's memory, are arrays of their own."""
    if isinstance(value, FixedArray):
        return whole_of(fb, value)
    if not isinstance(value, Tuple):
        return value
    items = [without_rows(fb, item) for item in value.items]
    return value if all(map(is_, items, value.items)) else value.with_items(items)
