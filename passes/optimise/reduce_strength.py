"""Strength reduction: products of a loop's counter become sums that the loop carries.

input:    scf.for %k = %zero to %n step %one {     output:   scf.for %k = … iter_args(%p = %zero) {
            %p = arith.muli %k, %columns : index               …  %p …
            …  %p …                                            %q = arith.addi %p, %columns
          }                                                    scf.yield %q : index }

Rows of an array in a loop are such products.  Products by powers of two stay: they are shifts.

Invariant: integers wrap, so sums and products are the same to the last bit; where the loop begins and what a round
adds is computed in front of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...ir.create import create
from ...ir.walk import block_operations
from ..insertion import Before
from .constants import constant_integer
from .effects import functions_of, loops_of
from .fold_control_flow import replace

MAXIMUM_SUMS = 4
"""Of a loop: each takes a register."""


@dataclass(frozen=True)
class ReduceStrength(ModulePass):
    """Makes products of loop counters sums that loops carry."""

    name = "reduce-strength"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            reduce_strength(function)


def reduce_strength(function: Operation) -> None:
    """Changes the `scf.for` loops of one function, innermost loops first."""
    for loop in loops_of(function, (scf.ForOp,)):
        assert isinstance(loop, scf.ForOp)
        products = _products(loop)
        if products:
            _carry(loop, products[:MAXIMUM_SUMS])


@dataclass(frozen=True, slots=True)
class _Product:
    op: Operation
    factor: SSAValue
    """The other operand; made outside of the loop."""


def _products(loop: scf.ForOp) -> list[_Product]:
    """Returns the products of the loop's counter, or of its cast, with a value from outside."""
    body = loop.body.block
    counter = body.args[0]
    counters: set[SSAValue] = {counter}
    found: list[_Product] = []
    for op in block_operations(body):  # classes by type(): isinstance is a call in Python for each other one
        if type(op) is arith.IndexCastOp and op.operands[0] is counter:
            counters.add(op.results[0])
        elif type(op) is arith.MuliOp:
            a, b = op.operands
            for value, factor in ((a, b), (b, a)):
                if value in counters and not _is_inside(factor, body) and not _is_shift(factor):
                    found.append(_Product(op, factor))
                    break
    return found


def _is_shift(factor: SSAValue) -> bool:
    number = constant_integer(factor)
    return number is not None and (number <= 0 or number & (number - 1) == 0)


def _is_inside(value: SSAValue, body: Block) -> bool:
    # The product stands in `body`, so what it takes is made in that block or outside of the loop.
    owner = value.owner
    return owner is body if isinstance(owner, Block) else owner.parent is body


def _carry(loop: scf.ForOp, products: Sequence[_Product]) -> None:
    """Puts a loop that carries the products as sums in the place of `loop`."""
    low, _, step = loop.operands[:3]
    starts = [_times(loop, low, product) for product in products]
    increments = [_times(loop, step, product) for product in products]
    body = loop.body.block
    last = body.last_op
    assert last is not None
    following: list[SSAValue] = []
    for product, increment in zip(products, increments, strict=True):
        carried = body.insert_arg(increment.type, len(body.args))
        replace(product.op, (carried,))
        following.append(Before(last).add(arith.AddiOp, carried, increment))
    last.operands = [*last.operands, *following]
    regions: list[Region] = [loop.detach_region(region) for region in tuple(loop.regions)]
    made = create(
        scf.ForOp,
        operands=(*loop.operands, *starts),
        result_types=[*(result.type for result in loop.results), *(value.type for value in starts)],
        properties=loop.properties,
        attributes=loop.attributes,
        regions=regions,
        location=loop.location,
    )
    Before(loop).put(made)
    for old, new in zip(loop.results, made.results, strict=False):
        new.name_hint = old.name_hint
    replace(loop, made.results[: len(loop.results)])


def _times(loop: scf.ForOp, value: SSAValue, product: _Product) -> SSAValue:
    """Returns a value of the counter's type times the factor, computed in front of the loop."""
    type_, number = product.factor.type, constant_integer(value)
    if number == 1:
        return product.factor
    if value.type != type_:
        value = Before(loop).add(arith.IndexCastOp, value, type_=type_)
    return value if number == 0 else Before(loop).add(arith.MuliOp, value, product.factor)
