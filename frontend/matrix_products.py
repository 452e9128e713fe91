"""``a @ b`` and ``m.T``: products of matrices, which are fixed arrays, with each other and with vectors, as NumPy's."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from math import prod

import numpy as np

from .arithmetic import binary
from .fixed_arrays import construct_fixed, load_fixed
from .function_builder import FunctionBuilder
from .types import FixedArrayType
from .values import Composite, FixedArray, Scalar, Value, constant, describe
from .vector_types import VECTOR_SIZES, VecType

_MAXIMUM_PRODUCTS = 1 << 12
"""Multiplications that are written out; more would make the program absurdly long."""


def matrix_product(fb: FunctionBuilder, left: Value, right: Value, node: ast.AST) -> Value:
    """Compiles ``a @ b``: each element is a sum of products, added from left to right.

    Returns:
        A fixed array, a vector where the other operand of a matrix is one, a number where neither is a matrix.

    Raises:
        CompileError: other operands than fixed arrays of one or two dimensions and vectors, or lengths that differ.
    """
    shapes = [_shape(fb, value, node) for value in (left, right)]
    (*rows, inner), (second, *columns) = shapes
    if inner != second:
        raise fb.error(
            node,
            f"operator @ takes as many columns as rows behind it, found shapes {shapes[0]} and {shapes[1]}",
            "LP2033",
        )
    shape = (*rows, *columns)
    if prod(shape) * inner > _MAXIMUM_PRODUCTS:
        raise fb.error(
            node,
            f"a product of {prod(shape) * inner} multiplications is too long to be written out, at most "
            f"{_MAXIMUM_PRODUCTS} are",
            "LP2051",
            hint="write the sum of products as a loop",
        )
    elements = [
        _sum(
            fb,
            left,
            right,
            tuple(map(int, index[: len(rows)])),
            tuple(map(int, index[len(rows) :])),
            inner,
            node,
        )
        for index in np.ndindex(*shape)
    ]
    if not shape:
        return elements[0]
    kind = elements[0].type
    if any(isinstance(value, Composite) for value in (left, right)) and shape[0] in VECTOR_SIZES:
        return Composite(tuple(elements), VecType(kind, shape[0]))
    return construct_fixed(fb, FixedArrayType(kind, shape), [fb.ssa(element) for element in elements])


def transposed(fb: FunctionBuilder, matrix: FixedArray, node: ast.AST) -> FixedArray:
    """Compiles ``m.T`` of a matrix.

    Raises:
        CompileError: it has another number of dimensions than two.
    """
    if len(matrix.remaining_shape) != 2:
        raise fb.error(
            node, f"only fixed arrays of two dimensions have a transpose, found {describe(matrix)}", "LP2046"
        )
    rows, columns = matrix.remaining_shape
    elements = [_item(fb, matrix, (i, j), node) for j in range(columns) for i in range(rows)]
    kind = FixedArrayType(matrix.type.element, (columns, rows))
    return construct_fixed(fb, kind, [fb.ssa(element) for element in elements])


def _shape(fb: FunctionBuilder, value: Value, node: ast.AST) -> tuple[int, ...]:
    match value:
        case FixedArray(remaining_shape=shape) if len(shape) <= 2:
            return shape
        case Composite(type=VecType(size=size)):
            return (size,)
        case _:
            raise fb.error(
                node,
                f"operator @ takes vectors and fixed arrays of one or two dimensions, found {describe(value)}",
                "LP2033",
                hint="write the sum of products as a loop",
            )


def _sum(
    fb: FunctionBuilder,
    left: Value,
    right: Value,
    row: Sequence[int],
    column: Sequence[int],
    inner: int,
    node: ast.AST,
) -> Scalar:
    total: Value | None = None
    for k in range(inner):
        a, b = _item(fb, left, (*row, k), node), _item(fb, right, (k, *column), node)
        product = binary(fb, "Mult", a, b, node)
        total = product if total is None else binary(fb, "Add", total, product, node)
    assert isinstance(total, Scalar)
    return total


def _item(fb: FunctionBuilder, value: Value, index: Sequence[int], node: ast.AST) -> Scalar:
    if isinstance(value, FixedArray):
        item = load_fixed(fb, value, [constant(i) for i in index], node)
    else:
        assert isinstance(value, Composite)
        item = value.items[index[0]]
    assert isinstance(item, Scalar)
    return item
