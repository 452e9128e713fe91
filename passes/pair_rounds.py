"""Two rounds of a short loop become one: the pass pair-rounds.

input:    scf.for %k = %low to %high step 1 {     output:   %end = arith.subi %high, 1
            use(%k)                                         scf.for %k = %low to %end step 2 {
          }                                                   use(%k)
                                                              use(%k + 1)
                                                            }
                                                            scf.if (%low < %high, an odd number of rounds) {
                                                              use(%high - 1)
                                                            }

Loops whose ends are loaded for each work-item stay, and loops in others: both often have few rounds, and the one that
is left over is then one of few.  CSR times a vector took 1.3 times as long in pairs on lavapipe and 1.1 on SwiftShader;
a loop in another 1.13 and 1.18 with 3 rounds, 1.09 and 1.15 with 8, 1.00 and 1.04 with 32, 0.96 and 0.93 with 128.

Loops in steps of a number of the launch, ``for k in range(first, end, stride)``, go on while a second round follows.
Software drivers spend as long on the loop itself as on a load: its mask, its test, its count of rounds.  Used where
`TargetEnv.pairs_rounds` says so, before rounds are counted (`limit_loops`).

Loops with atomic operations gain where the driver makes one instruction of each (`TargetEnv.pairs_atomics`).  What
their second round loads of arrays that nothing writes is loaded in front of the first one's atomics: processors begin
no load before an atomic instruction in front of it is done.

Invariant: the operations run in the same order on the same values, but for those loads.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ..ir.attribute_values import integer
from ..ir.call_graph import Function
from ..ir.create import create
from ..ir.dialects.kernel import is_kernel
from ..ir.dialects.kernel_atomic import AtomicOp
from ..ir.dialects.kernel_fields import LoadFieldOp
from ..ir.dialects.kernel_wide import LoadWideOp
from ..ir.walk import block_operations, enclosing
from .copies import copy_block
from .insertion import Before
from .loop_bounds import change_of, is_inside, is_natural
from .optimise.constants import constant_integer, integer_width, wrap
from .optimise.effects import array_of, is_pure_class, loops_of, optimised_functions, read_only_arrays
from .optimise.fold_control_flow import replace, trip_count
from .unroll import MAXIMUM_TRIPS

MAXIMUM_OPERATIONS = 40
"""Of a body that is written twice."""
_LOOPS = (scf.ForOp, scf.WhileOp)
_LOADS = (memref.LoadOp, LoadFieldOp, LoadWideOp)
_OTHERS = (memref.StoreOp,)
_SLT, _ULT = 2, 6
"""Predicates of `arith.cmpi`."""


@dataclass(frozen=True)
class PairRounds(ModulePass):
    """Writes the rounds of short loops in pairs."""

    name = "pair-rounds"
    with_atomics: bool = False
    """Also those of loops with atomic operations."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pair_rounds(op, with_atomics=self.with_atomics)


def pair_rounds(module: Operation, *, with_atomics: bool) -> None:
    """Changes the innermost loops of every function of `module`, where they are short and load something."""
    for function in optimised_functions(module):
        constant = read_only_arrays(function)
        for loop in loops_of(function, frozenset(_LOOPS)):
            if _is_nested(loop) or not _is_short(loop.regions[-1].block, with_atomics):
                continue
            made = _pair_for(loop) if isinstance(loop, scf.ForOp) else None
            made = _pair_while(loop) if isinstance(loop, scf.WhileOp) else made
            if made is not None:
                _load_first(made, constant)


def _is_nested(loop: Operation) -> bool:
    return any(type(op) in _LOOPS for op in enclosing(loop) if op is not loop)


def _is_short(body: Block, with_atomics: bool) -> bool:
    """Whether a body may be written twice, and is one of a loop that gains."""
    ops = block_operations(body)[:-1]
    return (
        len(ops) <= MAXIMUM_OPERATIONS
        and any(type(op) in _LOADS for op in ops)
        and all(_may_repeat(op, with_atomics) for op in ops)
    )


def _may_repeat(op: Operation, with_atomics: bool) -> bool:
    if isinstance(op, AtomicOp):
        return with_atomics and not op.is_loop
    return isinstance(op, _LOADS + _OTHERS) or (not op.regions and is_pure_class(type(op)))


