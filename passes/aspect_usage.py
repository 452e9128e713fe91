"""Which aspects each function uses, by itself or through what it calls, and why.

One analysis serves the pass, the warnings and the run-time message.  For every function and aspect it keeps
one reason: the operation that uses the aspect, or the call that leads there.  Reasons never form a cycle, so
following them is a call chain, one of the shortest, whatever recursion the graph has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Set
from dataclasses import dataclass, replace

from xdsl.ir import Attribute, Operation

from ..ir.aspects import Aspect
from ..ir.call_graph import Call, CallGraph, function_name, has_body
from ..ir.dialects import aspect
from ..ir.dialects.kernel import WIDE, Function
from ..ir.kernel_info import AspectUse
from ..ir.location import location_of
from ..ir.walk import operations
from .aspect_rules import AspectRules


@dataclass(frozen=True, slots=True)
class Use:
    """A place in a function that uses an aspect itself."""

    aspect: int
    what: str
    """What uses it, in words: ``f64 value``."""
    location: Attribute
    """Location attribute of the place."""
    is_declared: bool = False
    """Whether it is a declaration and no code."""


Reason = Use | Call


@dataclass(frozen=True, slots=True)
class AspectUsage:
    """The result for one module."""

    graph: CallGraph
    reasons: dict[Function, dict[int, Reason]]
    """For each function the aspects that it uses, each with the reason."""

    @classmethod
    def of(cls, module: Operation, *, within_units: bool = False) -> AspectUsage:
        """Analyses all functions inside `module`.

        Args:
            module: the module, usually top level.
            within_units: whether to see of another translation unit only what its functions declare.
        """
        usage = cls.none(module)
        graph = usage.graph
        callers = _callers(graph, within_units)
        # Reasons that say most come first: later sources only add aspects that have no reason yet.
        rules = AspectRules(module)
        # A value that a callee returns is the callee's use: it says where the value comes from.  What is attached
        # to the call itself is not.
        explained = {id(call.op) for edges in callers.values() for _, call in edges}
        usage._add(callers, {f: list(_uses_in_body(f, rules, explained)) for f in graph.functions})
        # A body says more than a signature: where a value is only passed on, the chain goes on to its origin.
        usage._add(callers, {f: list(_uses_of_signature(f, rules)) for f in graph.functions})
        usage._add(callers, {f: list(_declared_uses(f, graph, within_units)) for f in graph.functions})
        usage._add(callers, {f: list(_attached_uses(f)) for f in graph.functions})
        return usage

    @property
    def is_empty(self) -> bool:
        """Whether no function uses any aspect."""
        return not any(self.reasons.values())

    @classmethod
    def none(cls, module: Operation) -> AspectUsage:
        """Returns the analysis of a module that is known to use no aspect."""
        graph = CallGraph.of(module)
        return cls(graph, {function: {} for function in graph.functions})

    def within_units(self, module: Operation) -> AspectUsage:
        """Returns the analysis that does not look into other translation units; this one where there is one."""
        if len({aspect.unit(function) for function in self.graph.functions} - {""}) <= 1:
            return self
        return AspectUsage.of(module, within_units=True)

    def used(self, function: Function) -> frozenset[int]:
        """Returns all aspects that the function uses, also by what it calls or declares."""
        return frozenset(self.reasons[function])

    def chain(self, function: Function, number: int) -> tuple[tuple[Call, ...], Use]:
        """Returns the calls that lead from `function` to a place that uses the aspect, and that place."""
        calls: list[Call] = []
        reason = self.reasons[function][number]
        while isinstance(reason, Call):
            calls.append(reason)
            reason = self.reasons[reason.callee][number]
        return tuple(calls), reason

    def kernel_aspects(self, kernel: Function) -> tuple[AspectUse, ...]:
        """Returns the aspects that the kernel needs, ascending, each with the first place that uses it.

        Internal aspects are left out: no device is asked for them.
        """
        found: list[AspectUse] = []
        for number in sorted(self.reasons[kernel]):
            if number >= 0:
                calls, use = self.chain(kernel, number)
                owner = function_name(calls[-1].callee if calls else kernel)
                place = location_of(use.location)
                if place is not None:
                    place = replace(place, function=owner)
                found.append(
                    AspectUse(aspect=number, location=place, what=use.what, is_declared=use.is_declared)
                )
        return tuple(found)

    def _add(
        self, callers: dict[Function, list[tuple[Function, Call]]], sources: dict[Function, list[Use]]
    ) -> None:
        """Enters uses and carries them up to the callers, breadth first."""
        pending: deque[tuple[Function, int]] = deque()
        for function, uses in sources.items():
            for use in uses:
                if use.aspect not in self.reasons[function]:
                    self.reasons[function][use.aspect] = use
                    pending.append((function, use.aspect))
        while pending:
            function, number = pending.popleft()
            for caller, call in callers[function]:
                if number not in self.reasons[caller]:
                    self.reasons[caller][number] = call
                    pending.append((caller, number))


def kernel_aspects(kernel: Function) -> tuple[AspectUse, ...]:
    """Returns what `AspectUsage.kernel_aspects` does, for a kernel of a module not analysed yet."""
    root: Operation = kernel
    while (parent := root.parent_op()) is not None:
        root = parent
    return AspectUsage.of(root).kernel_aspects(kernel)


def _callers(graph: CallGraph, within_units: bool) -> dict[Function, list[tuple[Function, Call]]]:
    callers = graph.callers()
    if not within_units:
        return callers
    return {
        callee: [(caller, call) for caller, call in edges if aspect.is_same_unit(caller, callee)]
        for callee, edges in callers.items()
    }


def _uses_in_body(function: Function, rules: AspectRules, explained: Set[int]) -> Iterator[Use]:
    for op in operations(function.regions[0]):
        if rules.is_plain(op):  # most of a function
            continue
        needs = rules.attached_to(op) if id(op) in explained else rules.of_op(op)
        if needs:
            yield from (Use(need.aspect, need.what, op.location, need.is_declared) for need in needs)


def _uses_of_signature(function: Function, rules: AspectRules) -> Iterator[Use]:
    if WIDE in function.attributes:  # also where optimising leaves no value of 64 bits
        yield Use(rules.number(Aspect.VK_INT64), "index of 64 bits", function.location, True)
    for type_, is_unused in _signature_types(function):
        for need in rules.of_type(type_):
            yield Use(need.aspect, need.what, function.location, need.is_declared or is_unused)


def _signature_types(function: Function) -> list[tuple[Attribute, bool]]:
    """Returns the types of parameters and results, each with whether it is of a parameter that no code reads: of such
    a one nothing remains in the binary.  Those are last, so that reasons that code shows come first."""
    inputs = function.function_type.inputs.data
    arguments = function.body.blocks[0].args if has_body(function) else ()
    unread = {argument.index for argument in arguments if argument.first_use is None}
    found = [(type_, position in unread) for position, type_ in enumerate(inputs)]
    found += [(type_, False) for type_ in function.function_type.outputs.data]
    return sorted(found, key=lambda item: item[1])


def _declared_uses(function: Function, graph: CallGraph, within_units: bool) -> Iterator[Use]:
    for number in sorted(aspect.declared(function) or ()):
        yield Use(number, "declared with device_has", function.location, True)
    if not within_units:
        return
    for call in graph.calls[function]:
        if not aspect.is_same_unit(call.callee, function):
            for number in sorted(aspect.declared(call.callee) or ()):
                yield Use(number, f"call of '{function_name(call.callee)}'", call.op.location, True)


def _attached_uses(function: Function) -> Iterator[Use]:
    for number in sorted(aspect.used(function)):
        yield Use(number, "declared with uses_aspects", function.location, True)
