"""Unrolls `scf.for` loops: short ones as a whole, others by a factor.

input:    scf.for %i = 0 to 2 step 1 { use(%i) }     output:   use(0)
                                                               use(1)

Used where a driver counts rounds (`limit_loops`): unrolled rounds do not count.

Invariant: the operations run in the same order on the same values; locations are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from .optimise.constants import constant_integer
from .optimise.fold_control_flow import replace, trip_count

MAXIMUM_TRIPS = 32
"""Rounds of a loop that is unrolled as a whole."""
MAXIMUM_OPERATIONS = 512
"""Operations that an unrolled loop may become."""
FACTOR = 8
"""By how much other loops are unrolled."""


def unroll_short_loops(function: Operation) -> None:
    """Unrolls every `scf.for` of a function whose few rounds are known, inner loops first."""
    for region in function.regions:
        for block in region.blocks:
            for op in tuple(block.ops):
                unroll_short_loops(op)
                if isinstance(op, scf.ForOp):
                    _unroll_if_short(op)


def _unroll_if_short(op: scf.ForOp) -> None:
    if _has_loops(op):
        return
    trips, low, step = trip_count(op), constant_integer(op.operands[0]), constant_integer(op.operands[2])
    if trips is None or low is None or step is None:
        return
    if trips > MAXIMUM_TRIPS or trips * size(op.body.block) > MAXIMUM_OPERATIONS:
        return
    carried = list(op.operands[3:])
    assert op.parent is not None
    for trip in range(trips):
        index = _constant(op, low + trip * step)
        op.parent.insert_op_before(index, op)
        carried = _copy_round(op, index.results[0], carried, op.parent, op)
    replace(op, carried)


def _has_loops(op: scf.ForOp) -> bool:
    return any(isinstance(inner, scf.ForOp | scf.WhileOp) for inner in op.body.walk())


def size(block: Block) -> int:
    """Returns the number of operations in a block, those inside of others included."""
    return sum(1 for op in block.ops for _ in op.walk())


def _constant(op: scf.ForOp, number: int) -> Operation:
    type_ = op.operands[0].type
    attribute = IntegerAttr(number, type_)  # pyright: ignore[reportArgumentType, reportCallIssue]
    return arith.ConstantOp.create(
        result_types=(type_,), properties={"value": attribute}, location=op.location
    )


def _copy_round(
    op: scf.ForOp, index: SSAValue, carried: Sequence[SSAValue], target: Block, before: Operation | None
) -> list[SSAValue]:
    """Copies the body in front of `before`, or to the end of `target`; returns what it would carry on."""
    body = op.body.block
    values: dict[SSAValue, SSAValue] = dict(zip(body.args, (index, *carried), strict=True))
    last = body.last_op
    assert last is not None
    for inner in body.ops:
        if inner is last:
            break
        copy = inner.clone(values)
        for original, new in zip(inner.walk(), copy.walk(), strict=True):
            new.location = original.location
        if before is None:
            target.add_op(copy)
        else:
            target.insert_op_before(copy, before)
    return [values.get(value, value) for value in last.operands]


def unroll_by_factor(op: scf.ForOp, factor: int = FACTOR) -> scf.ForOp | None:
    """Splits a loop of step 1 into one of `factor` rounds at a time, and one for the rounds that are left.

    Returns the latter, which has fewer than `factor` rounds; None, and changes nothing, for loops of another step,
    with loops inside, or with too large a body.
    """
    body = op.body.block
    if constant_integer(op.operands[2]) != 1 or factor * size(body) > MAXIMUM_OPERATIONS:
        return None
    if _has_loops(op):
        return None
    assert op.parent is not None
    outer, low, high, one = op.parent, *op.operands[:3]
    step = _constant(op, factor)
    middle = _last_whole(op, low, high, step.results[0])
    outer.insert_ops_before([step, *middle], op)
    main = _loop_of_rounds(op, low, middle[-1].results[0], step.results[0], one, factor)
    outer.insert_op_before(main, op)
    op.operands = [middle[-1].results[0], high, one, *main.results]
    return op


def _last_whole(op: scf.ForOp, low: SSAValue, high: SSAValue, step: SSAValue) -> list[Operation]:
    """Returns operations of which the last gives low + (high - low) // step * step, or low for an empty loop.

    Unsigned: the difference of two signed numbers may not fit, but wraps to the right unsigned one.
    """
    type_ = low.type
    made: list[Operation] = []

    def emit(kind: type[Operation], *operands: SSAValue, result: object = type_, **properties: object) -> SSAValue:
        new = kind.create(
            operands=operands,
            result_types=(result,),  # pyright: ignore[reportArgumentType]
            properties=properties,  # pyright: ignore[reportArgumentType]
            location=op.location,
        )
        made.append(new)
        return new.results[0]

    distance = emit(arith.SubiOp, high, low)
    whole = emit(arith.MuliOp, emit(arith.DivUIOp, distance, step), step)
    stop = emit(arith.AddiOp, low, whole)
    runs = arith.CmpiOp(low, high, "slt")
    runs.location = op.location
    made.append(runs)
    emit(arith.SelectOp, runs.results[0], stop, low)
    return made


def _loop_of_rounds(
    op: scf.ForOp, low: SSAValue, high: SSAValue, step: SSAValue, one: SSAValue, factor: int
) -> scf.ForOp:
    block = Block(arg_types=[low.type, *(value.type for value in op.operands[3:])])
    index, carried = block.args[0], list(block.args[1:])
    for trip in range(factor):
        if trip:
            advance = arith.AddiOp.create(
                operands=(index, one), result_types=(low.type,), location=op.location
            )
            block.add_op(advance)
            index = advance.results[0]
        carried = _copy_round(op, index, carried, block, None)
    block.add_op(scf.YieldOp.create(operands=carried, location=op.location))
    main = scf.ForOp.create(
        operands=[low, high, step, *op.operands[3:]],
        result_types=[result.type for result in op.results],
        regions=[Region(block)],
        location=op.location,
    )
    assert isinstance(main, scf.ForOp)
    return main


__all__ = ["FACTOR", "size", "unroll_by_factor", "unroll_short_loops"]
