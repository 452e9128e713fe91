"""A loop that counts rounds begins a second one before it knows of the first: the pass speculate-rounds.

input:    %r, %s = scf.while (%n = %a, %z = %b) {     output:   %q, %s, %g = scf.while (%n = %a, %z = %b, %go = %true) {
            scf.condition(test(%n, %z)) %n, %z                    scf.condition(%go and test(%n, %z)) %n, %z, %go
          } do {                                                } do {
            scf.yield %n + 1, next(%z)                            %y = next(%z)
          }                                                       scf.yield %n + 2, next(%y), test(%n + 1, %y)
                                                                }
                                                                %r = %g ? %q : %q - 1

An escape time, or a Collatz sequence, computes until a test of what it computed fails.  A round and its test take their
time one after the other, however many units the processor has, as software drivers carry nothing on before they know
which work-items go on.  Two rounds for each such decision do not wait for the first one's test.  Where it fails, the
second round was one too many: its values are not needed, and counts are taken back behind the loop.  Used where
`TargetEnv.pairs_rounds` says so.

Loops whose other values somebody needs behind them stay as they are: to carry on both rounds' values cost llvmpipe what
the pass gains (0.99 to 1.10 of the time of four kernels), to select one of them more.

Invariant: counts are those of rounds one by one.  What runs unasked only computes: no memory, no division, no function
but those of one instruction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ..ir.create import create
from ..ir.walk import block_operations
from .copies import copy_block
from .insertion import Before
from .loop_bounds import is_inside, step_of
from .optimise.dce import eliminate_dead_code
from .optimise.effects import is_speculatable, loops_of, optimised_functions
from .optimise.fold_control_flow import replace
from .optimise.forward_walk import ForwardWalk

MAXIMUM_OPERATIONS = 48
"""Of a test and a body together."""
LARGEST_STEP = 1 << 29
"""Of a count: twice as much fits in an index."""
FEWEST_OPERATIONS = 2
"""Of a body on integers, beside its counts: a shift alone is there as soon as its test."""
_SLOW = ("arith.div", "arith.rem", "arith.floordiv", "arith.ceildiv")
"""How names of arithmetic begin that takes several times as long as the rest."""
_QUICK = ("math.absf", "math.fma")
"""What takes no longer than arithmetic."""
_LOGIC = (arith.AndIOp, arith.OrIOp, arith.XOrIOp)


@dataclass(frozen=True)
class SpeculateRounds(ModulePass):
    """Lets loops that count rounds begin a second one before the test of the first is known."""

    name = "speculate-rounds"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        speculate_rounds(op)


def speculate_rounds(module: Operation, *, disabled: Collection[str] = ()) -> None:
    """Changes the loops of every function of `module` that gain; passes that are `disabled` do not clean up then."""
    for function in optimised_functions(module):
        loops = loops_of(function, (scf.WhileOp,))
        changed = [_double(loop) for loop in loops if isinstance(loop, scf.WhileOp)]
        if any(changed):  # a test and the round behind it often compute the same
            ForwardWalk(fold="canonicalize" not in disabled, number="cse" not in disabled).run(function)
            if "dce" not in disabled:
                eliminate_dead_code(function)


def _double(loop: scf.WhileOp) -> bool:
    """Puts a loop with two rounds in one in the place of a loop that gains; returns whether it does."""
    steps = _steps_of(loop)
    if steps is None:
        return False
    before = Before(loop)
    starts = (*loop.operands, before.constant(1, i1))
    passed = [*(result.type for result in loop.results), i1]
    made = create(
        scf.WhileOp,
        starts,
        passed,
        attributes=loop.attributes,
        regions=(Region(_guarded_test(loop)), Region(_two_rounds(loop, passed, steps))),
        location=loop.location,
    )
    before.put(made)
    results, goes_on = list[SSAValue](made.results[:-1]), made.results[-1]
    for place, step in steps.items():
        if loop.results[place].uses:
            less = before.add(arith.SubiOp, results[place], before.constant(step, results[place].type))
            results[place] = before.add(arith.SelectOp, goes_on, results[place], less, type_=less.type)
    replace(loop, results)
    return True


# Which loops


def _steps_of(loop: scf.WhileOp) -> dict[int, int] | None:
    """Returns what each round adds to those results of a loop that are counts; None where the loop stays as it is."""
    test, body = loop.before_region.block, loop.after_region.block
    condition = test.last_op
    assert isinstance(condition, scf.ConditionOp)
    size = len(block_operations(test)) + len(block_operations(body)) - 2
    if size > MAXIMUM_OPERATIONS or not (_is_quick(test) and _is_quick(body)):
        return None
    if not _waits(loop, condition.operands[0]):
        return None
    steps: dict[int, int] = {}
    for place, value in enumerate(condition.operands[1:]):
        step = _step(loop, value)
        if step is not None:
            steps[place] = step
        elif loop.results[place].uses and is_inside(value, loop):
            return None
    return steps


def _is_quick(block: Block) -> bool:
    """Whether the operations of a block may run unasked, and soon have."""
    return all(
        not op.regions
        and is_speculatable(op)
        and (op.name in _QUICK or (op.name.startswith("arith.") and not op.name.startswith(_SLOW)))
        for op in block_operations(block)[:-1]
    )


def _waits(loop: scf.WhileOp, condition: SSAValue) -> bool:
    """Whether a test waits for what a round computes: for a float, or for two operations at least on integers."""
    owner = condition.owner
    if isinstance(owner, _LOGIC):
        return any(_waits(loop, operand) for operand in owner.operands)
    if not isinstance(owner, arith.CmpfOp | arith.CmpiOp):
        return False
    if all(not is_inside(value, loop) or _step(loop, value) is not None for value in owner.operands):
        return False
    body = loop.after_region.block
    counts = sum(_step(loop, value) is not None for value in loop.before_region.block.args)
    return isinstance(owner, arith.CmpfOp) or len(block_operations(body)) - 1 - counts >= FEWEST_OPERATIONS


def _step(loop: scf.WhileOp, value: SSAValue) -> int | None:
    """Returns what a round adds to an integer that a test passes on, None where it does something else."""
    if not isinstance(value, BlockArgument) or value.owner is not loop.before_region.block:
        return None
    kind, number = step_of(loop, value.index) or (None, 0)
    if abs(number) > LARGEST_STEP:
        return None
    if kind is arith.SubiOp:
        return -number
    return number if kind is arith.AddiOp else None


# Two rounds


def _guarded_test(loop: scf.WhileOp) -> Block:
    """Returns the test of the new loop: that of the old one, where the first of two rounds was followed by another."""
    block = Block(arg_types=[*(value.type for value in loop.operands), i1])
    *state, goes_on = block.args
    passes, *passed = copy_block(loop.before_region.block, state, block)
    both = create(arith.AndIOp, (goes_on, passes), (i1,), location=loop.location)
    block.add_op(both)
    block.add_op(create(scf.ConditionOp, (both.results[0], *passed, goes_on), location=loop.location))
    return block


def _two_rounds(loop: scf.WhileOp, passed: Sequence[Attribute], steps: dict[int, int]) -> Block:
    block = Block(arg_types=passed)
    first = block.args[:-1]
    once = copy_block(loop.after_region.block, first, block)
    goes_on, *second = copy_block(loop.before_region.block, once, block)
    carried = copy_block(loop.after_region.block, second, block)
    end = create(scf.YieldOp, (*carried, goes_on), location=loop.location)
    block.add_op(end)
    test, before_end = loop.before_region.block.last_op, Before(end)
    assert test is not None
    for place, step in steps.items():
        count = test.operands[1 + place]
        assert isinstance(count, BlockArgument)
        twice = before_end.constant(2 * step, count.type)
        end.operands[count.index] = before_end.add(arith.AddiOp, first[place], twice)
    return block
