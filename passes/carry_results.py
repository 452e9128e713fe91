"""What the test of a loop has read leaves the loop as a value that the loop carries: the pass carry-results.

input:    %v = scf.while (%k = %i) {          output:   %n, %v, %t = scf.while (%k = %i, %w = %zero, %go = %true) {
            %x = memref.load %a[%k]                       scf.condition(%go) %k, %w, %go
            %t = arith.cmpi sle, %x, %five              } do {
            scf.condition(%t) %x                          %x = memref.load %a[%k]
          } do {                                          %t = arith.cmpi sle, %x, %five
            %m = arith.addi %k, %one                      %n = scf.if %t { …, scf.yield %m } else { scf.yield %k }
            scf.yield %m }                                scf.yield %n, %x, %t }

A work-item that has left a loop waits while others go on, and some drivers overwrite meanwhile what it read in its
last round (`vk_runtime.quirks`, lost-reads): they keep only what is carried.  What a test computes from carried values
alone comes out the same in every further round, so other loops stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.hints import isa

from ..ir.create import append, create, move_all
from ..ir.narrowing import is_vector_type
from ..ir.walk import instances, operands_of, operations
from .insertion import Before
from .optimise.constants import bool_attribute
from .optimise.effects import is_pure_class

_STRUCTURE = frozenset(("scf.if", "scf.for", "scf.while", "scf.yield", "scf.condition"))


@dataclass(frozen=True)
class CarryResults(ModulePass):
    """Lets what the tests of loops have read leave them as carried values."""

    name = "carry-results"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        carry_results(op)


def carry_results(module: Operation) -> None:
    """Changes the `scf.while` loops of a module."""
    for loop in instances(module, scf.WhileOp):
        assert isinstance(loop, scf.WhileOp)
        places = _computed(loop)
        if any(_is_read(loop, place) for place in places):
            zeros = [zero_of(loop.results[place].type) for place in places]
            numbers = [zero for zero in zeros if zero is not None]
            if len(numbers) == len(zeros):
                _change(loop, places, numbers)


def _end(block: Block) -> Operation:
    end = block.last_op
    assert end is not None
    return end


def _passed(loop: scf.WhileOp) -> list[SSAValue]:
    """Returns what the test passes on, without its condition."""
    return list(operands_of(_end(loop.before_region.block)))[1:]


def _computed(loop: scf.WhileOp) -> list[int]:
    """Returns which results are used and computed by the test."""
    before = loop.before_region.block
    return [
        place
        for place, value in enumerate(_passed(loop))
        if loop.results[place].first_use is not None
        and isinstance(value.owner, Operation)
        and value.owner.parent is before
    ]


def _is_read(loop: scf.WhileOp, place: int) -> bool:
    """Whether a result depends on something that the test does not compute from carried values."""
    inside = frozenset(operations(loop.before_region))
    seen: set[Operation] = set()
    todo = [_passed(loop)[place].owner]
    while todo:
        owner = todo.pop()
        if not isinstance(owner, Operation) or owner in seen or owner not in inside:
            continue
        for op in operations(owner):
            if op.name not in _STRUCTURE and not is_pure_class(type(op)):
                return True
            seen.add(op)
            todo += [value.owner for value in operands_of(op)]
    return False


def zero_of(type_: Attribute) -> Attribute | None:
    """Returns the zero of a type, None where it is neither a number nor a vector of numbers."""
    if isa(type_, IntegerType | IndexType):
        return IntegerAttr(0, type_)
    if is_vector_type(type_) and isa(type_.element_type, IntegerType | AnyFloat):
        zero = 0 if isinstance(type_.element_type, IntegerType) else 0.0
        return DenseIntOrFPElementsAttr.from_list(type_, [zero])  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
    return FloatAttr(0.0, type_) if isinstance(type_, AnyFloat) else None


def _change(loop: scf.WhileOp, places: list[int], zeros: list[Attribute]) -> None:
    """Puts a loop in the place of `loop` whose test is a flag, and which carries its results at `places`."""
    count = len(loop.operands)
    types = [*(value.type for value in loop.operands), *(loop.results[place].type for place in places), i1]
    header, body = Block(arg_types=types), Block(arg_types=types)
    append(header, create(scf.ConditionOp, (header.args[-1], *header.args), location=loop.location))
    kept = body.args[:count]
    passed = _fill_body(loop, body, kept, places)
    before = Before(loop)
    starts = [
        before.value(create(arith.ConstantOp, (), (type_,), {"value": value}))
        for type_, value in zip(types[count:], (*zeros, bool_attribute(True)), strict=True)
    ]
    made = create(
        scf.WhileOp,
        (*loop.operands, *starts),
        types,
        loop.properties,
        loop.attributes,
        regions=(Region(header), Region(body)),
    )
    before.put(made)
    for place, (result, value) in enumerate(zip(loop.results, passed, strict=True)):
        if place in places:
            value = made.results[count + places.index(place)]
        elif value in kept:
            value = made.results[kept.index(value)]
        result.replace_all_uses_with(value)
    loop.detach()
    loop.erase()


def _fill_body(
    loop: scf.WhileOp, body: Block, kept: Sequence[SSAValue], places: list[int]
) -> Sequence[SSAValue]:
    """Moves a loop's test into the new body, and its old body behind that, under the test's condition.

    Args:
        loop: is left empty.
        body: of the new loop.
        kept: what the new body gets of the values that `loop` carries.
        places: the results that become carried values.

    Returns:
        What the old test passed on.
    """
    before, after, location = loop.before_region.block, loop.after_region.block, loop.location
    for old, new in zip(before.args, kept, strict=True):
        old.replace_all_uses_with(new)
    test = _end(before)
    going, *passed = operands_of(test)
    test.detach()
    test.erase()
    move_all(before, body)
    for old, new in zip(after.args, passed, strict=True):
        old.replace_all_uses_with(new)
    then, other = Block(), Block()
    move_all(after, then)
    append(other, create(scf.YieldOp, kept, location=location))
    types = [value.type for value in kept]
    choice = create(scf.IfOp, (going,), types, location=location, regions=(Region(then), Region(other)))
    append(body, choice)
    following = (*choice.results, *(passed[place] for place in places), going)
    append(body, create(scf.YieldOp, following, location=location))
    return passed
