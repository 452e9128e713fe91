"""Which functions a kernel may call once for each work-item of an invocation: those that only compute.

A call of such a function is to coarsening what an addition is.  Drivers put the body in the place of every call, so
how large it is, with all that it calls itself, limits how many work-items an invocation does.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func, scf
from xdsl.ir import Operation

from ...ir.call_graph import Function, SymbolTables, has_body
from ...ir.dialects import aspect
from ...ir.dialects.kernel_reports import ROUND_OPS
from ...ir.walk import operations
from ..optimise.effects import WORK_ITEM_IDS, is_pure_class

_CONTROL = (scf.IfOp, scf.ForOp, scf.WhileOp, scf.YieldOp, scf.ConditionOp, func.ReturnOp, *ROUND_OPS)
_PRIVATE = frozenset(("spirv.Variable", "spirv.AccessChain", "spirv.Load", "spirv.Store"))
"""What a function keeps in memory of its own."""

PureCalls = Mapping[str, int]
"""By its symbol, how many operations a function comes to."""


def pure_calls(kernel: Function) -> PureCalls:
    """Returns the functions that a kernel calls and that only compute, with the operations that each comes to."""
    found: dict[str, int] = {}
    tables = SymbolTables()
    for op in operations(kernel.body):
        if type(op) is func.CallOp and (name := op.callee.root_reference.data) not in found:
            size = _size(op, tables, ())
            if size is not None:
                found[name] = size
    return found


def called_operations(kernel: Operation, pure: PureCalls) -> int:
    """Returns how many operations all calls of a kernel come to."""
    calls = (op for op in operations(kernel.regions[0]) if type(op) is func.CallOp)
    return sum(pure.get(op.callee.root_reference.data, 0) for op in calls)


def _size(call: func.CallOp, tables: SymbolTables, callers: tuple[Function, ...]) -> int | None:
    """Returns what a call comes to; None where the function does more than compute, or is not known."""
    callee = tables.resolve(call, call.callee)
    if not isinstance(callee, Function) or callee in callers or aspect.is_external(callee):
        return None
    if not has_body(callee):
        return None
    total = 0
    for op in operations(callee.body):
        total += 1
        if type(op) is func.CallOp:
            size = _size(op, tables, (*callers, callee))
            if size is None:
                return None
            total += size
        elif isinstance(op, WORK_ITEM_IDS) or not _only_computes(op):
            return None
    return total


def _only_computes(op: Operation) -> bool:
    return isinstance(op, _CONTROL) or op.name in _PRIVATE or is_pure_class(type(op))
