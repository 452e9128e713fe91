"""Removes agreements on the rounds of loops from which nobody learns anything.

input:    scf.for %i = %a to %b step %s { … }          output:   the same, without the agreement:
          "kernel.count_rounds"(%trips)                          if a, b and s are arguments, all of a sub-group
          "kernel.check_rounds"() <{limit = 65535 : i32}>        have the same count; if no loop is checked behind
          "kernel.agree_on_rounds"()                             it, nobody asks for the count

llvmpipe agrees lane by lane, which takes about as long as four loads of every work-item.

Two kinds go: those behind which no loop is checked, with what is counted there, and those behind loops that all
work-items of a sub-group leave in the same round.  Such a loop ends by values that are uniform: computed from
arguments, sizes, places of groups, and elements of arrays that the kernel only reads at places that are uniform.

Invariant: work-items of a sub-group that run an operation together have equal counts where it counts or checks, but
between the end of a loop or branch and the agreement behind it, where the highest count is that of the driver.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, gpu, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from ..ir.call_graph import Function, SymbolTables
from ..ir.dialects.kernel_reports import AgreeOnRoundsOp, CheckRoundsOp, CountRoundsOp
from ..ir.walk import block_operations, instances, operations, region_blocks
from .loop_bounds import Bounds, callee_of
from .optimise.effects import array_of, is_pure_class, read_only_arrays


def remove_agreements(kernel: Function, bounds: Bounds, symbols: SymbolTables) -> None:
    """Removes the agreements of a kernel, whose rounds are counted, that change nothing."""
    live = _Live(bounds, symbols)
    for block in kernel.body.blocks:
        live.block(block, is_asked=False)
    remaining = instances(kernel.body, AgreeOnRoundsOp)
    if not remaining:
        return
    uniform = _Uniform(kernel)
    for op in remaining:
        loop = _loop_before(op)
        if loop is not None and uniform.ends_together(loop):
            _erase(op)


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()


def _loop_before(agreement: Operation) -> Operation | None:
    """Returns the loop that work-items meet behind at an agreement; None where it is something else."""
    op = agreement.prev_op
    while op is not None and (isinstance(op, CountRoundsOp | CheckRoundsOp) or is_pure_class(type(op))):
        op = op.prev_op
    return op if isinstance(op, scf.ForOp | scf.WhileOp) else None


class _Live:
    """Where the count is still asked for, followed from the end of a kernel to its start."""

    def __init__(self, bounds: Bounds, symbols: SymbolTables) -> None:
        self._bounds = bounds
        self._symbols = symbols

    def block(self, block: Block, *, is_asked: bool) -> bool:
        """Removes what nobody asks for in a block; returns whether the count is asked for where it begins.

        Args:
            is_asked: whether that is so where it ends.
        """
        for op in reversed(block_operations(block)):
            kind = type(op)  # isinstance of xDSL's abstract classes is a call in Python
            if kind is AgreeOnRoundsOp or kind is CountRoundsOp:
                if not is_asked:
                    _erase(op)
            elif op.regions:
                is_asked = self._regions(op, is_asked=is_asked)
            else:
                is_asked = is_asked or self._asks(op)
        return is_asked

    def _regions(self, op: Operation, *, is_asked: bool) -> bool:
        blocks = [block for region in op.regions for block in region_blocks(region)]
        if type(op) is scf.IfOp:  # the arms run one after the other, for the count
            for block in reversed(blocks):
                is_asked = self.block(block, is_asked=is_asked)
            return is_asked
        is_asked = is_asked or any(map(self._asks, operations(op)))
        for block in blocks:
            self.block(block, is_asked=is_asked)
        return is_asked

    def _asks(self, op: Operation) -> bool:
        if type(op) is func.CallOp:
            callee = callee_of(op, self._symbols)
            return callee is None or self._bounds.of_function(callee) != 0
        return type(op) is CheckRoundsOp


_SAME_FOR_A_SUB_GROUP = (
    gpu.BlockIdOp,
    gpu.BlockDimOp,
    gpu.GridDimOp,
    gpu.SubgroupIdOp,
    gpu.NumSubgroupsOp,
    gpu.SubgroupSizeOp,
)
_DIFFERENT = (gpu.GlobalIdOp, gpu.ThreadIdOp, gpu.LaneIdOp)


class _Uniform:
    """Which values of a kernel all work-items of a sub-group have alike that are there when they are computed."""

    def __init__(self, kernel: Function) -> None:
        self._read_only = read_only_arrays(kernel)
        self._varying: set[SSAValue] = set()
        self._has_changed = True
        while self._has_changed:  # values only ever become varying
            self._has_changed = False
            for block in kernel.body.blocks:
                self._block(block)

    def ends_together(self, loop: Operation) -> bool:
        """Whether all that enter a loop together leave it in the same round."""
        if isinstance(loop, scf.ForOp):
            return self._are_uniform(loop.operands[:3])
        condition = loop.regions[0].block.last_op
        return condition is not None and self._are_uniform(condition.operands[:1])

    def _are_uniform(self, values: Sequence[SSAValue]) -> bool:
        return self._varying.isdisjoint(values)

    def _mark(self, values: Sequence[SSAValue]) -> None:
        if not self._varying.issuperset(values):
            self._varying.update(values)
            self._has_changed = True

    def _mark_each(self, values: Sequence[SSAValue], sources: Sequence[SSAValue]) -> None:
        for value, source in zip(values, sources, strict=True):
            if source in self._varying:
                self._mark((value,))

    def _block(self, block: Block) -> None:
        for op in block_operations(block):
            if type(op) is scf.IfOp:
                self._if(op)
            elif type(op) is scf.ForOp:
                self._for(op)
            elif type(op) is scf.WhileOp:
                self._while(op)
            elif op.results and not self._is_uniform(op):
                self._mark(op.results)

    def _is_uniform(self, op: Operation) -> bool:
        kind = type(op)
        if kind in _SAME_FOR_A_SUB_GROUP:
            return True
        if kind in _DIFFERENT or op.regions:
            return False
        if kind is memref.LoadOp:
            is_known = array_of(op.operands[0]) in self._read_only
        else:
            is_known = is_pure_class(kind)
        return is_known and self._are_uniform(op.operands)

    def _if(self, op: scf.IfOp) -> None:
        for region in op.regions:
            for block in region_blocks(region):
                self._block(block)
                if op.results and block.last_op is not None:
                    self._mark_each(op.results, block.last_op.operands)
        if not self._are_uniform(op.operands):
            self._mark(op.results)

    def _for(self, op: scf.ForOp) -> None:
        index, *carried = op.body.block.args
        first, last, step = op.operands[:3]
        end = op.body.block.last_op
        assert end is not None
        if not self._are_uniform((first, step)):
            self._mark((index,))
        if not self._are_uniform((first, last, step)):
            self._mark(op.results)
        self._mark_each(carried, op.operands[3:])
        self._block(op.body.block)
        self._mark_each(carried, end.operands)
        self._mark_each(op.results, carried)

    def _while(self, op: scf.WhileOp) -> None:
        test, body = op.before_region.block, op.after_region.block
        condition, end = test.last_op, body.last_op
        assert condition is not None and end is not None
        self._mark_each(test.args, op.operands)
        self._block(test)
        self._mark_each(body.args, condition.operands[1:])
        self._block(body)
        self._mark_each(test.args, end.operands)
        self._mark_each(op.results, condition.operands[1:])
        if condition.operands[0] in self._varying:
            self._mark(op.results)
