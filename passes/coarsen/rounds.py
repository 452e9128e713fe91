"""Keeps coarsening from running more rounds of loops than the driver has.

A driver with a cap (`passes.limit_loops`) counts the loops of an invocation.  Loops of a kernel run once for all
work-items of one, but those in functions that it calls, and in branches that neighbours disagree about, run once for
each.  A kernel that stays below the cap by itself, and is not counted for that, need not do so then.

Where rounds are counted, a function with loops would let a launch trap that is right when it is not coarsened.  A loop
that is there several times is counted where it runs, but costs the driver a round wherever it is passed by, too: the
count is too low then, and the driver ends the loops without a word.
"""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...ir.call_graph import Function, SymbolTables
from ...ir.dialects.kernel_reports import ROUND_OPS
from ...ir.walk import operations
from ..loop_bounds import Bounds
from .pure_calls import PureCalls

_LOOPS = (scf.ForOp, scf.WhileOp)


def may_run(made: Function, plain: Function, pure: PureCalls, cap: int) -> bool:
    """Whether the driver runs a coarsened kernel as long as the plain one: its rounds are below the cap for certain,
    or they are counted, it has no loop more than the plain one, and no function that it calls has loops."""
    rounds: dict[Operation, int | None] = {
        op: pure[op.callee.root_reference.data].rounds
        for op in operations(made.body)
        if type(op) is func.CallOp
    }
    is_counted = any(isinstance(op, ROUND_OPS) for op in operations(made.body))
    if is_counted and _loops(made) <= _loops(plain) and not any(found != 0 for found in rounds.values()):
        return True
    if any(found is None for found in rounds.values()):
        return False
    known = {op: found for op, found in rounds.items() if found is not None}
    ModuleOp([made])  # bounds look there for how wide ids are
    most = Bounds(SymbolTables(), known).of_function(made)
    made.detach()
    return most is not None and most < cap


def _loops(function: Function) -> int:
    return sum(isinstance(op, _LOOPS) for op in operations(function.body))
