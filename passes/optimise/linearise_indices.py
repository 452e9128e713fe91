"""Positions in arrays of several dimensions become arithmetic that other passes see.

input:    %v = memref.load %a[%i, %j] : memref<?x8xf32>     output:   %f = memref.collapse_shape %a [[0, 1]]
                                                                      %r = arith.muli %i, %c8 : index
                                                                      %p = arith.addi %r, %j : index
                                                                      %v = memref.load %f[%p] : memref<?xf32>

The device has one dimension only.  Made here, the products fold, leave loops and are computed once; made where the
access is lowered, they would not.

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
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...ir.create import create
from ...ir.dialects.kernel import WIDE
from ...ir.dialects.kernel_atomic import AtomicOp
from ...ir.dialects.kernel_fields import LoadFieldOp, StoreFieldOp
from ...ir.dialects.kernel_wide import LoadWideOp, StoreWideOp
from ...ir.walk import instances, operands_of
from ..narrowing import is_memref_type
from .effects import body_blocks, functions_of

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
    views: dict[SSAValue, _View] = {}
    for op in found:
        values = operands_of(op)
        place = next(i for i, value in enumerate(values) if is_memref_type(value.type))
        array = values[place]
        type_ = array.type
        assert is_memref_type(type_)
        rank = type_.get_num_dims()
        if rank < 2 or not isinstance(type_.layout, NoneAttr):
            continue
        view = views.get(array)
        if view is None:
            view = views[array] = _View(array, type_, blocks[0], op.location)
        operands = list(op.operands)
        linear = view.position(operands[place + 1 : place + 1 + rank], op)
        op.operands = [*operands[:place], view.flat, linear, *operands[place + 1 + rank :]]


class _View:
    """An array of several dimensions as one of one dimension; what it needs stands behind the array's definition."""

    def __init__(
        self, array: SSAValue, type_: MemRefType[Attribute], entry: Block, location: LocationAttr
    ) -> None:
        self._array = array
        self._entry = entry
        self._location = location
        self._last: Operation | None = None if isinstance(array.owner, Block) else array.owner
        shape = type_.get_shape()
        whole = ArrayAttr([ArrayAttr([IntegerAttr(d, i64) for d in range(len(shape))])])
        size = DYNAMIC_INDEX if DYNAMIC_INDEX in shape else prod(shape)
        flat = MemRefType(type_.element_type, [size], memory_space=type_.memory_space)
        self.flat = self._define(
            create(
                memref.CollapseShapeOp,
                operands=(array,),
                result_types=(flat,),
                properties={"reassociation": whole},
            )
        )
        self._extents = [self._extent(dimension, shape[dimension]) for dimension in range(1, len(shape))]

    def position(self, indices: Sequence[SSAValue], op: Operation) -> SSAValue:
        """Adds the arithmetic for a position in front of `op`."""
        linear = indices[0]
        for extent, index in zip(self._extents, indices[1:], strict=True):
            linear = _before(op, arith.AddiOp, _before(op, arith.MuliOp, linear, extent), index)
        return linear

    def _extent(self, dimension: int, known: int) -> SSAValue:
        if known != DYNAMIC_INDEX:
            return self._constant(known)
        number = self._constant(dimension)
        return self._define(create(memref.DimOp, operands=(self._array, number), result_types=(_INDEX,)))

    def _constant(self, number: int) -> SSAValue:
        value = IntegerAttr(number, _INDEX)
        return self._define(create(arith.ConstantOp, result_types=(_INDEX,), properties={"value": value}))

    def _define(self, op: Operation) -> SSAValue:
        op.location = self._location
        if self._last is not None:
            block = self._last.parent
            assert block is not None
            block.insert_op_after(op, self._last)
        elif self._entry.first_op is None:
            self._entry.add_op(op)
        else:
            self._entry.insert_op_before(op, self._entry.first_op)
        self._last = op
        return op.results[0]


def _before(op: Operation, kind: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
    made = create(kind, operands=(a, b), result_types=(_INDEX,), location=op.location)
    assert op.parent is not None
    op.parent.insert_op_before(made, op)
    return made.results[0]
