"""The pass `propagate-aspects`: writes on every function the aspects that it uses.

    func.func @k() attributes {gpu.kernel} {         func.func @k() attributes {gpu.kernel,
      func.call @f() : () -> ()                          aspect.fixed_targets = [], aspect.used = [6 : i32]} {
    func.func private @f() {               =>        func.func private @f() attributes {
      %0 = arith.constant 1.0 : f64                      aspect.used = [6 : i32]} {

Of functions of other translation units (`aspect.unit`) only what they declare counts, as in a compiler that sees
one unit at a time; `compute-requirements` finds the rest and warns.

It runs twice (DPC++'s design, "Pre- and post-optimization aspect propagation"): before optimisation, which
may erase uses, with some aspects excluded from saving; and after it with all of them.  Aspects that a
function declares are saved even if excluded, there and in its callers: declaring is an explicit statement.

Invariant: only attributes change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ..ir.aspects import Aspect
from ..ir.call_graph import CallGraph, entry_points
from ..ir.dialects import aspect
from ..ir.dialects.kernel import Function
from ..ir.errors import Diagnostic, InvalidError
from .aspect_usage import AspectUsage
from .diagnose_aspects import diagnose_declared, diagnose_targets, report

PRE_OPTIMISATION_EXCLUDES: frozenset[int] = frozenset(
    {
        Aspect.FP64,
        Aspect.VK_INT8,
        Aspect.VK_INT16,
        Aspect.VK_INT64,
        Aspect.VK_STORAGE_8BIT,
        Aspect.VK_STORAGE_16BIT,
    }
)
"""What the run before optimisation does not save: a use that is optimised away does not count."""


def propagate(
    module: Operation,
    *,
    exclude: Collection[int] = (),
    fixed_targets: Iterable[str] = (),
    warn: bool = False,
    usage: AspectUsage | None = None,
    with_locations: bool = True,
) -> tuple[Diagnostic, ...]:
    """Saves in `aspect.used` what each function of `module` uses; returns the warnings, () unless `warn`.

    Args:
        module: changed in place.
        exclude: aspects that a function gets only if it had or declares them; they still cause warnings.
        fixed_targets: names for `aspect.fixed_targets` of kernels and exported functions that have none.
        warn: whether to look for aspects that `aspect.declared` does not list.
        usage: the analysis of `module`, over unit borders, where the caller has it.
        with_locations: whether warnings say the places that the module knows (-g).
    """
    usage = (usage or AspectUsage.of(module)).within_units(module)
    warnings = diagnose_declared(module, usage, with_locations=with_locations) if warn else ()
    kept = _declared_in_call_graph(usage.graph) if exclude else {}
    for function in usage.graph.functions:
        saved = usage.used(function) - frozenset(exclude)
        saved |= kept.get(function, frozenset()) | aspect.used(function)
        if saved:
            function.attributes[aspect.USED] = aspect.aspects_attribute(saved)
    _mark_fixed_targets(module, fixed_targets)
    if warn:
        warnings += diagnose_targets(module, usage, with_locations=with_locations)
    return warnings


def _declared_in_call_graph(graph: CallGraph) -> dict[Function, frozenset[int]]:
    by_number: dict[int, list[Function]] = {}
    for function in graph.functions:
        for number in aspect.declared(function) or ():
            by_number.setdefault(number, []).append(function)
    found: dict[Function, frozenset[int]] = {}
    for number, functions in by_number.items():
        for function in graph.reaching(functions):
            found[function] = found.get(function, frozenset()) | {number}
    return found


def _mark_fixed_targets(module: Operation, names: Iterable[str]) -> None:
    """Gives every kernel and exported function the attribute: its absence means that a later pass made it."""
    attribute = ArrayAttr([StringAttr(name) for name in names])
    for function in entry_points(module):
        if not aspect.fixed_targets(function):
            function.attributes[aspect.FIXED_TARGETS] = attribute


@dataclass(frozen=True)
class PropagateAspectsPass(ModulePass):
    """Writes on every function the aspects that it uses (see the head of this file)."""

    name = "propagate-aspects"

    exclude: tuple[int | str, ...] = ()
    """Aspects that are not saved, by number or name."""
    fixed_targets: tuple[str, ...] = ()
    """Targets that kernels without fixed targets get."""
    warn: bool = False
    """Whether aspects that are used but not declared are reported, through `warnings`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        exclude = _numbers(op, self.exclude)
        report(propagate(op, exclude=exclude, fixed_targets=self.fixed_targets, warn=self.warn))


def _numbers(module: Operation, aspects: Iterable[int | str]) -> list[int]:
    """Returns aspects by number: the module's table has the say where it has a name, then SYCL's names."""
    known = {member.spelling: int(member) for member in Aspect} | aspect.aspect_values(module)
    for name in aspects:
        if isinstance(name, str) and name not in known:
            raise InvalidError(f"pass 'propagate-aspects' cannot exclude '{name}': no aspect has that name")
    return [known[name] if isinstance(name, str) else name for name in aspects]
