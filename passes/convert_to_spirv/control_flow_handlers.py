"""Handlers of structured control flow (`scf.if for while`).

No value leaves a `spirv.mlir.selection` or `spirv.mlir.loop`: results go through a variable of the function.
Carried values are block arguments of the loop header.  A loop stores what it would leave with before each
test: a block of its own on the way out would make the test a selection, which has no merge block there.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase, i1, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ...ir.create import append, create, empty_block, region_of
from ...ir.dialects import spirv
from ...ir.dialects.spirv.attributes import LoopControlAttr, SelectionControlAttr
from ...ir.dialects.spirv.enums import LoopControl, SelectionControl
from ...ir.walk import enclosing, operands_of
from ..errors import PassError
from . import signed_zeros
from .carried_truths import carriable, used
from .function_lowering import FunctionLowering, Handler
from .known_zeros import hidden
from .loop_ends import end_of
from .loop_starts import starts_of
from .report_buffer import add_selection
from .report_handlers import agree_on_rounds, counts_rounds
from .result_variables import add_variable, is_loaded
from .saturations import ones_yielded

_SELECTION = {"selection_control": SelectionControlAttr(SelectionControl.None_)}
_LOOP = {"loop_control": LoopControlAttr(LoopControl.None_)}

_NO_BLOCK_ARGUMENTS = {"operandSegmentSizes": DenseArrayBase.from_list(i32, [1, 0, 0])}


def _branch(fn: FunctionLowering, target: Block, arguments: Sequence[SSAValue] = ()) -> None:
    fn.add(create(spirv.BranchOp, arguments, successors=(target,)))


def _branch_conditional(fn: FunctionLowering, condition: SSAValue, if_true: Block, if_false: Block) -> None:
    fn.add(
        create(
            spirv.BranchConditionalOp,
            (condition,),
            properties=_NO_BLOCK_ARGUMENTS,
            successors=(if_true, if_false),
        )
    )


Variables = Sequence[SSAValue | None]
"""A variable for each result of an operation, None where nothing uses the result."""


def _variables(fn: FunctionLowering, op: Operation) -> Variables:
    return [add_variable(fn, result) if result.first_use is not None else None for result in op.results]


def _store_all(fn: FunctionLowering, variables: Variables, values: Sequence[SSAValue]) -> None:
    for variable, value in zip(variables, values, strict=True):
        if variable is not None and not _is_load_of(value, variable):
            fn.store(variable, value)


def _is_load_of(value: SSAValue, variable: SSAValue) -> bool:
    """Whether a value is in its variable already; nothing is left of its load then."""
    load = value.owner
    # Loads of kernel arguments get their pointers at the end.
    if not isinstance(load, spirv.LoadOp) or not any(pointer is variable for pointer in load.operands):
        return False
    if value.first_use is None:
        load.detach()
        load.erase()
    return True


def _load_results(fn: FunctionLowering, op: Operation, variables: Variables) -> None:
    for result, variable in zip(op.results, variables, strict=True):
        if variable is not None and is_loaded(fn, result):
            fn.values[result] = fn.load(variable, fn.type(result.type))


def _yielded(fn: FunctionLowering, block: Block, target: Block) -> list[SSAValue]:
    """Lowers `block` into `target`, which becomes the current block, and returns what it yields."""
    fn.block = target
    terminator = fn.lower_block(block)
    if terminator is None:
        return []
    fn.location = terminator.location
    return [fn.value(value) for value in operands_of(terminator)]


def _merge_block(fn: FunctionLowering) -> Block:
    block = empty_block()
    append(block, create(spirv.MergeOp, location=fn.location))
    return block


MAXIMUM_SELECTION_DEPTH = 64
"""Branches inside each other.  Mesa's llvmpipe runs both sides of those deeper than 80 (LP_MAX_TGSI_NESTING), and
SPIR-V's own limit of 1023 counts loops and functions as well."""


def _check_depth(op: Operation) -> None:
    depth = sum([type(around) is scf.IfOp for around in enclosing(op)])
    if depth == MAXIMUM_SELECTION_DEPTH:
        raise PassError(
            f"branches are nested more than {MAXIMUM_SELECTION_DEPTH} deep, which drivers compute wrongly; "
            "each elif and each early return nests what follows: split a long chain by a test of half of its "
            "cases, or look the result up in an array",
            op,
            code="LP2110",
        )


def _if(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, scf.IfOp)
    _check_depth(op)
    counted = fn.module.counted_rounds
    if counted is not None and counted.are_in_both_arms(op):
        _if_and_if_not(fn, op)
        return
    outer, location = fn.block, op.location
    condition = fn.value(op.operands[0])
    variables = _variables(fn, op)
    header, merge, blocks = empty_block(), _merge_block(fn), list[Block]()
    hidden_results = zip(signed_zeros.yields(fn, op), ones_yielded(fn, op), strict=True)
    for region, (lost, saturated) in zip(op.regions, hidden_results, strict=True):
        block = region.first_block
        if block is None:
            blocks.append(merge)
            continue
        target = empty_block()
        blocks.append(target)
        values = _yielded(fn, block, target)
        _store_all(
            fn, variables, [hidden(fn, v) if i in lost | saturated else v for i, v in enumerate(values)]
        )
        _branch(fn, merge)
    fn.location, fn.block = location, header
    _branch_conditional(fn, condition, blocks[0], blocks[1])
    fn.block = outer
    arms = [block for block in blocks if block is not merge]
    fn.add(create(spirv.SelectionOp, properties=_SELECTION, regions=[region_of(header, *arms, merge)]))
    _load_results(fn, op, variables)


