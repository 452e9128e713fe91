"""The optimisation that the compiler runs: all passes of this folder, fused to few walks."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module

from xdsl.ir import Operation

from ...ir.attribute_values import integer
from ...ir.dialects.kernel import OPT_LEVEL
from ...ir.walk import operations
from .dce import eliminate_dead_code
from .effects import functions_of
from .forward_walk import ForwardWalk
from .linearise_indices import has_wide_ids, linearise_indices


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
        if not level_here:
            continue
        needed = _needed(function, disabled)
        _run_if("promote-arrays" in needed, "promote_arrays", function)
        _run_if("lift-breaks" in needed, "lift_breaks", function)
        _run_if(joins_loads and positions and "join-loads" in needed, "join_loads", function)
        if positions and "linearise-indices" not in disabled:
            linearise_indices(function)
        for _ in range(level_here):
            _run(function, disabled, needed, positions=positions)


def optimise_positions(function: Operation, *, disabled: Collection[str] = ()) -> None:
    """Linearises the indices of a function that kept its dimensions, and optimises what that makes."""
    if "linearise-indices" not in disabled:
        linearise_indices(function)
    _run(function, disabled, _needed(function, disabled), positions=True)


def _run(function: Operation, disabled: Collection[str], needed: Collection[str], *, positions: bool) -> None:
    fold, number = "canonicalize" not in disabled, "cse" not in disabled
    if fold or number:
        ForwardWalk(fold=fold, number=number).run(function)
    _run_if("hoist-invariants" in needed, "hoist_invariants", function)
    _run_if(positions and "reduce-strength" in needed, "reduce_strength", function)
    if "dce" not in disabled:
        eliminate_dead_code(function)
    _run_if("narrow-barriers" in needed, "narrow_barriers", function)


_LOOPS = frozenset(("scf.for", "scf.while"))
_CHANGED = {
    "promote-arrays": frozenset(("memref.alloca",)),
    "lift-breaks": frozenset(("scf.while",)),
    "join-loads": _LOOPS,
    "hoist-invariants": _LOOPS,
    "reduce-strength": frozenset(("scf.for",)),
    "narrow-barriers": frozenset(("gpu.barrier", "spirv.ControlBarrier")),
}
"""Passes that many kernels do not need, and the operations that they change."""


def _needed(function: Operation, disabled: Collection[str]) -> set[str]:
    """Returns which of these passes are to run: no other pass makes what they look for."""
    names = {op.name for op in operations(function)}
    return {
        name for name, wanted in _CHANGED.items() if name not in disabled and not names.isdisjoint(wanted)
    }


def _run_if(is_needed: bool, name: str, function: Operation) -> None:
    """Runs a pass, which is imported then, if it is needed."""
    if is_needed:
        getattr(import_module(f".{name}", __package__), name)(function)


def _level_of(function: Operation, default: int) -> int:
    own = integer(function.attributes.get(OPT_LEVEL))
    return default if own is None else own
