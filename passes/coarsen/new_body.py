"""The body of a coarsened kernel while it is being written: the block that is written to, and the function's start."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, gpu, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from .axes import NotCoarsenableError

MAXIMUM_OPERATIONS = 1500
"""A longer body costs more to compile than it may save."""
_INDEX = IndexType()


class NewBody:
    """A body that grows at the end of one of its blocks.

    Args:
        entry: the new function's entry block, with the kernel's arguments.
    """

    def __init__(self, entry: Block) -> None:
        self._entry = self._block = entry
        self._constants: dict[int, SSAValue] = {}
        self._first_items: dict[gpu.DimensionEnum, SSAValue] = {}
        self._last_at_front: Operation | None = None
        self._count = 0

    def add(self, op: Operation) -> Operation:
        """Adds an operation; returns it.

        Raises:
            NotCoarsenableError: the body becomes too long.
        """
        self._count += 1
        if self._count > MAXIMUM_OPERATIONS:
            raise NotCoarsenableError("its body would become too long")
        self._block.add_op(op)
        return op

    def binary(self, kind: type[Operation], a: SSAValue, b: SSAValue, like: Operation) -> SSAValue:
        """Adds an operation on two values of one type, in the place of `like`."""
        op = kind.create(operands=(a, b), result_types=(a.type,), location=like.location)
        return self.add(op).results[0]

    def plus(self, value: SSAValue, number: int, like: Operation) -> SSAValue:
        """Returns an index plus a constant."""
        return value if number == 0 else self.binary(arith.AddiOp, value, self.constant(number), like)

    def region(self, write: Callable[[], Sequence[SSAValue] | None], block: Block | None = None) -> Region:
        """Returns a region that `write` fills; what it yields ends it."""
        around, inner = self._block, block or Block()
        self._block = inner
        yielded = write()
        if yielded is not None:
            inner.add_op(scf.YieldOp.create(operands=tuple(yielded)))
        self._block = around
        return Region(inner)

    # The start of the function

    def constant(self, number: int) -> SSAValue:
        """Returns a constant of type index."""
        known = self._constants.get(number)
        if known is None:
            op = arith.ConstantOp(IntegerAttr(number, _INDEX))
            known = self._constants[number] = self._at_front(op)
        return known

    def first_item(self, dimension: gpu.DimensionEnum) -> SSAValue:
        """Returns the index of the invocation's first work-item along a dimension; `make_first_item` made it."""
        return self._first_items[dimension]

    def make_first_item(self, like: gpu.GlobalIdOp, size: int) -> SSAValue:
        """Returns the index of the invocation's first work-item along the dimension of `like`, of which it does
        `size`."""
        dimension = like.dimension.data
        known = self._first_items.get(dimension)
        if known is None:
            factor, type_ = self.constant(size), like.results[0].type
            group = self._at_front(
                gpu.GlobalIdOp.create(
                    properties=like.properties, result_types=(type_,), location=like.location
                )
            )
            known = self._first_items[dimension] = self._at_front(
                arith.MuliOp.create(operands=(group, factor), result_types=(type_,), location=like.location)
            )
        return known

    def _at_front(self, op: Operation) -> SSAValue:
        """Puts an operation at the start of the function, after those put there before."""
        if self._last_at_front is not None:
            self._entry.insert_op_after(op, self._last_at_front)
        elif self._entry.first_op is not None:
            self._entry.insert_op_before(op, self._entry.first_op)
        else:
            self._entry.add_op(op)
        self._last_at_front = op
        return op.results[0]
