"""Unrolls `scf.for` loops: short ones as a whole, others by a factor.

input:    scf.for %i = 0 to 2 step 1 { use(%i) }     output:   use(0)
                                                               use(1)

Used where a driver counts rounds (`limit_loops`): unrolled rounds do not count.

Invariant: the operations run in the same order on the same values; locations are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, func, scf
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..ir.create import create
from ..ir.dialects.kernel_reports import REPORT_NAMES
from ..ir.dialects.spirv.types import ArrayType, PointerType
from ..ir.narrowing import is_memref_type
from ..ir.walk import block_operations, has_any, operands_of, operations, region_blocks
from .copies import copy_block, copy_operations
from .insertion import Before
from .optimise.constants import constant_integer, integer_width
from .optimise.effects import is_write_class
from .optimise.fold_control_flow import replace, trip_count

MAXIMUM_TRIPS = 32
"""Rounds of a loop that is unrolled as a whole."""
MAXIMUM_OPERATIONS = 512
"""Operations that an unrolled loop may become."""
BUDGETS = (0, 0, 2048)
"""Operations that the body of any other loop may become, by optimisation level.

None at the default level: on lavapipe, the driver that needs it, unrolled loops run no faster and take several times as
long to compile."""
MAXIMUM_FACTOR = 256
"""By how much other loops are unrolled at most."""
WHILE_BUDGETS = (0, 0, 32768)
"""What the bodies of all `scf.while` of a function may become: nests of loops are such loops then (`flatten_nests`).
A single one gets half of it, which takes 1 to 2 s of CPU time to compile."""
ACCESS_BUDGET = 512
"""The same for accesses to elements of arrays, private ones too, in each `scf.for` as well: llvmpipe takes the second
power of their number, 3 s for so many."""
_PRIVATE_ACCESSES = frozenset(("spirv.Load", "spirv.Store"))
FLAT = "flattened"
"""Attribute of an `scf.while` until it is unrolled: a round behind its last one changes nothing (`flatten_nests`)."""
MAXIMUM_LIBRARY_FACTOR = 8
"""The same for all loops of functions of ours, group functions above all: those have few rounds, and a kernel with some
of them, unrolled by more, takes llvmpipe minutes to compile."""


def unroll_short_loops(function: Operation, is_wanted: Callable[[scf.ForOp], bool] = lambda _: True) -> bool:
    """Unrolls every `scf.for` of a function whose few rounds are known, inner loops first.

    Args:
        function: changed in place.
        is_wanted: which of them.

    Returns:
        Whether there was any.
    """
    changed = False
    for region in function.regions:
        for block in region_blocks(region):
            for op in block_operations(block):
                if op.regions:
                    changed |= unroll_short_loops(op, is_wanted)
                if type(op) is scf.ForOp and is_wanted(op):
                    changed |= unroll_if_short(op)
    return changed


def unroll_if_short(op: scf.ForOp) -> bool:
    """Unrolls a loop without loops inside whose few rounds are known; returns whether it is one."""
    if _has_loops(op):
        return False
    trips, low, step = trip_count(op), constant_integer(op.operands[0]), constant_integer(op.operands[2])
    if trips is None or low is None or step is None:
        return False
    if trips > MAXIMUM_TRIPS or trips * size(op.body.block) > MAXIMUM_OPERATIONS:
        return False
    carried = list(op.operands[3:])
    before, block = Before(op), op.parent
    assert block is not None
    for trip in range(trips):
        index = before.constant(low + trip * step, op.operands[0].type)
        carried = copy_block(op.body.block, (index, *carried), block, op)
    replace(op, carried)
    return True


def _has_loops(op: scf.ForOp) -> bool:
    return has_any(op.body, scf.ForOp, scf.WhileOp)


def _is_innermost(op: Operation) -> bool:
    """Whether no loop is inside, nor a call: what is called may loop, and is copied as often where it is inlined."""
    inside = (scf.ForOp, scf.WhileOp, func.CallOp)
    return not any(isinstance(inner, inside) for inner in operations(op) if inner is not op)


def size(block: Block) -> int:
    """Returns the number of operations in a block, those inside of others included."""
    return len(operations(block))


def _add_rounds(
    op: scf.ForOp, block: Block, index: SSAValue, carried: Sequence[SSAValue], one: SSAValue, count: int
) -> tuple[SSAValue, Sequence[SSAValue]]:
    """Adds so many rounds to a block; returns the index of the last one and what it would carry on."""
    for trip in range(count):
        if trip:
            advance = create(arith.AddiOp, (index, one), (index.type,), location=op.location)
            block.add_op(advance)
            index = advance.results[0]
        carried = copy_block(op.body.block, (index, *carried), block)
    return index, carried


def meets_others(op: Operation) -> bool:
    """Whether work-items of a sub-group do something together in a loop: those that are in the same round of it.

    Unrolled by a factor, the last rounds of some would stand in another place than the same rounds of others.
    """
    return any("Group" in inner.name for inner in operations(op))


def factor_for(body_operations: int, level: int) -> int:
    """Returns by how much a loop with a body of so many operations is unrolled: a power of two, 1 for large ones."""
    budget, factor = BUDGETS[min(level, 2)], 1
    while factor < MAXIMUM_FACTOR and 2 * factor * body_operations <= budget:
        factor *= 2
    return factor


def unroll_for(op: scf.ForOp, level: int, most: int = MAXIMUM_FACTOR) -> int:
    """Unrolls a loop of step 1 without loops or calls inside, by `most` at most; not one that `meets_others`, unless
    all of its work-items do the same rounds.

    The rounds that are left over stay with `op`, of which the most rounds are returned then, else 0.  In a loop they
    must not count every time: there they stand under conditions, 4 rounds if their number has the bit 4, 2 if it has
    the bit 2, and so on.
    """
    bits = integer_width(op.operands[0].type) or 32
    largest = 1 << max(bits - 2, 0)  # a step that the counter's type has
    factor = min(factor_for(size(op.body.block), level), largest, most)
    accesses = sum(map(_accesses, operations(op)))
    while factor > 1 and factor * accesses > ACCESS_BUDGET:
        factor //= 2
    if constant_integer(op.operands[2]) != 1 or factor == 1 or not _is_innermost(op):
        return 0
    before = Before(op)
    low, high, one = op.operands[:3]
    step = before.constant(factor, low.type)
    middle = _last_whole(before, low, high, step)
    main = _loop_of_rounds(op, low, middle, step, one, factor)
    before.put(main)
    if _is_in_loop(op):
        replace(op, _add_rest(op, middle, factor, main.results))
        return 0
    op.operands = [middle, high, one, *main.results]
    return factor - 1


def _is_in_loop(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, scf.ForOp | scf.WhileOp):
        parent = parent.parent_op()
    return parent is not None


def _add_rest(op: scf.ForOp, index: SSAValue, factor: int, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Adds the rounds from `index` on in front of `op`, fewer than `factor`; returns what they carry out."""
    before, type_ = Before(op), index.type
    high, one = op.operands[1:3]
    # For an empty loop the difference is negative or 0, and must not run: its bits count only where it is positive.
    runs = before.compare("slt", index, high)
    difference = before.add(arith.SubiOp, high, index)
    zero = before.constant(0, type_)
    rest = before.add(arith.SelectOp, runs, difference, zero, type_=type_)
    bit = factor // 2
    while bit:
        masked = before.add(arith.AndIOp, rest, before.constant(bit, type_))
        test = before.compare("ne", masked, zero)
        block = Block()
        last, through = _add_rounds(op, block, index, carried, one, bit)
        following = create(arith.AddiOp, (last, one), (type_,), location=op.location)
        block.add_op(following)
        block.add_op(scf.YieldOp.create(operands=[following.results[0], *through], location=op.location))
        skipped = Block([scf.YieldOp.create(operands=[index, *carried], location=op.location)])
        chosen = scf.IfOp.create(
            operands=(test,),
            result_types=[type_, *(value.type for value in carried)],
            regions=[Region(block), Region(skipped)],
        )
        before.put(chosen)
        index, carried = chosen.results[0], chosen.results[1:]
        bit //= 2
    return carried


