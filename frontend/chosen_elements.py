"""Replacing an element of a small fixed array at an index known at run time only: each element is chosen.

    a[i] = x    →    a[0] = x if i == 0 else a[0]; a[1] = x if i == 1 else a[1]; …

Of fixed arrays that are values, and lie in no memory.  The other way is to store all elements into a variable, to store
one into it, and to load all, which every driver keeps in memory from then on.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import SSAValue

from .conversions import CMPI
from .fixed_arrays import construct_fixed, insert_at, scalars_of
from .function_builder import FunctionBuilder
from .ir_types import BOOL, ir_type
from .values import FixedArray, Scalar

MAXIMUM_ELEMENTS = 16
"""A comparison and a selection are needed for each."""


def insert_fixed(
    fb: FunctionBuilder,
    base: FixedArray,
    checked: Sequence[Scalar],
    value: Scalar | FixedArray,
    node: ast.AST,
) -> FixedArray:
    """Returns a fixed array with one element or row replaced, at indices that are in range."""
    is_known = all(index.const is not None for index in checked)
    if fb.is_dry or is_known or base.cell is not None or prod(base.type.shape) > MAXIMUM_ELEMENTS:
        return insert_at(fb, base, checked, value, node)
    places = _Places(fb, checked)
    new = scalars_of(fb, value, node) if isinstance(value, FixedArray) else [value]
    old = scalars_of(fb, base, node)
    leaves: list[SSAValue | None] = []
    for number, index in enumerate(np.ndindex(*base.type.shape)):
        here = places.is_at(index)
        kept, stored = fb.ssa(old[number]), fb.ssa(new[number % len(new)])
        if here is None:
            leaves.append(kept)
        else:
            leaves.append(fb.emit(arith.SelectOp, [here, stored, kept], ir_type(base.type.element)))
    return construct_fixed(fb, base.type, leaves)


class _Places:
    """Where indices lead: comparisons with numbers, each made once."""

    def __init__(self, fb: FunctionBuilder, indices: Sequence[Scalar]) -> None:
        self._fb, self._indices = fb, indices
        self._made: dict[tuple[int, ...], SSAValue | None] = {}

    def is_at(self, place: Sequence[int]) -> SSAValue | None:
        """Returns whether the indices are the first ones of a place; None where a literal one is another."""
        place = tuple(place[: len(self._indices)])
        if any(index.const not in (None, number) for index, number in zip(self._indices, place, strict=True)):
            return None
        if place not in self._made:
            self._made[place] = self._compare(place)
        return self._made[place]

    def _compare(self, place: Sequence[int]) -> SSAValue | None:
        found: SSAValue | None = None
        for index, number in zip(self._indices, place, strict=True):
            if index.const is None:
                operands = [self._fb.ssa(index), self._fb.constant(number, index.type)]
                is_equal = self._fb.emit(arith.CmpiOp, operands, ir_type(BOOL), CMPI["eq"])
                found = (
                    is_equal
                    if found is None
                    else self._fb.emit(arith.AndIOp, [found, is_equal], ir_type(BOOL))
                )
        return found
