"""Warnings about aspects, with the wording of DPC++'s design for optional kernel features.

* `diagnose_declared`: a function uses an aspect that its `device_has` does not list.
* `diagnose_targets`: a function needs what one of its fixed targets does not have.
* `diagnose_image`: after splitting, a function needs what the kernels of its image do not.

Vendor and internal aspects never cause a warning that asks for `device_has`: users cannot be asked to declare them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Operation

from ..ir.aspects import aspect_spelling
from ..ir.call_graph import entry_points, function_name, functions, source_name
from ..ir.dialects import aspect
from ..ir.dialects.kernel import Function, is_kernel
from ..ir.errors import AspectWarning, Diagnostic, warning_text
from ..ir.external_texts import is_declarable, other_fixed_targets, other_sub_group_size, unexpected_aspect
from ..ir.location import location_of
from .aspect_usage import AspectUsage

if TYPE_CHECKING:
    from ..ir.device_config import Target


def report(diagnostics: Iterable[Diagnostic]) -> None:
    """Hands each finding to Python's `warnings`."""
    for diagnostic in diagnostics:
        warnings.warn(AspectWarning(warning_text(diagnostic), diagnostic), stacklevel=2)


def diagnose_declared(
    module: Operation, usage: AspectUsage, *, with_locations: bool = True
) -> tuple[Diagnostic, ...]:
    """Returns one warning for each function with `aspect.declared` and each aspect that it uses beside those.

    Only the call graph of the function's own translation unit counts; of functions of other units, what they
    declare (SYCL 2020 section 5.8.1).

    Args:
        module: the module.
        usage: the analysis of `module` within units.
        with_locations: whether to say the places that the module knows.
    """
    found: list[Diagnostic] = []
    for function in usage.graph.functions:
        declared = aspect.declared(function)
        if declared is None:
            continue
        for number in sorted(usage.used(function) - declared):
            if is_declarable(number):
                spelling = _spelling(module, number)
                head = f"uses aspect '{spelling}' not listed in 'sycl::device_has'"
                found.append(_with_chain(function, number, head, usage, with_locations))
    return tuple(found)


def diagnose_targets(
    module: Operation, usage: AspectUsage, *, with_locations: bool = True
) -> tuple[Diagnostic, ...]:
    """Returns one warning for each function with fixed targets and each aspect or required size that one of the
    targets has not.  Functions without the attribute were made by later passes: nothing is known of them.

    Args:
        module: the module.
        usage: the analysis of `module` within units.
        with_locations: whether to say the places that the module knows.
    """
    found: list[Diagnostic] = []
    for function in usage.graph.functions:
        wanted = sorted(aspect.fixed_targets(function) or ())
        if not wanted:
            continue
        from ..ir.device_config import device_config  # seldom needed

        known = device_config().targets
        # Names that the configuration does not have are refused where the options are set, not here.
        targets = [known[name] for name in wanted if name in known]
        for number in sorted(n for n in usage.used(function) if n >= 0):
            if lacking := [t.name for t in targets if t.lacking((number,))]:
                spelling = _spelling(module, number)
                head = f"uses aspect '{spelling}' not supported by {_listed(lacking)}"
                found.append(_with_chain(function, number, head, usage, with_locations))
        found += [_about(function, text, with_locations) for text in _size_findings(function, targets)]
    return tuple(found)


def _size_findings(function: Function, targets: Sequence[Target]) -> Iterator[str]:
    name = source_name(function)
    sub_group = aspect.reqd_sub_group_size(function)
    work_group = aspect.reqd_work_group_size(function)
    if sub_group is not None and (bad := [t.name for t in targets if not t.has_sub_group_size(sub_group)]):
        yield f"function '{name}' has required sub-group size '{sub_group}' not supported by {_listed(bad)}"
    if work_group is not None and (bad := [t.name for t in targets if not t.has_work_group_size(work_group)]):
        size = ", ".join(map(str, work_group))
        yield f"function '{name}' has required work-group size '{size}' not supported by {_listed(bad)}"


def _spelling(module: Operation, number: int) -> str:
    """Returns what an aspect is called, by the module's table where it has one."""
    names = {number: name for name, number in aspect.aspect_values(module).items()}
    return names.get(number) or aspect_spelling(number)


def _listed(names: Sequence[str]) -> str:
    return f"fixed target{'s' * (len(names) > 1)} " + ", ".join(f"'{name}'" for name in names)


def _with_chain(
    function: Function, number: int, head: str, usage: AspectUsage, with_locations: bool
) -> Diagnostic:
    """Returns a warning with the calls that lead from a function to the use of an aspect."""
    calls, use = usage.chain(function, number)
    name = source_name(function)
    lines = [f"function '{name}' {head}", "use is from this call chain:", f"  {name}()"]
    for call in calls:
        place = location_of(call.op.location) if with_locations else None
        lines.append(f"  {source_name(call.callee)}()" + (f" {place}" if place else ""))
    location = location_of(use.location) if with_locations else None
    if location is None:
        lines.append("compile with '-g' to get source location")
    return Diagnostic("\n".join(lines), location, severity="warning", function=function_name(function))


def diagnose_image(image: Operation, *, with_locations: bool = True) -> tuple[Diagnostic, ...]:
    """Returns the warnings about functions of a split image that need more than its entry points do.

    They come from exported functions whose declarations in other translation units do not say what they use.
    """
    roots = deciding_entry_points(image)
    if any(aspect.fixed_targets(root) for root in roots):
        return tuple(_other_targets(image, roots, with_locations))
    expected = frozenset[int]().union(*(needs(root) for root in roots))
    sizes = {aspect.reqd_sub_group_size(root) for root in roots}
    found: list[Diagnostic] = []
    for function in functions(image):
        name = source_name(function)
        for number in filter(is_declarable, sorted(needs(function) - expected)):
            text = unexpected_aspect(name, _spelling(image, number))
            found.append(_about(function, text, with_locations))
        size = aspect.reqd_sub_group_size(function)
        if size is not None and size not in sizes:
            found.append(_about(function, other_sub_group_size(name, size), with_locations))
    return tuple(found)


def deciding_entry_points(image: Operation) -> tuple[Function, ...]:
    """Returns the entry points whose needs others must not exceed: kernels, exported functions where there are none.

    After `split-modules` all entry points of an image need the same; an image from elsewhere may be otherwise.
    """
    roots = entry_points(image)
    return tuple(filter(is_kernel, roots)) or roots


def needs(function: Function) -> frozenset[int]:
    """Returns the aspects that a function uses or declares, as its attributes say."""
    return aspect.used(function) | (aspect.declared(function) or frozenset())


def _other_targets(image: Operation, roots: Iterable[Function], with_locations: bool) -> Iterable[Diagnostic]:
    expected = frozenset[str]().union(*(aspect.fixed_targets(root) or () for root in roots))
    for function in functions(image):
        # No attribute: a pass made the function, nothing is known.  An empty list counts as any target.
        targets = aspect.fixed_targets(function)
        if targets is not None and not targets <= expected:
            yield _about(function, other_fixed_targets(source_name(function)), with_locations)


def _about(function: Function, message: str, with_locations: bool) -> Diagnostic:
    location = location_of(function.location) if with_locations else None
    return Diagnostic(message, location, severity="warning", function=function_name(function))