def _one_more(loop: Operation, runs: SSAValue, body: Block, arguments: Sequence[SSAValue]) -> scf.IfOp:
    """Adds in front of a loop one round under a condition; its results are what it carries on, or `arguments`."""
    taken, skipped = Block(), Block()
    after = copy_block(body, arguments, taken)
    before = list(arguments)[-len(after) :] if after else []
    for block, values in ((taken, after), (skipped, before)):
        block.add_op(create(scf.YieldOp, values, location=loop.location))
    types = [value.type for value in after]
    made = create(scf.IfOp, (runs,), types, regions=(Region(taken), Region(skipped)))
    Before(loop).put(made)
    return made


def _load_first(body: Block, constant: Collection[SSAValue]) -> None:
    """Moves loads of constant arrays, and what their indices need, in front of a body's first atomic operation."""
    ops = block_operations(body)
    place = next((i for i, op in enumerate(ops) if isinstance(op, AtomicOp)), len(ops))
    behind = set(ops[place:])

    def is_free(op: Operation) -> bool:
        return is_pure_class(type(op)) or (isinstance(op, _LOADS) and array_of(op.operands[0]) in constant)

    def move(op: Operation) -> None:
        for owner in [value.owner for value in op.operands]:
            if isinstance(owner, Operation) and owner in behind:
                move(owner)
        behind.remove(op)
        op.detach()
        body.insert_op_before(op, ops[place])

    bound = set[Operation]()
    """What stays, because it is no load and no computation or needs what stays."""
    for op in ops[place:]:
        if not is_free(op) or any(value.owner in bound for value in op.operands):
            bound.add(op)
        elif isinstance(op, _LOADS):
            move(op)


# Loops that count


def _pair_for(loop: scf.ForOp) -> Block | None:
    """Pairs the rounds of a loop that may gain; returns the body with two."""
    low, high, step = loop.operands[:3]
    trips = trip_count(loop)
    is_long = trips is None or trips > MAXIMUM_TRIPS
    if constant_integer(step) != 1 or not is_long or _is_looked_up(low) or _is_looked_up(high):
        return None
    before = Before(loop)
    any_runs = before.compare("slt", low, high)
    end = _one_less(before, high, any_runs)
    main = _double_for(loop, before, end)
    odd = before.add(arith.AndIOp, before.add(arith.SubiOp, high, low), step)
    is_odd = before.compare("ne", odd, before.constant(0, low.type))
    runs = before.add(arith.AndIOp, any_runs, is_odd)
    rest = _one_more(loop, runs, loop.body.block, (end, *main.results))
    replace(loop, rest.results)
    return main.body.block


def _is_looked_up(value: SSAValue) -> bool:
    """Whether an end of a loop is loaded for each work-item: rows of sparse matrices and edges of graphs are few and
    differ for neighbours, which wait for the round that is left over."""
    loads = (v.owner for v in _made_of([value]) if isinstance(v.owner, _LOADS))
    return any(_is_of_a_work_item(v) for load in loads for v in _made_of(load.operands[1:]))


def _made_of(values: Sequence[SSAValue]) -> list[SSAValue]:
    """Returns values and all that they are computed of."""
    seen, pending = dict.fromkeys(values), list(values)
    while pending:
        owner = pending.pop().owner
        operands = () if isinstance(owner, Block) else owner.operands
        new = [operand for operand in operands if operand not in seen]
        seen.update(dict.fromkeys(new))
        pending += new
    return list(seen)


def _is_of_a_work_item(value: SSAValue) -> bool:
    """Whether a number comes from elsewhere than constants, sizes and a kernel's arguments."""
    owner = value.owner
    if isinstance(owner, Block):
        function = owner.parent_op()
        return not (isinstance(function, Function) and is_kernel(function))
    return not isinstance(owner, memref.DimOp) and not owner.name.startswith("arith.")


def _one_less(before: Before, high: SSAValue, any_runs: SSAValue) -> SSAValue:
    """Returns the number before an end; where no round runs, a number that none runs below either.

    A maximum with the least number but one would do as well, but SPIRV-Tools in SwiftShader folds SMax of constants,
    which arguments of helpers are once they are inlined, by the sign of their type: as unsigned ones.
    """
    known = constant_integer(high)
    if known is not None and known >= 0:
        return before.constant(known - 1, high.type)
    less = before.add(arith.SubiOp, high, before.constant(1, high.type))
    if is_natural(high):
        return less
    return before.add(arith.SelectOp, any_runs, less, high, type_=high.type)


