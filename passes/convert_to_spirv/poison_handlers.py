"""Handler of values that nothing may depend on (`ub.poison`)."""

from __future__ import annotations

from xdsl.dialects import ub
from xdsl.ir import Operation

from .function_lowering import FunctionLowering, Handler


def _poison(fn: FunctionLowering, op: Operation) -> None:
    """Lowers it to zero.  Upstream's lift-cf-to-scf puts it where a value is missing."""
    fn.values[op.results[0]] = fn.constant(fn.type(op.results[0].type), 0)


HANDLERS: dict[type[Operation], Handler] = {ub.PoisonOp: _poison}
