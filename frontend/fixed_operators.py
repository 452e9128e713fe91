"""Operators of fixed arrays, element by element, as those of SYCL's ``marray``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import numpy as np

from .fixed_arrays import construct_fixed, load_fixed
from .function_builder import FunctionBuilder
from .types import FixedArrayType
from .values import FixedArray, Scalar, Value, constant


def by_element(
    fb: FunctionBuilder,
    operands: Sequence[FixedArray | Scalar],
    node: ast.AST,
    compute: Callable[[Sequence[Value]], Value],
) -> FixedArray:
    """Computes a fixed array of the elements of others; a number stands for an array of it.

    Args:
        compute: returns an element of the result for one of each operand.

    Raises:
        CompileError: arrays of different shapes, and what `compute` raises.
    """
    shapes = [value.remaining_shape for value in operands if isinstance(value, FixedArray)]
    if len(set(shapes)) > 1:
        found = " and ".join(map(str, shapes))
        raise fb.error(node, f"operators of fixed arrays take one shape, found {found}", "LP2033")
    elements: list[Scalar] = []
    for index in np.ndindex(*shapes[0]):
        path = [constant(int(i)) for i in index]
        pair = [load_fixed(fb, v, path, node) if isinstance(v, FixedArray) else v for v in operands]
        element = compute(pair)
        assert isinstance(element, Scalar)
        elements.append(element)
    kind = FixedArrayType(elements[0].type, shapes[0])
    return construct_fixed(fb, kind, [fb.ssa(element) for element in elements])
