"""What level 2 does before it unrolls loops for a driver that ends them (`limit_loops`): calls in loops become what
they run, and nests of loops become single loops."""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.ir import Operation

from ..ir.call_graph import Function
from ..ir.dialects.kernel import LIBRARY
from ..ir.walk import enclosing, instances, operations
from .flatten_nests import flatten, is_nest
from .inline_call import inline_call
from .loop_bounds import EXACT_ROUNDS, Bounds
from .traps.inline import Callees

MAXIMUM_INLINED = 512
"""Operations that calls in the loops of a function become."""
MAXIMUM_NEST = 512
"""Operations of a nest that gains: what is larger is unrolled too little afterwards."""


def inline_in_loops(function: Function) -> None:
    """Replaces calls in loops by what they run, while the function stays small."""
    callees = Callees()
    pending = [op for op in operations(function.body) if _is_called_in_loop(op)]
    left = MAXIMUM_INLINED
    while pending:
        op = pending.pop()
        callee = callees.callee(op)
        if callee is None or callees.group(callee) or LIBRARY in callee.attributes:
            continue
        left -= len(operations(callee.body))
        if left < 0:
            return
        pending += [inner for inner in inline_call(op, callee) if isinstance(inner, func.CallOp)]


def flatten_nests_of(function: Function, bounds: Bounds) -> None:
    """Makes nests of loops single loops, which can be unrolled, unless they are short or large."""
    for op in instances(function.body, scf.ForOp, scf.WhileOp):
        bound = None if op.parent is None else bounds.of_op(op)
        is_short = op.parent is None or (bound is not None and bound < EXACT_ROUNDS)
        if not is_short and len(operations(op)) <= MAXIMUM_NEST and is_nest(op):
            flatten(op)


def _is_called_in_loop(op: Operation) -> bool:
    around = enclosing(op) if isinstance(op, func.CallOp) else []
    return any(isinstance(outer, scf.ForOp | scf.WhileOp) for outer in around)
