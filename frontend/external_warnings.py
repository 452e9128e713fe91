"""Warnings about exported functions of other Python modules, found when they are linked with their callers.

A Python module is compiled without looking into others: what an imported function needs is known by its declaration
only.  Linking sees both sides, as DPC++'s sycl-post-link does ("Error checking for SYCL_EXTERNAL functions").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..ir.aspects import aspect_spelling
from ..ir.errors import Diagnostic
from ..ir.external_texts import is_declarable, other_fixed_targets, other_sub_group_size, unexpected_aspect
from ..ir.kernel_info import Requirements
from .aspect_warnings import Finding, warn_once
from .externals import EXTERNALS


def warn_of_externals(expected: Requirements, linked: Iterable[tuple[str, Requirements]]) -> bool:
    """Warns of what linked functions need and their callers' image does not, once per function and need in the process.

    Args:
        expected: what the image of the kernels requires without them.
        linked: the symbol of each exported function, and what its image requires.

    Returns:
        Whether there was something, told before or not.
    """
    findings: list[Finding] = []
    for symbol, needed in linked:
        exporting = EXTERNALS.exporting(symbol)
        owner = exporting[-1].function if exporting else symbol
        findings += ((owner, found) for found in external_diagnostics(symbol, needed, expected))
    warn_once(findings)
    return bool(findings)


def external_diagnostics(
    function: str, needed: Requirements, expected: Requirements
) -> tuple[Diagnostic, ...]:
    """Returns the warnings about one function.

    Args:
        function: its symbol.
        needed: what its image requires.
        expected: what the image of the kernels requires without it.
    """
    return tuple(Diagnostic(text, severity="warning") for text in _texts(function, needed, expected))


def _texts(function: str, needed: Requirements, expected: Requirements) -> Iterator[str]:
    if expected.fixed_targets is not None:
        if needed.fixed_targets is not None and not {*needed.fixed_targets} <= {*expected.fixed_targets}:
            yield other_fixed_targets(function)
        return
    for aspect in needed.aspects:
        if is_declarable(aspect) and aspect not in expected.aspects:
            yield unexpected_aspect(function, aspect_spelling(aspect))
    for size in needed.sub_group_sizes:
        if size not in expected.sub_group_sizes:
            yield other_sub_group_size(function, size)
