"""Keeps the ends of loops from drivers that compute wrongly how many rounds they have: `rounds_hidden`.

    for (int k = 0; k > -2147483648; --k)      →       for (int k = 0; k > -2147483648 + %zero; --k)

Such a driver (`vk_runtime.quirks`, divided-rounds) divides the distance of start and end by the step, where it knows
all three: -2^31 by -1 ends the process.  And it takes a loop that tests behind a round, and whose counter would not
pass the test before, for one of that round alone.  The 0 is computed (`opaque_memory`).

What `passes.convert_to_spirv.loop_ends` does for kernels in Python.  Standard library only.
"""

from __future__ import annotations

from .binary import Module
from .loop_tests import LoopTests
from .module_loops import ModuleLoops
from .rewrite import Rewrite
from .wide_orders import hide_order

_HALF = 1 << 31
_MARGIN = 2
"""A driver may test for the number beside the end."""


def rounds_hidden(module: Module) -> Module:
    """Returns a valid module so changed; itself where it has no such loops."""
    rewrite = Rewrite(module)
    loops = ModuleLoops(rewrite.view)
    for function in rewrite.view.functions:
        for loop in loops.of_function(function):
            if not loop.inside:
                continue  # one of too many
            tests = LoopTests(rewrite.view, function, loop)
            for block in tests.ways_out():
                known = tests.known_test(block)
                if known is not None and _is_misjudged(*known[1:]):
                    hide_order(rewrite, function, known[0])
    return rewrite.finished()


def _is_misjudged(distance: int, step: int, fails: bool) -> bool:
    return fails or (step == (1 << 32) - 1 and abs(distance - _HALF) <= _MARGIN)
