"""Branches with loops that an invocation takes where any of its work-items does.

    scf.if %c -> (f32) {                                  %any = arith.ori %c0, %c1 …
      %r = scf.for … { … }            =>                  scf.if %any -> (f32, f32, …) {
      scf.yield %r                                          %r0, %r1, … = scf.for … { … }
    } else {                                                scf.yield (arith.select %c0, %r0, %v0), …
      scf.yield %v }                                      } else { scf.yield %v0, %v1, … }

The other way is a branch for work-items that agree, and one that goes through them one by one, with a copy of the loop
for each of them.

Invariants: what runs unasked computes or loads only, see `speculate`.  All work-items have as many rounds of the loops
as the one that asked for them.
"""

from __future__ import annotations

from xdsl.dialects import func, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from ...ir.dialects.kernel import SETTLES
from ...ir.dialects.kernel_fields import LoadFieldOp
from ...ir.dialects.kernel_reports import ROUND_OPS
from ...ir.walk import block_operations, instances, operations
from ..optimise.effects import is_speculatable
from .axes import Axes
from .pure_calls import PureCalls

_LOADS = (memref.LoadOp, LoadFieldOp)
_LOOPS = (scf.ForOp, scf.WhileOp)


class MergedBranches:
    """Which branches of a kernel become such ones.

    Args:
        body: of the kernel.
        axes: of its values.
        pure: functions that only compute.
    """

    def __init__(self, body: Block, axes: Axes, pure: PureCalls) -> None:
        self._axes = axes
        self._pure = pure
        self._branches = {op for op in instances(body, scf.IfOp) if self._is_one(op)}
        self.unasked: set[SSAValue] = {
            load.operands[0] for op in self._branches for load in instances(op, *_LOADS)
        }
        """The arrays that are loaded unasked."""

    def __contains__(self, op: Operation) -> bool:
        return op in self._branches

    def _is_one(self, op: Operation) -> bool:
        other = op.regions[1].first_block
        if other is None or other.first_op is not other.last_op or not self._axes.of(op.operands[0]):
            return False
        inner = operations(op.regions[0])
        return any(isinstance(i, _LOOPS) for i in inner) and all(map(self._is_harmless, inner))

    def _is_harmless(self, op: Operation) -> bool:
        if isinstance(op, (*_LOADS, *ROUND_OPS, scf.YieldOp, scf.ConditionOp)):
            return True
        if isinstance(op, func.CallOp):
            called = self._pure.get(op.callee.root_reference.data)
            return called is not None and called.rounds == 0
        return self._ends_together(op) if op.regions else is_speculatable(op)

    def _ends_together(self, op: Operation) -> bool:
        """Whether an operation is a loop whose rounds are the same for all work-items."""
        if isinstance(op, scf.ForOp):
            return not self._axes.of_all(op.operands[:3])
        if not isinstance(op, scf.WhileOp) or SETTLES in op.attributes:
            return False
        last = block_operations(op.before_region.block)[-1]
        return not self._axes.of(last.operands[0])
