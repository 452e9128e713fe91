"""Values and branches of the loop that a nest becomes (`flatten_nests`), and loops in one form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, LocationAttr, i1, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..ir.create import append, create, move_all
from .carry_results import zero_of
from .copies import copy_operations
from .insertion import Before
from .optimise.constants import bool_attribute
from .optimise.fold_control_flow import replace

Guards = tuple[tuple[SSAValue, bool], ...]
"""Conditions under which something runs, each with the outcome that it must have."""


def as_while(loop: Operation) -> scf.WhileOp:
    """Replaces an `scf.for` by what it does; returns an `scf.while` as it is."""
    if isinstance(loop, scf.WhileOp):
        return loop
    assert isinstance(loop, scf.ForOp)
    low, high, step, *carried = loop.operands
    types = [low.type, *(value.type for value in carried)]
    header, body, old = Block(arg_types=types), Block(arg_types=types), loop.body.block
    runs = arith.CmpiOp(header.args[0], high, "slt")
    runs.location = loop.location
    append(header, runs)
    append(header, create(scf.ConditionOp, (runs.result, *header.args), location=loop.location))
    for argument, new in zip(old.args, body.args, strict=True):
        argument.replace_all_uses_with(new)
    end = old.last_op
    assert end is not None
    yielded = list(end.operands)
    end.detach()
    end.erase()
    move_all(old, body)
    advance = create(arith.AddiOp, (body.args[0], step), (low.type,), location=loop.location)
    append(body, advance)
    append(body, create(scf.YieldOp, (advance.results[0], *yielded), location=loop.location))
    made = create(scf.WhileOp, (low, *carried), types, regions=(Region(header), Region(body)))
    Before(loop).put(made)
    replace(loop, made.results[1:])
    return made


def ends_of(loop: scf.WhileOp) -> tuple[Operation, Operation]:
    """Returns the ends of a loop's test and body."""
    test, again = loop.before_region.block.last_op, loop.after_region.block.last_op
    assert test is not None and again is not None
    return test, again


class Constants:
    """Constants in front of a loop, each made once."""

    def __init__(self, before: Before) -> None:
        self._before = before
        self._made: dict[Attribute, SSAValue] = {}

    def number(self, number: int) -> SSAValue:
        """Returns an i32."""
        return self._of(IntegerAttr(number, i32), i32)

    def truth(self, *, value: bool) -> SSAValue:
        """Returns an i1."""
        return self._of(bool_attribute(value), i1)

    def zero(self, type_: Attribute) -> SSAValue:
        """Returns what a value is before it is computed; nothing depends on it."""
        value = zero_of(type_)
        assert value is not None
        return self._of(value, type_)

    def _of(self, value: Attribute, type_: Attribute) -> SSAValue:
        if value not in self._made:
            constant = create(arith.ConstantOp, (), (type_,), {"value": value})
            self._made[value] = self._before.value(constant)
        return self._made[value]


class Builder:
    """Adds operations to the end of a block, and constants in front of the loop that it becomes part of."""

    def __init__(self, block: Block, constants: Constants, location: LocationAttr) -> None:
        self.block = block
        self._constants = constants
        self._location = location

    def _add(self, op: Operation) -> SSAValue:
        op.location = self._location
        append(self.block, op)
        return op.results[0]

    def copy(self, ops: Sequence[Operation], values: dict[SSAValue, SSAValue]) -> None:
        """Adds copies of operations; notes their results in `values`."""
        copy_operations(ops, values, self.block)

    def equal(self, value: SSAValue, number: int) -> SSAValue:
        """Adds a comparison of an i32."""
        return self._add(arith.CmpiOp(value, self._constants.number(number), "eq"))

    def differs(self, value: SSAValue, number: int) -> SSAValue:
        """Adds the opposite comparison."""
        return self._add(arith.CmpiOp(value, self._constants.number(number), "ne"))

    def both(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Adds a conjunction."""
        return self._add(create(arith.AndIOp, (a, b), (i1,)))

    def either(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Adds a disjunction."""
        return self._add(create(arith.OrIOp, (a, b), (i1,)))

    def opposite(self, a: SSAValue) -> SSAValue:
        """Adds a negation of an i1."""
        return self._add(create(arith.XOrIOp, (a, self._constants.truth(value=True)), (i1,)))

    def choose(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """Adds a selection."""
        return self._add(create(arith.SelectOp, (condition, a, b), (a.type,)))

    def choose_known(self, condition: SSAValue, a: SSAValue, b: SSAValue | None) -> SSAValue:
        """Adds a selection where there is something to choose from; returns `a` where there is not."""
        return a if b is None else self.choose(condition, a, b)

    def under(self, at: SSAValue, guards: Guards, values: Mapping[SSAValue, SSAValue]) -> SSAValue:
        """Adds whether a work-item is there and conditions have their outcomes."""
        for condition, outcome in guards:
            found = values.get(condition, condition)
            at = self.both(at, found if outcome else self.opposite(found))
        return at

    def branch(
        self, condition: SSAValue, block: Block, values: Sequence[SSAValue], others: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """Adds a block under a condition; returns what it gives, or other values where it does not run."""
        append(block, create(scf.YieldOp, values, location=self._location))
        other = Block()
        append(other, create(scf.YieldOp, others, location=self._location))
        types = [value.type for value in values]
        regions = (Region(block), Region(other))
        op = create(scf.IfOp, (condition,), types, location=self._location, regions=regions)
        append(self.block, op)
        return op.results