def unroll_while(op: scf.WhileOp, level: int, most: int = MAXIMUM_FACTOR, loops: int = 1) -> int:
    """Unrolls a loop without loops or calls inside, whose test only reads, by `most` at most: further rounds stand in
    it under theirs.

    A test that fails there is made again at the head of the loop, with the same outcome, and ends it.  Loops that were
    nests need no tests in between.
    So no round is left over: returns 0.

    Args:
        op: the loop.
        level: of optimisation.
        most: the largest factor.
        loops: how many loops of its function share what they may become.
    """
    before, after = op.before_region.block, op.after_region.block
    is_flat = op.attributes.pop(FLAT, None) is not None
    budget = WHILE_BUDGETS[min(level, 2)] // max(loops, 2)
    factor = min(budget // (size(before) + size(after)), MAXIMUM_FACTOR, most)
    accesses = sum(map(_accesses, operations(op)))
    if accesses:
        factor = min(factor, ACCESS_BUDGET // (accesses * loops))
    if factor < 2 or not _is_innermost(op):
        return 0
    if any(is_write_class(type(inner)) or inner.name in REPORT_NAMES for inner in before.walk()):
        return 0
    last = after.last_op
    assert last is not None
    rounds = block_operations(after)[:-1]
    yielded = list(last.operands)
    state: list[SSAValue] = list(yielded)
    for _ in range(factor - 1):
        if is_flat:
            values: dict[SSAValue, SSAValue] = dict(zip(after.args, state, strict=True))
            copy_operations(rounds, values, after, last)
            state = [values.get(value, value) for value in yielded]
            continue
        condition, *passed = copy_block(before, state, after, last)
        body = Block()
        inside: dict[SSAValue, SSAValue] = dict(zip(after.args, passed, strict=True))
        copy_operations(rounds, inside, body)  # without the rounds that `after` has got by now
        through = [inside.get(value, value) for value in yielded]
        body.add_op(scf.YieldOp.create(operands=through, location=op.location))
        skipped = Block([scf.YieldOp.create(operands=state, location=op.location)])
        chosen = scf.IfOp.create(
            operands=[condition],
            result_types=[value.type for value in state],
            regions=[Region(body), Region(skipped)],
            location=op.location,
        )
        after.insert_op_before(chosen, last)
        state = list(chosen.results)
    last.operands = state
    return 0


def _accesses(op: Operation) -> int:
    """Returns how many accesses to elements of arrays an operation is.

    A private array that is loaded or stored as a whole is one for each element: the driver keeps it in memory, as
    another access to it has an index that is known at run time only.
    """
    if op.name in _PRIVATE_ACCESSES:
        pointer = operands_of(op)[0].type
        return _elements(pointer.pointee) if isinstance(pointer, PointerType) else 0
    return int(any(is_memref_type(operand.type) for operand in operands_of(op)))


def _elements(type_: Attribute) -> int:
    """Returns how many numbers a type of SPIR-V has."""
    return type_.count.data * _elements(type_.element_type) if isinstance(type_, ArrayType) else 1


def _last_whole(before: Before, low: SSAValue, high: SSAValue, step: SSAValue) -> SSAValue:
    """Returns low + (high - low) // step * step, or low for an empty loop.

    Unsigned: the difference of two signed numbers may not fit, but wraps to the right unsigned one.
    """
    distance = before.add(arith.SubiOp, high, low)
    whole = before.add(arith.MuliOp, before.add(arith.DivUIOp, distance, step), step)
    stop = before.add(arith.AddiOp, low, whole)
    runs = before.compare("slt", low, high)
    return before.add(arith.SelectOp, runs, stop, low, type_=low.type)


def _loop_of_rounds(
    op: scf.ForOp, low: SSAValue, high: SSAValue, step: SSAValue, one: SSAValue, factor: int
) -> scf.ForOp:
    block = Block(arg_types=[low.type, *(value.type for value in op.operands[3:])])
    _, carried = _add_rounds(op, block, block.args[0], block.args[1:], one, factor)
    block.add_op(scf.YieldOp.create(operands=carried, location=op.location))
    main = scf.ForOp.create(
        operands=[low, high, step, *op.operands[3:]],
        result_types=[result.type for result in op.results],
        regions=[Region(block)],
        location=op.location,
    )
    assert isinstance(main, scf.ForOp)
    return main
