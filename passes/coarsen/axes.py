"""Along which axes each value differs between the work-items of an invocation.

A value is *uniform* where it is computed from nothing that depends on `gpu.global_id` along a coarsened dimension, but
by operations whose results neighbours share (`item_indices`).
What comes from memory counts as uniform where its index is: work-items that read what others write without
synchronisation have no defined result anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func, gpu, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from ...ir.dialects.kernel import SETTLES, GlobalRangeOp
from ...ir.dialects.kernel_fields import LoadFieldOp, StoreFieldOp
from ...ir.dialects.kernel_reports import ROUND_OPS
from ..optimise.effects import is_pure_class
from .item_indices import shares_quotient
from .lanes import Lanes, X, Y
from .pure_calls import PureCalls

_DIMENSION_AXES = {gpu.DimensionEnum.X: X, gpu.DimensionEnum.Y: Y, gpu.DimensionEnum.Z: 0}
_VULKAN_NUMBERS = {gpu.DimensionEnum.X: 0, gpu.DimensionEnum.Y: 1, gpu.DimensionEnum.Z: 2}
_MEMORY = (memref.LoadOp, memref.StoreOp, memref.DimOp, LoadFieldOp, StoreFieldOp)
_OTHER_IDS = (
    gpu.ThreadIdOp,
    gpu.BlockIdOp,
    gpu.BlockDimOp,
    gpu.GridDimOp,
    gpu.LaneIdOp,
    gpu.SubgroupIdOp,
    gpu.NumSubgroupsOp,
    gpu.SubgroupSizeOp,
)


class NotCoarsenableError(Exception):
    """The kernel does something that several work-items of one invocation cannot do together."""


class Axes:
    """The axes of every value of one kernel.

    Args:
        body: of the kernel; one block.
        rank: dimensions of its range.
        lanes: the work-items of an invocation.
        pure: functions that only compute.

    Raises:
        NotCoarsenableError: an operation that sees work-groups, a loop whose trips differ between work-items.
    """

    def __init__(self, body: Block, rank: int, lanes: Lanes, pure: PureCalls) -> None:
        self._rank = rank
        self._pure = pure
        self._coarsened = lanes.axes
        self._most_lanes = max(len(lanes.xs), len(lanes.ys))
        self._axes: dict[SSAValue, int] = {}
        self._changed = True
        while self._changed:  # values only ever gain axes
            self._changed = False
            self._block(body)
        self._check(body)

    def of(self, value: SSAValue) -> int:
        """Returns the axes of a value; 0 for a uniform one."""
        return self._axes.get(value, 0)

    def of_all(self, values: Sequence[SSAValue]) -> int:
        """Returns the axes of any of several values."""
        found = 0
        for value in values:
            found |= self._axes.get(value, 0)
        return found

    def is_shared(self, op: Operation) -> bool:
        """Whether an operation on the index of a work-item gives the same for all of an invocation."""
        return shares_quotient(op, self._most_lanes) or self._is_range_test(op)

    def _is_range_test(self, op: Operation) -> bool:
        """Whether `op` asks if a work-item lies in the range: the same for all of an invocation, as the range is
        a multiple of its lanes."""
        if not isinstance(op, arith.CmpiOp) or op.predicate.value.data != 2:  # slt
            return False
        index, extent = op.lhs.owner, op.rhs.owner
        return (
            isinstance(index, gpu.GlobalIdOp)
            and isinstance(extent, GlobalRangeOp)
            and extent.dimension.value.data == self._rank - 1 - _VULKAN_NUMBERS[index.dimension.data]
        )

    def _mark(self, values: Sequence[SSAValue], axes: int) -> None:
        if not axes:
            return
        for value in values:
            old = self._axes.get(value, 0)
            if old | axes != old:
                self._axes[value] = old | axes
                self._changed = True

    def _mark_each(self, values: Sequence[SSAValue], sources: Sequence[SSAValue], axes: int = 0) -> None:
        for value, source in zip(values, sources, strict=True):
            self._mark((value,), axes | self.of(source))

    def _block(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, scf.IfOp):
                self._if(op)
            elif isinstance(op, scf.ForOp):
                self._for(op)
            elif isinstance(op, scf.WhileOp):
                self._while(op)
            elif isinstance(op, gpu.GlobalIdOp):
                self._mark(op.results, _DIMENSION_AXES[op.dimension.data] & self._coarsened)
            elif not self.is_shared(op):
                self._mark(op.results, self.of_all(op.operands))

    def _if(self, op: scf.IfOp) -> None:
        for region in op.regions:
            for block in region.blocks:
                self._block(block)
                if op.results and block.last_op is not None:
                    self._mark_each(op.results, block.last_op.operands, self.of(op.operands[0]))

    def _for(self, op: scf.ForOp) -> None:
        body = op.body.block
        carried, end = body.args[1:], body.last_op
        self._mark_each(carried, op.operands[3:])
        self._block(body)
        if end is not None:
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

    def _check(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, scf.ForOp) and self.of_all(op.operands[:3]):
                raise NotCoarsenableError("a loop whose trips differ between work-items")
            if isinstance(op, scf.WhileOp):
                condition = op.before_region.block.last_op
                is_shared = (
                    SETTLES in op.attributes or condition is None or not self.of(condition.operands[0])
                )
                if not is_shared:
                    raise NotCoarsenableError("a loop whose end differs between work-items")
            if op.regions:
                if not isinstance(op, scf.IfOp | scf.ForOp | scf.WhileOp):
                    raise NotCoarsenableError(f"'{op.name}'")
                for region in op.regions:
                    for inner in region.blocks:
                        self._check(inner)
            elif op is not block.last_op and not self._is_known(op):
                raise NotCoarsenableError(f"'{op.name}'")

    def _is_known(self, op: Operation) -> bool:
        if isinstance(op, _OTHER_IDS):
            return False
        if isinstance(op, ROUND_OPS):  # work-items of one invocation run their loops together
            return True
        if isinstance(op, func.CallOp):
            return op.callee.root_reference.data in self._pure
        return isinstance(op, _MEMORY) or is_pure_class(type(op))


_ID_ARITHMETIC = (
    arith.CmpiOp,
    arith.AndIOp,
    arith.OrIOp,
    arith.XOrIOp,
    arith.AddiOp,
    arith.SubiOp,
    arith.IndexCastOp,
    arith.ConstantOp,
    memref.DimOp,
    gpu.GlobalIdOp,
    GlobalRangeOp,
)


def is_border_test(condition: SSAValue) -> bool:
    """Whether a condition compares ids with sizes: neighbours disagree about it at borders only.

    Conditions on data, or on the remainder of an id, divide neighbours anywhere.
    """
    pending, seen = [condition], set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        if isinstance(owner, Block):
            if isinstance(owner.parent_op(), scf.ForOp | scf.WhileOp):
                return False
        elif isinstance(owner, _ID_ARITHMETIC):
            pending += owner.operands
        else:
            return False
    return True
