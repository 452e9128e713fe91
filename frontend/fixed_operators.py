"""Operators and functions of fixed arrays, element by element, as of SYCL's ``marray``; of vectors by component too."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import numpy as np

from .composite_arrays import is_array
from .fixed_arrays import construct_fixed, load_fixed
from .function_builder import FunctionBuilder
from .types import FixedArrayType
from .values import Composite, FixedArray, Scalar, Value, constant, describe
from .vector_types import CompositeArrayType, VecType

Compute = Callable[[Sequence[Value]], Value]


def by_element(
    fb: FunctionBuilder, operands: Sequence[Value], node: ast.AST, compute: Compute
) -> FixedArray | Composite:
    """Computes a fixed array of the elements of others.  A number stands for an array of it, as does a vector.

    Args:
        compute: returns a number of the result for one of each operand.

    Raises:
        CompileError: arrays of different shapes or of structs, and what `compute` raises.
    """
    if any(map(is_array, operands)):
        return _by_component(fb, operands, node, compute)
    return _by_number(fb, operands, node, compute)


def _by_component(
    fb: FunctionBuilder, operands: Sequence[Value], node: ast.AST, compute: Compute
) -> Composite:
    composites = [v for v in operands if isinstance(v, Composite)]
    arrays = [v for v in composites if is_array(v)]
    sizes = {kind.size if isinstance(kind, VecType) else 0 for kind in map(_element_of, composites)}
    shapes = {v.type.shape for v in arrays if isinstance(v.type, CompositeArrayType)}
    is_other = any(not isinstance(v, Scalar | Composite) for v in operands)
    if is_other or len(sizes) > 1 or len(shapes) > 1 or 0 in sizes:
        raise fb.error(
            node,
            "operators and functions of fixed arrays take numbers, vectors and arrays of these of one shape, found "
            f"{' and '.join(map(describe, operands))}",
            "LP2033",
            hint="write a loop over the elements",
        )
    (size,), (shape,) = sizes, shapes
    items = [
        _by_number(fb, [v.items[i] if isinstance(v, Composite) else v for v in operands], node, compute)
        for i in range(size)
    ]
    return Composite(tuple(items), CompositeArrayType(VecType(items[0].type.element, size), shape))


def _element_of(value: Composite) -> object:
    """Returns the type of a vector or struct, or of those in an array."""
    return value.type.element if isinstance(value.type, CompositeArrayType) else value.type


def _by_number(fb: FunctionBuilder, operands: Sequence[Value], node: ast.AST, compute: Compute) -> FixedArray:
    shapes = [value.remaining_shape for value in operands if isinstance(value, FixedArray)]
    if len(set(shapes)) > 1:
        found = " and ".join(map(str, shapes))
        raise fb.error(
            node, f"operators and functions of fixed arrays take one shape, found {found}", "LP2033"
        )
    elements: list[Scalar] = []
    for index in np.ndindex(*shapes[0]):
        path = [constant(int(i)) for i in index]
        pair = [load_fixed(fb, v, path, node) if isinstance(v, FixedArray) else v for v in operands]
        element = compute(pair)
        assert isinstance(element, Scalar)
        elements.append(element)
    kind = FixedArrayType(elements[0].type, shapes[0])
    return construct_fixed(fb, kind, [fb.ssa(element) for element in elements])
