"""The optimisation that the compiler runs: all passes of this folder, fused to few walks."""

from __future__ import annotations

from xdsl.ir import Operation

from .dce import eliminate_dead_code
from .effects import functions_of
from .forward_walk import ForwardWalk
from .hoist_invariants import hoist_invariants


def optimise(module: Operation, level: int) -> None:
    """Optimises every function of `module` in place; level 0 changes nothing, 2 repeats what 1 does once."""
    if level <= 0:
        return
    for function in functions_of(module):
        for _ in range(min(level, 2)):
            ForwardWalk(fold=True, number=True).run(function)
            hoist_invariants(function)
            eliminate_dead_code(function)
