"""Warnings about aspects, with the wording of DPC++'s design for optional kernel features.

* `diagnose_declared`: a function uses an aspect that its `device_has` does not list.
* `diagnose_image`: after splitting, a function needs what the kernels of its image do not.

Vendor and internal aspects never cause a `device_has` warning: users cannot be asked to declare them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from xdsl.ir import Operation

from ..ir.aspects import VENDOR_BASE, aspect_spelling
from ..ir.call_graph import entry_points, function_name, functions
from ..ir.dialects import aspect
from ..ir.dialects.kernel import Function
from ..ir.errors import Diagnostic
from ..ir.location import location_of
from .aspect_usage import AspectUsage


class PassWarning(UserWarning):
    """A finding of a pass that runs on its own, as in ``lapilli opt``."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(warning_text(diagnostic))
        self.diagnostic = diagnostic


def report(diagnostics: Iterable[Diagnostic]) -> None:
    """Hands each finding to Python's `warnings`."""
    for diagnostic in diagnostics:
        warnings.warn(PassWarning(diagnostic), stacklevel=2)


def warning_text(diagnostic: Diagnostic) -> str:
    """Returns the finding as a compiler prints it: ``warning: …`` behind the location where there is one."""
    text = str(diagnostic)
    return text if diagnostic.location is not None else f"{diagnostic.severity}: {text}"


def diagnose_declared(module: Operation, usage: AspectUsage) -> tuple[Diagnostic, ...]:
    """Returns one warning for each function with `aspect.declared` and each aspect that it uses beside those.

    Only the call graph of the function's own translation unit counts; of functions of other units, what they
    declare (SYCL 2020 section 5.8.1).

    Args:
        module: the module.
        usage: the analysis of `module`, over unit borders.
    """
    if len({aspect.unit(function) for function in usage.graph.functions}) > 1:
        usage = AspectUsage.of(module, within_units=True)
    names = {number: name for name, number in aspect.aspect_values(module).items()}
    found: list[Diagnostic] = []
    for function in usage.graph.functions:
        declared = aspect.declared(function)
        if declared is None:
            continue
        for number in sorted(usage.used(function) - declared):
            if 0 <= number < VENDOR_BASE:
                found.append(_undeclared(function, number, names, usage))
    return tuple(found)


def _undeclared(function: Function, number: int, names: dict[int, str], usage: AspectUsage) -> Diagnostic:
    spelling = names.get(number) or aspect_spelling(number)
    calls, use = usage.chain(function, number)
    lines = [
        f"function '{function_name(function)}' uses aspect '{spelling}' not listed in 'sycl::device_has'",
        "use is from this call chain:",
        f"  {function_name(function)}()",
    ]
    for call in calls:
        place = location_of(call.op.location)
        lines.append(f"  {function_name(call.callee)}()" + (f" {place}" if place else ""))
    location = location_of(use.location)
    if location is None:
        lines.append("compile with '-g' to get source location")
    return Diagnostic("\n".join(lines), location, severity="warning")


def diagnose_image(image: Operation) -> tuple[Diagnostic, ...]:
    """Returns the warnings about functions of a split image that need more than its entry points do.

    They come from exported functions whose declarations in other translation units do not say what they use.
    """
    roots = entry_points(image)
    if any(aspect.fixed_targets(root) for root in roots):
        return tuple(_other_targets(image, roots))
    expected = frozenset[int]().union(*(needs(root) for root in roots))
    sizes = {aspect.reqd_sub_group_size(root) for root in roots}
    names = {number: name for name, number in aspect.aspect_values(image).items()}
    found: list[Diagnostic] = []
    for function in functions(image):
        name = function_name(function)
        for number in sorted(needs(function) - expected):
            spelling = names.get(number) or aspect_spelling(number)
            found.append(
                _about(
                    function,
                    f"function '{name}' uses aspect '{spelling}' not expected by its calling kernel.\n"
                    "Missing [[sycl::device_has()]] on SYCL_EXTERNAL function?",
                )
            )
        size = aspect.reqd_sub_group_size(function)
        if size is not None and size not in sizes:
            found.append(
                _about(
                    function,
                    f"function '{name}' has required sub-group size '{size}' that does not match its calling "
                    "kernel.  Missing [[sycl::reqd_sub_group()]] attribute on SYCL_EXTERNAL function?",
                )
            )
    return tuple(found)


def needs(function: Function) -> frozenset[int]:
    """Returns the aspects that a function uses or declares, as its attributes say."""
    return aspect.used(function) | (aspect.declared(function) or frozenset())


def _other_targets(image: Operation, roots: Iterable[Function]) -> Iterable[Diagnostic]:
    expected = frozenset[str]().union(*(aspect.fixed_targets(root) or () for root in roots))
    for function in functions(image):
        # No attribute: a pass made the function, nothing is known.  An empty list counts as any target.
        targets = aspect.fixed_targets(function)
        if targets is not None and not targets <= expected:
            yield _about(
                function,
                f"function '{function_name(function)}' compiled with a different `-fsycl-fixed-targets` "
                "switch than its calling kernel.",
            )


def _about(function: Function, message: str) -> Diagnostic:
    return Diagnostic(message, location_of(function.location), severity="warning")
