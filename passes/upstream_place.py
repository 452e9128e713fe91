"""Makes operations in front of one of upstream's that they replace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ..ir.upstream_operations import CmpPredicate

_PREDICATES = list(CmpPredicate)


class UpstreamPlace:
    """An operation to be replaced; what is emitted goes before it."""

    def __init__(self, op: Operation) -> None:
        self.op: Any = op

    def emit(
        self, kind: type[Operation], operands: list[SSAValue], type_: Attribute, /, **properties: Attribute
    ) -> SSAValue:
        """Adds an operation of one result, and returns it."""
        made = kind.create(
            operands=operands, result_types=[type_], properties=properties, location=self.op.location
        )
        return self.add(made).results[0]

    def constant(self, number: int, type_: IntegerType | IndexType) -> SSAValue:
        """Returns a number."""
        value = cast("Attribute", IntegerAttr(number, type_))
        return self.emit(arith.ConstantOp, [], type_, value=value)

    def compare(self, predicate: CmpPredicate, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Returns a comparison of integers."""
        number = IntegerAttr(_PREDICATES.index(predicate), i64)
        return self.emit(arith.CmpiOp, [lhs, rhs], i1, predicate=number)

    def add(self, made: Operation) -> Operation:
        """Puts an operation in front of the one to be replaced."""
        block = self.op.parent_block()
        assert block is not None, "it is in a function"
        block.insert_op_before(made, self.op)
        return made


Lowering = Callable[[UpstreamPlace], tuple[SSAValue, ...] | None]
"""Returns what takes the place of an operation's results, None where it has no counterpart."""
