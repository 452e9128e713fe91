"""Which functions a kernel may call once for each work-item of an invocation: those that only compute.

A call of such a function is to coarsening what an addition is.  Drivers put the body in the place of every call, so
how large it is, with all that it calls itself, limits how many work-items an invocation does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects import func, scf
from xdsl.ir import Operation

from ...ir.call_graph import Function, SymbolTables, has_body
from ...ir.dialects import aspect
from ...ir.dialects.kernel_reports import ROUND_OPS
from ...ir.walk import operations
from ..loop_bounds import Bounds
from ..optimise.effects import WORK_ITEM_IDS, is_pure_class

_CONTROL = (scf.IfOp, scf.ForOp, scf.WhileOp, scf.YieldOp, scf.ConditionOp, func.ReturnOp, *ROUND_OPS)
_PRIVATE = frozenset(("spirv.Variable", "spirv.AccessChain", "spirv.Load", "spirv.Store"))
"""What a function keeps in memory of its own."""


@dataclass(frozen=True, slots=True)
class PureCall:
    """What a call of a function comes to, with all that it calls itself."""

    operations: int
    rounds: int | None
    """The most that its loops run; None where that is not known."""


PureCalls = Mapping[str, PureCall]
"""By the function's symbol."""


def pure_calls(kernel: Function) -> PureCalls:
    """Returns the functions that a kernel calls and that only compute, with what each comes to."""
    found: dict[str, PureCall] = {}
    tables = SymbolTables()
    sizes, bounds = _Sizes(tables), Bounds(tables)
    for op in operations(kernel.body):
        if type(op) is func.CallOp and (name := op.callee.root_reference.data) not in found:
            size = sizes.of(op)
            if size is not None:
                found[name] = PureCall(size, bounds.of_op(op))
    return found


def called_operations(kernel: Operation, pure: PureCalls) -> int:
    """Returns how many operations all calls of a kernel come to."""
    calls = (op for op in operations(kernel.regions[0]) if type(op) is func.CallOp)
    names = (op.callee.root_reference.data for op in calls)
    return sum(pure[name].operations for name in names if name in pure)


class _Sizes:
    """How many operations functions come to, each looked at once."""

    def __init__(self, tables: SymbolTables) -> None:
        self._tables = tables
        self._known: dict[Function, int | None] = {}

    def of(self, call: func.CallOp) -> int | None:
        """Returns what a call comes to; None where the function does more than compute, or is not known."""
        callee = self._tables.resolve(call, call.callee)
        if not isinstance(callee, Function) or aspect.is_external(callee) or not has_body(callee):
            return None
        if callee not in self._known:
            self._known[callee] = None  # where it calls itself
            self._known[callee] = self._of_body(callee)
        return self._known[callee]

    def _of_body(self, callee: Function) -> int | None:
        total = 0
        for op in operations(callee.body):
            total += 1
            if type(op) is func.CallOp:
                size = self.of(op)
                if size is None:
                    return None
                total += size
            elif isinstance(op, WORK_ITEM_IDS) or not _only_computes(op):
                return None
        return total


def _only_computes(op: Operation) -> bool:
    return isinstance(op, _CONTROL) or op.name in _PRIVATE or is_pure_class(type(op))
