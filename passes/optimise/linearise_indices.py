"""Positions in arrays of several dimensions become arithmetic that other passes see.

input:    %v = memref.load %a[%i, %j] : memref<?x8xf32>     output:   %f = memref.collapse_shape %a [[0, 1]]
                                                                      %r = arith.muli %i, %c8 : index
                                                                      %p = arith.addi %r, %j : index
                                                                      %v = memref.load %f[%p] : memref<?xf32>

The device has one dimension only.  Made here, the products fold, leave loops and are computed once; made where the
access is lowered, they would not.  Neighbours, `a[i, j]` and `a[i - 1, j + 1]`, are a constant number of elements apart
from one another, which is computed from the extents alone: each of them is one sum more (`neighbours`).

Invariant: elements in C order, the last index is the fastest; kernels whose ids have 64 bits are left alone, as their
indices are narrowed one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    IndexType,
    IntegerAttr,
    LocationAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    i64,
)
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...ir.create import create
from ...ir.dialects.kernel import WIDE
from ...ir.dialects.kernel_atomic import AtomicOp
from ...ir.dialects.kernel_fields import LoadFieldOp, StoreFieldOp
from ...ir.dialects.kernel_wide import LoadWideOp, StoreWideOp
from ...ir.narrowing import is_memref_type
from ...ir.walk import instances, operands_of
from ..insertion import Before, Behind
from .effects import body_blocks, functions_of
from .neighbours import Distance, Neighbours

_ACCESSES = (memref.LoadOp, memref.StoreOp, LoadFieldOp, StoreFieldOp, LoadWideOp, StoreWideOp, AtomicOp)
_INDEX = IndexType()


@dataclass(frozen=True)
class LineariseIndices(ModulePass):
    """Makes every access to an array one of one dimension."""

    name = "linearise-indices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if has_wide_ids(op):
            return
        for function in functions_of(op):
            linearise_indices(function)


def has_wide_ids(module: Operation) -> bool:
    """Whether a kernel of the module has ids of 64 bits, and with it perhaps the helpers that it calls."""
    return any(WIDE in function.attributes for function in functions_of(module))


def linearise_indices(function: Operation) -> None:
    """Changes the accesses of one function."""
    blocks = body_blocks(function)
    found = instances(function, *_ACCESSES)
    accesses = [access for op in found if (access := _access(op)) is not None]
    apart = Neighbours([(access.array, access.indices) for access in accesses])
    views: dict[SSAValue, _View] = {}
    for access in accesses:
        op, place = access.op, access.place
        view = views.get(access.array)
        if view is None:
            view = views[access.array] = _View(access.array, blocks[0], op.location)
        operands = list(op.operands)
        distance = apart.distance(access.array, access.indices)
        linear = view.position(access.indices, op) if distance is None else view.neighbour(distance, op)
        op.operands = [*operands[:place], view.flat, linear, *operands[place + 1 + len(access.indices) :]]


@dataclass(frozen=True, slots=True)
class _Access:
    op: Operation
    place: int
    """Of the array among the operands; the indices follow."""
    array: SSAValue
    indices: tuple[SSAValue, ...]


def _access(op: Operation) -> _Access | None:
    """Returns an access to an array of several dimensions, None for others."""
    values = operands_of(op)
    place = next(i for i, value in enumerate(values) if is_memref_type(value.type))
    type_ = values[place].type
    assert is_memref_type(type_)
    rank = type_.get_num_dims()
    if rank < 2 or not isinstance(type_.layout, NoneAttr):
        return None
    return _Access(op, place, values[place], tuple(values[place + 1 : place + 1 + rank]))


class _View:
    """An array of several dimensions as one of one dimension; what it needs stands behind the array's definition."""

    def __init__(self, array: SSAValue, entry: Block, location: LocationAttr) -> None:
        first, type_ = entry.first_op, array.type
        assert first is not None and is_memref_type(type_), "there is an access at least"
        owner = array.owner
        place = Before(first, location) if isinstance(owner, Block) else Behind(owner, location)
        shape = type_.get_shape()
        whole = ArrayAttr([ArrayAttr([IntegerAttr(d, i64) for d in range(len(shape))])])
        size = DYNAMIC_INDEX if DYNAMIC_INDEX in shape else prod(shape)
        flat = MemRefType(type_.element_type, [size], memory_space=type_.memory_space)
        self.flat = place.value(create(memref.CollapseShapeOp, (array,), (flat,), {"reassociation": whole}))
        self._extents = [_extent(array, dimension, place) for dimension in range(1, len(shape))]
        self._place = place
        self._strides: list[SSAValue] = []
        """Elements from one index to the next, of the last dimension but one first; as far as they were asked for."""

    def position(self, indices: Sequence[SSAValue], op: Operation) -> SSAValue:
        """Adds the arithmetic for a position in front of `op`."""
        linear, before = indices[0], Before(op)
        for extent, index in zip(self._extents, indices[1:], strict=True):
            linear = before.add(arith.AddiOp, before.add(arith.MuliOp, linear, extent), index)
        return linear

    def neighbour(self, distance: Distance, op: Operation) -> SSAValue:
        """Adds the arithmetic for the position of a neighbour in front of `op`."""
        before = Before(op)
        indices = [
            before.constant(0, _INDEX)
            if start is None
            else start
            if start.type == _INDEX
            else before.add(arith.IndexCastOp, start, type_=_INDEX)
            for start in distance.starts
        ]
        linear = self.position(indices, op)
        steps = [(steps, dimension) for dimension, steps in enumerate(distance.steps) if steps]
        if not steps:
            return linear
        total, is_behind = self._elements(*steps[0], before), steps[0][0] > 0
        for count, dimension in steps[1:]:
            kind = arith.AddiOp if (count > 0) == is_behind else arith.SubiOp
            total = before.add(kind, total, self._elements(count, dimension, before))
        return before.add(arith.AddiOp if is_behind else arith.SubiOp, linear, total)

    def _elements(self, count: int, dimension: int, before: Before) -> SSAValue:
        """Adds how many elements lie between indices that are so far apart, whatever the direction."""
        outer = len(self._extents) - dimension
        if outer == 0:
            return before.constant(abs(count), _INDEX)
        while len(self._strides) < outer:
            extent = self._extents[-1 - len(self._strides)]
            self._strides.append(
                self._place.add(arith.MuliOp, self._strides[-1], extent) if self._strides else extent
            )
        stride = self._strides[outer - 1]
        return (
            stride
            if abs(count) == 1
            else before.add(arith.MuliOp, stride, before.constant(abs(count), _INDEX))
        )


def _extent(array: SSAValue, dimension: int, place: Before) -> SSAValue:
    """Adds an extent of an array."""
    assert is_memref_type(array.type)
    known = array.type.get_shape()[dimension]
    if known != DYNAMIC_INDEX:
        return place.constant(known, _INDEX)
    return place.add(memref.DimOp, array, place.constant(dimension, _INDEX), type_=_INDEX)
