"""New operations beside one that is there: in front of it or behind it."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, LocationAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ..ir.create import create
from ..ir.narrowing import is_any_integer, is_integer_type
from .optimise.constants import wrap


class Before:
    """Adds operations in front of another one, each behind those added earlier.

    Args:
        place: the other one.
        location: in the source, of what is added; that of `place` where there is none.
    """

    def __init__(self, place: Operation, location: LocationAttr | None = None) -> None:
        self._place = place
        self._location = location or place.location

    def add(self, kind: type[Operation], *operands: SSAValue, type_: Attribute | None = None) -> SSAValue:
        """Adds an operation of one result, of its first operand's type where none is given."""
        return self.value(create(kind, operands, (type_ or operands[0].type,)))

    def constant(self, number: int, type_: Attribute) -> SSAValue:
        """Adds a constant of an integer type, to whose bits the number is reduced, or an index."""
        assert is_any_integer(type_), "a number"
        value = IntegerAttr(wrap(number, type_.width.data) if is_integer_type(type_) else number, type_)
        return self.value(create(arith.ConstantOp, (), (type_,), {"value": value}))

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """Adds a comparison of two integers, by a predicate of `arith.cmpi`."""
        return self.value(arith.CmpiOp(a, b, predicate))

    def value(self, op: Operation) -> SSAValue:
        """Adds a new operation; returns its first result."""
        self.put(op)
        return op.results[0]

    def put(self, op: Operation) -> None:
        """Adds a new operation."""
        op.location = self._location
        block = self._place.parent
        assert block is not None, "it is in a function"
        block.insert_op_before(op, self._place)


class Behind(Before):
    """Adds operations behind another one, each behind those added earlier; takes what `Before` takes."""

    def __init__(self, place: Operation, location: LocationAttr | None = None) -> None:
        super().__init__(place, location)
        self.last = place
        """The last operation added, `place` where there is none."""

    def put(self, op: Operation) -> None:
        op.location = self._location
        block = self.last.parent
        assert block is not None, "it is in a function"
        block.insert_op_after(op, self.last)
        self.last = op
