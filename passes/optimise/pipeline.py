"""The optimisation that the compiler runs: all passes of this folder, fused to few walks."""

from __future__ import annotations

from xdsl.ir import Operation

from ...ir.attribute_values import integer
from ...ir.dialects.kernel import OPT_LEVEL
from .dce import eliminate_dead_code
from .effects import functions_of
from .forward_walk import ForwardWalk
from .hoist_invariants import hoist_invariants
from .narrow_barriers import narrow_barriers
from .promote_arrays import promote_arrays


def optimise(module: Operation, level: int) -> None:
    """Optimises every function of `module` in place; level 0 changes nothing, 2 repeats what 1 does once.

    A function with the attribute `kernel.opt_level` has its own level.
    """
    for function in functions_of(module):
        if _level_of(function, level):
            promote_arrays(function)
        for _ in range(min(_level_of(function, level), 2)):
            ForwardWalk(fold=True, number=True).run(function)
            hoist_invariants(function)
            eliminate_dead_code(function)
            narrow_barriers(function)


def _level_of(function: Operation, default: int) -> int:
    own = integer(function.attributes.get(OPT_LEVEL))
    return default if own is None else own
