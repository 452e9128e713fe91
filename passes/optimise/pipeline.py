"""The optimisation that the compiler runs: all passes of this folder, fused to few walks."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import Operation

from ...ir.attribute_values import integer
from ...ir.dialects.kernel import OPT_LEVEL
from .dce import eliminate_dead_code
from .effects import functions_of
from .forward_walk import ForwardWalk
from .hoist_invariants import hoist_invariants
from .join_loads import join_loads
from .lift_breaks import lift_breaks
from .linearise_indices import has_wide_ids, linearise_indices
from .narrow_barriers import narrow_barriers
from .promote_arrays import promote_arrays
from .reduce_strength import reduce_strength


def optimise(
    module: Operation,
    level: int,
    *,
    disabled: Collection[str] = (),
    keeps_dimensions: bool = False,
    joins_loads: bool = False,
) -> None:
    """Optimises every function of `module` in place; level 0 changes nothing, 2 repeats what 1 does once.

    A function with the attribute `kernel.opt_level` has its own level.

    Args:
        module: changed in place.
        level: of functions that have none of their own.
        disabled: names of passes that do not run.
        keeps_dimensions: whether arrays keep their dimensions, which coarsening needs; `optimise_positions` follows.
        joins_loads: whether buffers can be seen as arrays of vectors.
    """
    positions = not (keeps_dimensions or has_wide_ids(module))
    for function in functions_of(module):
        level_here = min(_level_of(function, level), 2)
        if level_here and "promote-arrays" not in disabled:
            promote_arrays(function)
        if level_here and "lift-breaks" not in disabled:
            lift_breaks(function)
        if level_here and positions and joins_loads and "join-loads" not in disabled:
            join_loads(function)
        if level_here and positions and "linearise-indices" not in disabled:
            linearise_indices(function)
        for _ in range(level_here):
            _run(function, disabled, positions=positions)


def optimise_positions(function: Operation, *, disabled: Collection[str] = ()) -> None:
    """Linearises the indices of a function that kept its dimensions, and optimises what that makes."""
    if "linearise-indices" not in disabled:
        linearise_indices(function)
    _run(function, disabled, positions=True)


def _run(function: Operation, disabled: Collection[str], *, positions: bool) -> None:
    fold, number = "canonicalize" not in disabled, "cse" not in disabled
    if fold or number:
        ForwardWalk(fold=fold, number=number).run(function)
    for name, step in _STEPS:
        if name not in disabled and (positions or step is not reduce_strength):
            step(function)


_STEPS = (
    ("hoist-invariants", hoist_invariants),
    ("reduce-strength", reduce_strength),
    ("dce", eliminate_dead_code),
    ("narrow-barriers", narrow_barriers),
)
"""What follows the walk, by the name that switches it off."""


def _level_of(function: Operation, default: int) -> int:
    own = integer(function.attributes.get(OPT_LEVEL))
    return default if own is None else own
