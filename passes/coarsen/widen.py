"""Writes the body of a coarsened kernel: every operation once for each lane that it differs for.

    %i = gpu.global_id x                       %g = gpu.global_id x     %i = muli %g, 4
    %v = memref.load %x[%i]            =>      %w = kernel.load_wide %x[%i] : vector<4xf32>   …
    memref.store %f(%v), %y[%i]                kernel.store_wide %r, %y[%i]

Invariants: the operations of one work-item stay in their order; loads are brought forward only past what does not
write.  Control flow that is the same for all lanes is written once.  Under a condition that differs, one branch
serves the case that it holds for all of them, and the other goes through the lanes one by one, unless all may take it
(`merged_branches`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence

from xdsl.dialects import arith, gpu, memref, scf
from xdsl.ir import Block, Operation, Region, SSAValue

from ...ir.dialects.kernel_reports import ROUND_OPS
from ..optimise.effects import is_write_class
from .axes import Axes, NotCoarsenableError, is_border_test
from .cost import BORDER_WEIGHT, DATA_WEIGHT, LOOP_WEIGHT, Cost, is_access
from .lane_values import LaneValues
from .lanes import LaneKey, Lanes, X
from .new_body import NewBody
from .wide_memory import WideMemory


class Widening:
    """One kernel's body being written.

    Args:
        axes: of the values of the kernel.
        lanes: all of an invocation's.
        source: the kernel's body.
        block: the new function's entry block, with the kernel's arguments.
        merged: branches that all lanes take where one of them does.
        splits_branches: whether there may be other branches that the lanes disagree about.
        unasked: arrays of which the body may load elements out of range.

    Raises:
        NotCoarsenableError: the body becomes too long, or splits a branch that it may not.
    """

    def __init__(
        self,
        axes: Axes,
        lanes: Lanes,
        source: Block,
        block: Block,
        *,
        merged: Container[Operation] = (),
        splits_branches: bool = True,
        unasked: Collection[SSAValue] = (),
    ) -> None:
        self._axes = axes
        self._merged = merged
        self._splits_branches = splits_branches
        self._values = LaneValues(axes, lanes, source, block)
        self._body = NewBody(block)
        self._cost = Cost()
        self._memory = WideMemory(self._values, self._body, self._cost, source, unasked=unasked)
        self._write_block(source)
        self.cost = self._cost.total
        """Memory accesses of an invocation, weighted by how often each runs."""
        self.aligned_rows = self._memory.aligned_rows
        """Arrays whose last extent must be a multiple of `WIDTH`."""

    # Operations

    def _write_block(self, source: Block) -> None:
        for op in source.ops:
            if op is source.last_op and not op.results and op.name in ("scf.yield", "scf.condition"):
                return
            self._write(op)

    def _write(self, op: Operation) -> None:
        if isinstance(op, scf.IfOp):
            self._if(op)
        elif isinstance(op, scf.ForOp):
            self._for(op)
        elif isinstance(op, scf.WhileOp):
            self._while(op)
        elif isinstance(op, gpu.GlobalIdOp):
            self._global_id(op)
        elif not self._is_joined(op):
            self._other(op)
        if is_write_class(type(op)) or (op.regions and _has_write(op)):
            self._memory.forget()

    def _is_joined(self, op: Operation) -> bool:
        """Writes an access that may be joined with others; returns whether it is one."""
        if isinstance(op, memref.LoadOp):
            return self._memory.load(op)
        return isinstance(op, memref.StoreOp) and self._memory.store(op)

    def _other(self, op: Operation) -> None:
        if self._axes.is_shared(op) or isinstance(op, ROUND_OPS):  # the same for all lanes
            copy = self._clone(op, self._values.lanes.first)
            self._values.note_all(op.results, copy.results)
            return
        for key in self._values.keys((*op.results, *op.operands)):
            copy = self._clone(op, key)
            self._cost.add(is_access(op))
            for result, made in zip(op.results, copy.results, strict=True):
                self._values.note(result, {key: made})

    def _clone(self, op: Operation, key: LaneKey) -> Operation:
        return self._body.add(
            type(op).create(
                operands=self._values.of_each(op.operands, key),
                result_types=[result.type for result in op.results],
                properties=op.properties,
                attributes=op.attributes,
                location=op.location,
            )
        )

    def _global_id(self, op: gpu.GlobalIdOp) -> None:
        (result,) = op.results
        axes, lanes = self._axes.of(result), self._values.all_lanes
        if not axes:
            self._other(op)
            return
        along_x = axes == X
        first = self._body.make_first_item(op, len(lanes.xs if along_x else lanes.ys))
        for key in self._values.keys((result,)):
            lane = key[1] if along_x else key[0]
            self._values.note(result, {key: self._body.plus(first, lane, op)})

    # Control flow

    def _region(self, write: Callable[[], Sequence[SSAValue] | None], block: Block | None = None) -> Region:
        with self._memory.region():
            return self._body.region(write, block)

    def _arm(self, region: Region, results: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Writes the block of a region and returns what it yields, for the copies of `results`."""
        block = region.first_block
        if block is None:
            return ()
        self._write_block(block)
        end = block.last_op
        return () if end is None else self._values.expanded(end.operands, results)

    def _if(self, op: scf.IfOp) -> None:
        values, condition = self._values, op.operands[0]
        keys = values.keys((condition,))
        if len(keys) == 1:
            self._uniform_if(op)
            return
        if op in self._merged:
            self._merged_if(op)
            return
        if not self._splits_branches:
            raise NotCoarsenableError("a branch that work-items disagree about")
        everywhere = values.of(condition, keys[0])
        for key in keys[1:]:
            everywhere = self._body.binary(arith.AndIOp, everywhere, values.of(condition, key), op)
        share = BORDER_WEIGHT if is_border_test(condition) else DATA_WEIGHT
        with self._cost.times(1 - share):
            together = self._region(lambda: self._arm(op.true_region, op.results))
        with self._cost.times(share):
            one_by_one = self._region(lambda: self._lane_by_lane(op))
        self._add_branch(op, everywhere, together, one_by_one)

    def _uniform_if(self, op: scf.IfOp) -> None:
        condition = self._values.of(op.operands[0], self._values.lanes.first)
        then = self._region(lambda: self._arm(op.true_region, op.results))
        has_other = bool(op.false_region.blocks)
        other = self._region(lambda: self._arm(op.false_region, op.results)) if has_other else Region()
        self._add_branch(op, condition, then, other)

    def _merged_if(self, op: scf.IfOp) -> None:
        condition, other = op.operands[0], op.false_region.block.last_op
        assert other is not None
        asked, *others = self._values.of_all_lanes(condition)
        for one in others:
            asked = self._body.binary(arith.OrIOp, asked, one, op)
        together = self._region(lambda: self._chosen(op, other.operands))
        passed_by = self._region(lambda: self._values.expanded(other.operands, op.results))
        self._add_branch(op, asked, together, passed_by)

    def _chosen(self, op: scf.IfOp, others: Sequence[SSAValue]) -> list[SSAValue]:
        """Writes the first arm of a branch and returns what it yields to the lanes that asked for it, and to the rest
        what they have without it, for the copies of the results."""
        self._write_block(op.true_region.block)
        end = op.true_region.block.last_op
        assert end is not None
        values, condition = self._values, op.operands[0]
        chosen: list[SSAValue] = []
        for result, asked, other in zip(op.results, end.operands, others, strict=True):
            for key in values.keys((result,)):
                parts = (values.of(condition, key), values.of(asked, key), values.of(other, key))
                select = arith.SelectOp.create(
                    operands=parts, result_types=(result.type,), location=op.location
                )
                chosen += self._body.add(select).results
        return chosen

    def _add_branch(self, op: scf.IfOp, condition: SSAValue, then: Region, other: Region) -> None:
        made = scf.IfOp.create(
            operands=(condition,),
            result_types=self._values.expanded_types(op.results),
            regions=[then, other],
            location=op.location,
        )
        self._values.note_all(op.results, self._body.add(made).results)

    def _lane_by_lane(self, op: scf.IfOp) -> Sequence[SSAValue]:
        values, condition = self._values, op.operands[0]
        lanes, axes = values.lanes, self._axes.of(condition)
        for key in lanes.keys(axes):
            with values.only(lanes.only(key, axes)):
                self._uniform_if(op)
        return values.expanded(op.results, op.results)

    def _for(self, op: scf.ForOp) -> None:
        source, values = op.body.block, self._values
        carried = source.args[1:]
        initial = values.expanded(op.operands[3:], carried)
        block = Block(arg_types=[source.args[0].type, *[value.type for value in initial]])
        values.note_all(source.args, block.args)
        with self._cost.times(LOOP_WEIGHT):
            region = self._region(lambda: self._arm(op.body, carried), block)
        made = scf.ForOp.create(
            operands=(*values.of_each(op.operands[:3], values.lanes.first), *initial),
            result_types=[value.type for value in initial],
            properties=op.properties,
            attributes=op.attributes,
            regions=[region],
            location=op.location,
        )
        values.note_all(op.results, self._body.add(made).results)

    def _while(self, op: scf.WhileOp) -> None:
        test, body, values = op.before_region.block, op.after_region.block, self._values
        initial = values.expanded(op.operands, test.args)
        before = Block(arg_types=[value.type for value in initial])
        values.note_all(test.args, before.args)
        with self._cost.times(LOOP_WEIGHT):
            first = self._region(lambda: self._condition(test, op), before)
            after = Block(arg_types=values.expanded_types(body.args))
            values.note_all(body.args, after.args)
            second = self._region(lambda: self._arm(op.after_region, test.args), after)
        made = scf.WhileOp.create(
            operands=tuple(initial),
            result_types=values.expanded_types(op.results),
            regions=[first, second],
            attributes=op.attributes,
            location=op.location,
        )
        values.note_all(op.results, self._body.add(made).results)

    def _condition(self, test: Block, op: scf.WhileOp) -> None:
        self._write_block(test)
        end = test.last_op
        assert end is not None
        goes_on, *others = self._values.of_all_lanes(end.operands[0])
        for other in others:  # a loop that settles goes on until all lanes have: see `axes`
            goes_on = self._body.binary(arith.OrIOp, goes_on, other, op)
        passed = self._values.expanded(end.operands[1:], op.after_region.block.args)
        self._body.add(scf.ConditionOp.create(operands=(goes_on, *passed), location=end.location))


def _has_write(op: Operation) -> bool:
    return any(is_write_class(type(inner)) for inner in op.walk())