def _if_and_if_not(fn: FunctionLowering, op: scf.IfOp) -> None:
    """Lowers both arms as selections one after the other.

    The device runs them one after the other anyway.  Between them the work-items agree on the rounds of loops, of
    which those of the second arm could not know otherwise.
    """
    location = op.location
    condition = fn.value(op.operands[0])
    variables = _variables(fn, op)

    def arm(region: Region) -> None:
        _store_all(fn, variables, _yielded(fn, region.block, fn.block))
        fn.location = location

    add_selection(fn, condition, lambda: arm(op.true_region))
    agree_on_rounds(fn, op)
    is_other = fn.emit(spirv.LogicalNotOp, (condition,), condition.type)
    add_selection(fn, is_other, lambda: arm(op.false_region))
    _load_results(fn, op, variables)


def _for(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, scf.ForOp)
    outer, location = fn.block, op.location
    low, high, step = fn.value(op.lb), end_of(fn, op), fn.value(op.step)
    starts = starts_of(fn, op.iter_args)
    initial = carriable(fn, starts)
    variables = _variables(fn, op)
    # The way back is a block of its own: llvmpipe takes longer for a body that is the continue target itself.
    entry, body, next_ = empty_block(), empty_block(), empty_block()
    header = Block(arg_types=[low.type, *(value.type for value in initial)])
    merge = _merge_block(fn)

    fn.block = entry
    _branch(fn, header, (low, *initial))
    index, *arguments = header.args
    fn.block = header
    carried = used(fn, arguments, [start.type for start in starts])
    _store_all(fn, variables, carried)
    is_inside = fn.emit(spirv.SLessThanOp, (index, high), fn.module.types.bool_like(low.type))
    _branch_conditional(fn, is_inside, body, merge)

    source = op.body.block
    fn.values.update(zip(source.args, (index, *carried), strict=True))
    fn.loop_depth += 1
    yielded = carriable(fn, _yielded(fn, source, body))
    fn.loop_depth -= 1
    _branch(fn, next_)
    fn.location, fn.block = location, next_
    following = fn.emit(spirv.IAddOp, (index, step), low.type)
    _branch(fn, header, (following, *yielded))

    fn.block = outer
    fn.add(create(spirv.LoopOp, properties=_LOOP, regions=[region_of(entry, header, body, next_, merge)]))
    _load_results(fn, op, variables)


def _while(fn: FunctionLowering, op: Operation) -> None:
    assert isinstance(op, scf.WhileOp)
    outer, location = fn.block, op.location
    starts = starts_of(fn, op.arguments)
    initial = carriable(fn, starts)
    variables = _variables(fn, op)
    entry, test, body, next_ = empty_block(), empty_block(), empty_block(), empty_block()
    header = Block(arg_types=[value.type for value in initial])
    merge = _merge_block(fn)

    fn.block = entry
    _branch(fn, header, initial)
    fn.block = header
    carried = used(fn, header.args, [start.type for start in starts])
    source = op.before_region.block
    fn.values.update(zip(source.args, carried, strict=True))
    fn.loop_depth += 1
    checks = _checks(fn)
    condition, *passed = _yielded(fn, source, test)
    _store_all(fn, variables, passed)

    source = op.after_region.block
    fn.values.update(zip(source.args, passed, strict=True))
    yielded = carriable(fn, _yielded(fn, source, body))
    fn.loop_depth -= 1
    _branch(fn, next_)
    fn.location, fn.block = location, next_
    _branch(fn, header, yielded)

    fn.block = test
    if counts_rounds(fn):
        from .unknown_ends import with_end  # seldom needed

        condition = with_end(fn, op, condition)
    if _checks(fn) != checks and not any(_waits(block) for block in (test, body)):
        condition = _while_well(fn, condition)
    _branch_conditional(fn, condition, body, merge)
    # A loop header ends with its merge instruction (SPIR-V 1.6 §2.11): a test with control flow stands behind it.
    is_simple = not any(inner.regions for inner in test.ops)
    if is_simple:
        for inner in tuple(test.ops):
            inner.detach()
            header.add_op(inner)
    else:
        fn.block = header
        _branch(fn, test)

    fn.block = outer
    blocks = [entry, header, *(() if is_simple else (test,)), body, next_, merge]
    fn.add(create(spirv.LoopOp, properties=_LOOP, regions=[region_of(*blocks)]))
    _load_results(fn, op, variables)


def _checks(fn: FunctionLowering) -> int:
    """Returns how many checks the kernel has so far; functions of their own have none."""
    return 0 if fn.entry is None else fn.entry.report.checks


def _waits(block: Block) -> bool:
    """Whether work-items wait for each other in a block that was lowered."""
    return any(isinstance(inner, spirv.ControlBarrierOp) for op in block.ops for inner in op.walk())


def _while_well(fn: FunctionLowering, condition: SSAValue) -> SSAValue:
    """Returns a test that ends a loop after a failed check, too: what the check forbids may have no end."""
    assert fn.entry is not None
    return fn.emit(spirv.LogicalAndOp, (condition, fn.entry.report.is_well()), i1)


HANDLERS: dict[type[Operation], Handler] = {
    scf.IfOp: _if,
    scf.ForOp: _for,
    scf.WhileOp: _while,
}
"""Handlers of the scf dialect."""