def _double_for(loop: scf.ForOp, before: Before, end: SSAValue) -> scf.ForOp:
    low, _, one, *initial = loop.operands
    body = Block(arg_types=[low.type, *(value.type for value in initial)])
    carried = copy_block(loop.body.block, body.args, body)
    following = create(arith.AddiOp, (body.args[0], one), (low.type,), location=loop.location)
    body.add_op(following)
    carried = copy_block(loop.body.block, (following.results[0], *carried), body)
    body.add_op(create(scf.YieldOp, carried, location=loop.location))
    two = before.constant(2, low.type)
    types = [value.type for value in initial]
    made = create(scf.ForOp, (low, end, two, *initial), types, regions=(Region(body),))
    before.put(made)
    return made


# Loops in strides


@dataclass(frozen=True, slots=True)
class _Strides:
    """What is known of a loop that runs while a number that grows by a stride is below an end."""

    index: int
    """Of the number among the carried values."""
    end: SSAValue
    stride: SSAValue
    is_unsigned: bool
    """Whether numbers are compared so; then none comes around before the end."""


def _strides_of(loop: scf.WhileOp) -> _Strides | None:
    test, *others = reversed(block_operations(loop.before_region.block))
    arguments = loop.before_region.block.args
    if not isinstance(test, scf.ConditionOp) or len(others) != 1 or tuple(test.operands[1:]) != arguments:
        return None
    compare = others[0]
    if not isinstance(compare, arith.CmpiOp) or test.operands[0] is not compare.results[0]:
        return None
    predicate = integer(compare.properties.get("predicate"))
    value, end = compare.operands
    if predicate not in (_SLT, _ULT) or not isinstance(value, BlockArgument) or value not in arguments:
        return None
    kind, stride = change_of(loop, value.index) or (None, end)
    if kind is not arith.AddiOp or is_inside(end, loop) or is_inside(stride, loop):
        return None
    is_unsigned = predicate == _ULT
    is_known = is_natural(end) and is_natural(stride)
    if not is_known and not (is_unsigned and constant_integer(stride) == 1):
        return None
    return _Strides(value.index, end, stride, is_unsigned)


def _pair_while(loop: scf.WhileOp) -> Block | None:
    """Pairs the rounds of a loop that may gain; returns the body with two."""
    found = _strides_of(loop)
    if found is None:
        return None
    before = Before(loop)
    main = _double_while(loop, before, found)
    if not found.is_unsigned:  # a number may come around, and the rounds go on
        loop.operands = main.results
        return main.after_region.block
    runs = before.compare("ult", main.results[found.index], found.end)
    rest = _one_more(loop, runs, loop.after_region.block, main.results)
    replace(loop, rest.results)
    return main.after_region.block


def _end_of_pairs(before: Before, found: _Strides) -> SSAValue:
    """Returns what a number is below where a second round follows."""
    end, stride = constant_integer(found.end), constant_integer(found.stride)
    if end is not None and stride is not None and end >= 0:
        last = end - stride
        return before.constant(max(last, 0) if found.is_unsigned else last, found.end.type)
    high = before.add(arith.MaxUIOp, found.end, found.stride) if found.is_unsigned else found.end
    return before.add(arith.SubiOp, high, found.stride)


def _double_while(loop: scf.WhileOp, before: Before, found: _Strides) -> scf.WhileOp:
    end = _end_of_pairs(before, found)
    stride = constant_integer(found.stride)
    type_ = found.stride.type
    twice = (
        before.add(arith.AddiOp, found.stride, found.stride)
        if stride is None or stride >= 1 << 30  # an index may have 64 bits
        else before.constant(wrap(2 * stride, integer_width(type_) or 32), type_)
    )
    types = [value.type for value in loop.operands]
    test, body = Block(arg_types=types), Block(arg_types=types)
    predicate = "ult" if found.is_unsigned else "slt"
    compare = arith.CmpiOp(test.args[found.index], end, predicate)
    compare.location = loop.location
    test.add_op(compare)
    test.add_op(create(scf.ConditionOp, (compare.results[0], *test.args), location=loop.location))
    source = loop.after_region.block
    carried = copy_block(source, copy_block(source, body.args, body), body)
    last = carried[found.index].owner
    assert isinstance(last, Operation)
    last.operands = (body.args[found.index], twice)
    body.add_op(create(scf.YieldOp, carried, location=loop.location))
    made = create(scf.WhileOp, loop.operands, types, regions=(Region(test), Region(body)))
    before.put(made)
    return made
