"""Puts the bodies of helpers in the place of their calls: the pass inline.

input:    func.func private @twice(%v : f32) -> f32 {      output:   func.func @k(…) {
            %d = arith.addf %v, %v : f32                               %x = memref.load %a[%i]
            func.return %d : f32                                       %d = arith.addf %x, %x : f32
          }                                                            memref.store %d, %a[%i]
          func.func @k(…) {
            %x = memref.load %a[%i]
            %d = func.call @twice(%x)
            memref.store %d, %a[%i]

Drivers inline every call, but what our own passes do stops at one: folding, common subexpressions, invariants of loops,
wide loads and coarsening.  Short helpers, those called once, and those that the lowering has to inline anyway are
inlined; long ones that are called often stay functions, which keeps modules small.  `kernel.inlined_calls` says how
many bodies a function has, since the lowering limits the calls that a kernel comes to.

Left alone: functions of other modules and other translation units, recursion (an error of the lowering), functions with
another level of optimisation or contraction than their caller, lapilli's own functions of work-groups, whose results
are known to be uniform, helpers that require a sub-group size of their own, which `compute-requirements` has to see,
and helpers that alone bring in an aspect of `PRE_OPTIMISATION_EXCLUDES`: what they use stays a requirement, however
little of it is left.

Invariant: the operations run in the same order on the same values; locations are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, i32
from xdsl.passes import ModulePass

from ...ir.attribute_values import integer
from ...ir.call_graph import CallGraph, entry_points, has_body
from ...ir.dialects import aspect
from ...ir.dialects.kernel import (
    INLINED_CALLS,
    LIBRARY,
    NO_CONTRACTION,
    OPT_LEVEL,
    UNIFORM_RESULTS,
    WIDE,
    Function,
    is_kernel,
)
from ...ir.dialects.kernel_image import ImageType
from ...ir.walk import operations
from ..aspect_usage import AspectUsage, Use
from ..inline_call import inline_call, move_body
from .effects import NEEDS_KERNEL

SHORT = 40
"""Operations of a helper that is inlined wherever it is called."""
MOST_OPERATIONS = 2000
"""Of a function, up to which bodies are put into it; calls beyond stay for the lowering."""


def inline(module: ModuleOp, usage: AspectUsage, *, level: int, excluded: Collection[int]) -> None:
    """Inlines calls in every function of a module, in place; what nothing calls any more goes.

    Args:
        module: changed in place.
        usage: the analysis of `module` as it is.
        level: the level of optimisation of functions that have none of their own.
        excluded: aspects that a caller must use itself where a helper does.
    """
    graph = usage.graph
    if not any(graph.calls.values()):
        return
    inliner = _Inliner(usage, level, frozenset(excluded))
    inliner.copy_bodies(graph)
    graph = CallGraph.of(module)
    inliner.move_bodies(graph)
    inliner.remove_unused(module)


@dataclass(frozen=True)
class Inline(ModulePass):
    """Puts the bodies of short and of singly called helpers in the place of their calls (see the head of this file)."""

    name = "inline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inline(op, AspectUsage.of(op), level=1, excluded=())


@dataclass
class _Inliner:
    """What is known of the functions of a module."""

    usage: AspectUsage
    level: int
    excluded: frozenset[int]
    recursive: set[Function] = field(default_factory=set[Function])
    """Functions that call themselves, or call one that does."""
    sizes: dict[Function, int] = field(default_factory=dict[Function, int])
    bodies: dict[Function, int] = field(default_factory=dict[Function, int])
    """How many bodies were put into a function, with those within these."""
    wanted: dict[Function, bool] = field(default_factory=dict[Function, bool])
    inlined: set[Function] = field(default_factory=set[Function])

    def copy_bodies(self, graph: CallGraph) -> None:
        """Inlines functions that are called several times, into those that are called first."""
        counts = _counts(graph)
        order, self.recursive = _callees_first(graph)
        for function in order:
            for call in graph.calls[function]:
                callee = call.callee
                if counts[callee] > 1 and self._is_wanted(callee) and self._may_inline(function, callee):
                    inline_call(call.op, callee)
                    self._note(function, callee)

    def move_bodies(self, graph: CallGraph) -> None:
        """Inlines functions that are called once, callers first, so that nothing moves twice."""
        counts, (order, _) = _counts(graph), _callees_first(graph)
        for function in reversed(order):
            pending = list(graph.calls[function]) if function not in self.inlined else []
            while pending:
                call = pending.pop()
                callee = call.callee
                if counts[callee] == 1 and callee not in self.inlined and self._may_inline(function, callee):
                    move_body(call.op, callee)
                    self._note(function, callee)
                    pending += graph.calls[callee]

    def remove_unused(self, module: ModuleOp) -> None:
        """Removes inlined functions that nothing calls any more."""
        graph = CallGraph.of(module)
        for function in self.inlined - graph.reachable(entry_points(module)):
            function.detach()
            function.erase()

    def _is_wanted(self, callee: Function) -> bool:
        """Whether a function that is called several times is inlined if it may be."""
        if callee not in self.wanted:
            self.wanted[callee] = self._size(callee) <= SHORT or _must_be_inlined(callee)
        return self.wanted[callee]

    def _note(self, function: Function, callee: Function) -> None:
        self.sizes[function] = self._size(function) + self._size(callee) - 1
        self.inlined.add(callee)
        self.bodies[function] = self.bodies.get(function, 0) + 1 + self.bodies.get(callee, 0)
        function.attributes[INLINED_CALLS] = IntegerAttr(self.bodies[function], i32)
        saved = aspect.used(function) | aspect.used(callee)
        if saved:
            function.attributes[aspect.USED] = aspect.aspects_attribute(saved)

    def _may_inline(self, caller: Function, callee: Function) -> bool:
        if (
            callee in self.recursive
            or is_kernel(callee)
            or aspect.is_external(callee)
            or not has_body(callee)
        ):
            return False
        if self._size(caller) + self._size(callee) > MOST_OPERATIONS:
            return False
        if len(callee.body.blocks) != 1 or aspect.unit(callee) != aspect.unit(caller):
            return False
        if not {LIBRARY, UNIFORM_RESULTS}.isdisjoint(callee.attributes):
            return False
        return (
            self._level(caller) > 0
            and self._level(callee) == self._level(caller)
            and all(
                (name in callee.attributes) == (name in caller.attributes) for name in (NO_CONTRACTION, WIDE)
            )
            and aspect.reqd_sub_group_size(callee) in (None, aspect.reqd_sub_group_size(caller))
            and self._uses_itself(caller, callee)
        )

    def _uses_itself(self, caller: Function, callee: Function) -> bool:
        reasons = self.usage.reasons[caller]
        return all(isinstance(reasons[number], Use) for number in self.usage.used(callee) & self.excluded)

    def _level(self, function: Function) -> int:
        own = integer(function.attributes.get(OPT_LEVEL))
        return self.level if own is None else own

    def _size(self, function: Function) -> int:
        if function not in self.sizes:
            self.sizes[function] = len(operations(function.body))
        return self.sizes[function]


def _counts(graph: CallGraph) -> Counter[Function]:
    return Counter(call.callee for calls in graph.calls.values() for call in calls)


def _callees_first(graph: CallGraph) -> tuple[list[Function], set[Function]]:
    """Returns the functions so that each comes behind those that it calls, and those that reach recursion."""
    order: dict[Function, None] = {}
    seen: set[Function] = set()
    recursive: set[Function] = set()
    for root in graph.functions:
        pending = [(root, False)]
        while pending:
            function, is_done = pending.pop()
            callees = [call.callee for call in graph.calls[function]]
            if is_done:
                order[function] = None
                if any(callee not in order or callee in recursive for callee in callees):
                    recursive.add(function)
            elif function not in seen:
                seen.add(function)
                pending.append((function, True))
                pending += [(callee, False) for callee in callees]
    return list(order), recursive


def _must_be_inlined(function: Function) -> bool:
    """Whether the lowering inlines a function in any case, because SPIR-V has none of its kind."""
    type_ = function.function_type
    return (
        len(type_.outputs) > 1
        or any(isinstance(input_, MemRefType | ImageType) for input_ in type_.inputs)
        or any(type(op) in NEEDS_KERNEL for op in operations(function.body))
    )
