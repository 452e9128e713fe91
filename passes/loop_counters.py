"""The rounds of a loop, computed behind it from a value that counts them anyway.

input:    %r = scf.while (%n = %zero) : … {     output:   … the same, and
            … scf.condition(%c) %n                        %trips = arith.subi %r, %zero : i32
          } do {
            … %m = arith.addi %n, %one  scf.yield %m }

A count of its own would be one more value that every round changes; in a short loop that is a tenth of the time of
llvmpipe, which is the driver that needs the count (`limit_loops`).

Where only the end and the stride of ``range(first, end, stride)`` are known, they give it by a division.

Invariant: the number is that of the rounds of each work-item, also where the driver ends the loop, or larger then.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, i32
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from ..ir.attribute_values import integer
from .insertion import Before, Behind
from .loop_bounds import change_of, has_wide_indices, is_inside, is_natural, step_of
from .optimise.constants import constant_integer
from .optimise.fold_control_flow import replace

_TYPES = (i32, IndexType())
_ULT = 6
"""The predicate of `arith.cmpi`."""
UNCOUNTED = (1 << 31) - 1
"""Stands for more rounds than any driver's cap."""
LARGEST_STEP = 1 << 15
"""Of a counter: what it becomes in as many rounds as a driver runs must differ from where it began."""


def add_trips(op: Operation, *, divides: bool = True) -> tuple[Operation, Operation, SSAValue] | None:
    """Adds operations behind a loop for the number of its rounds, the last test of a while not among them.

    Args:
        op: the loop.
        divides: whether a division may be among them, which takes as long as counting some dozens of rounds.

    Returns:
        The loop, which may be a new one; the last operation added (the loop where there is none); the number, an i32.
        None where nothing in the loop counts its rounds.
    """
    if isinstance(op, scf.ForOp):
        return _trips_of_for(op)
    if not isinstance(op, scf.WhileOp):
        return None
    found = _trips_of_while(op)
    return _trips_of_strides(op) if found is None and divides else found


def _trips_of_for(op: scf.ForOp) -> tuple[Operation, Operation, SSAValue] | None:
    low, high, step = op.operands[:3]
    number = constant_integer(step)
    if low.type not in _TYPES or number is None or number <= 0:
        return None
    if low.type != i32 and has_wide_indices(op):  # perhaps more rounds than 32 bits hold
        return None
    behind = Behind(op)
    runs = behind.compare("slt", low, high)
    trips = behind.add(arith.SubiOp, high, low)  # as an unsigned number, where it runs
    if number > 1:
        one = behind.constant(1, low.type)
        whole = behind.add(arith.DivUIOp, behind.add(arith.SubiOp, trips, one), step)
        trips = behind.add(arith.AddiOp, whole, one)
    chosen = behind.add(arith.SelectOp, runs, trips, behind.constant(0, low.type), type_=low.type)
    rounds = _as_i32(behind, chosen)  # may be the last operation
    return op, behind.last, rounds


def _trips_of_while(op: scf.WhileOp) -> tuple[Operation, Operation, SSAValue] | None:
    test = op.before_region.block.last_op
    if not isinstance(test, scf.ConditionOp):
        return None
    counters = [(index, step) for index in range(len(op.operands)) if (step := _step(op, index))]
    if not counters:
        return None
    passed: dict[int, int] = {}
    for index, _ in counters:
        argument = op.before_region.block.args[index]
        for place, value in enumerate(test.operands[1:]):
            if value is argument:
                passed[index] = place
    index, step = next((c for c in counters if c[0] in passed), counters[0])
    first = op.operands[index]
    if index in passed:
        loop, last = op, op.results[passed[index]]
    else:
        loop = _passing(op, test, index)
        last = loop.results[-1]
    behind = Behind(loop)
    if constant_integer(first) == 0 and step > 0:
        distance = last
    else:
        distance = behind.add(arith.SubiOp, *((last, first) if step > 0 else (first, last)))
    if abs(step) > 1:
        distance = behind.add(arith.DivUIOp, distance, behind.constant(abs(step), distance.type))
    rounds = _as_i32(behind, distance)  # may be the last operation
    return loop, behind.last, rounds


def _trips_of_strides(op: scf.WhileOp) -> tuple[Operation, Operation, SSAValue] | None:
    """Adds the rounds of ``for k in range(first, end, stride)`` with a stride known at run time only.

    End and stride are sizes, below 2^31, or a pair of them less one and twice one (`pair_rounds`): no number comes
    around before the end.
    """
    test = op.before_region.block.last_op
    compare = test.operands[0].owner if isinstance(test, scf.ConditionOp) else None
    if not isinstance(compare, arith.CmpiOp) or integer(compare.properties.get("predicate")) != _ULT:
        return None
    value, end = compare.operands
    if not isinstance(value, BlockArgument) or value.owner is not op.before_region.block:
        return None
    kind, stride = change_of(op, value.index) or (None, end)
    is_size = is_natural(end) and (is_natural(stride) or _is_of_pairs(end, stride))
    if (
        kind is not arith.AddiOp
        or value.type != i32
        or not is_size
        or is_inside(end, op)
        or is_inside(stride, op)
    ):
        return None
    first, behind = op.operands[value.index], Behind(op)
    zero, one, many = (behind.constant(number, i32) for number in (0, 1, UNCOUNTED))
    distance = behind.add(arith.SubiOp, behind.add(arith.SubiOp, end, first), one)
    whole = behind.add(arith.DivUIOp, distance, behind.add(arith.MaxUIOp, stride, one))
    trips = behind.add(arith.AddiOp, whole, one)
    goes_on = behind.compare("ne", stride, zero)
    trips = behind.add(arith.SelectOp, goes_on, trips, many, type_=i32)
    runs = behind.compare("ult", first, end)
    rounds = behind.add(arith.SelectOp, runs, trips, zero, type_=i32)
    return op, behind.last, rounds


def _as_i32(behind: Behind, value: SSAValue) -> SSAValue:
    return value if value.type == i32 else behind.add(arith.IndexCastOp, value, type_=i32)


def _is_of_pairs(end: SSAValue, stride: SSAValue) -> bool:
    """Whether a loop ends one half of its stride early."""
    less, twice = end.owner, stride.owner
    if not isinstance(less, arith.SubiOp) or not isinstance(twice, arith.AddiOp):
        return False
    half = less.operands[1]
    return is_natural(half) and all(operand is half for operand in twice.operands)


def _step(op: scf.WhileOp, index: int) -> int:
    """Returns what each round adds to a carried value, 0 where that is not known or too much."""
    if op.operands[index].type not in _TYPES:
        return 0
    kind, number = step_of(op, index) or (None, 0)
    if kind is arith.SubiOp:
        number = -number
    elif kind is not arith.AddiOp:
        return 0
    return number if abs(number) <= LARGEST_STEP else 0


def _passing(op: scf.WhileOp, test: scf.ConditionOp, index: int) -> Operation:
    """Puts a loop that also gives the carried value of that number in the place of `op`."""
    value = op.before_region.block.args[index]
    test.operands = [*test.operands, value]
    body = op.after_region.block
    body.insert_arg(value.type, len(body.args))
    regions: Sequence[Region] = [op.detach_region(region) for region in tuple(op.regions)]
    made = scf.WhileOp.create(
        operands=tuple(op.operands),
        result_types=[*(result.type for result in op.results), value.type],
        properties=op.properties,
        attributes=op.attributes,
        regions=regions,
        location=op.location,
    )
    Before(op).put(made)
    replace(op, made.results[:-1])
    return made
