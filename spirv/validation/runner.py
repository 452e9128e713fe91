"""Runs the rule families over a module, in two stages.

The second stage relies on what the first has checked: operands fit the grammar and every id is defined.  A
module that fails the first is not looked at further.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final, Literal

from ..binary import Module, parse
from . import (
    arithmetic,
    capabilities,
    control_flow,
    declarations,
    entry_points,
    grammar,
    ids,
    layout,
    memory,
    module_layout,
    vulkan,
)
from .context import Context
from .finding import Finding

MAX_FINDINGS: Final = 100
"""No more are collected."""

Environment = Literal["vulkan", "universal"]
Rule = Callable[[Context], Iterator[Finding]]

_STRUCTURE: Final[tuple[Rule, ...]] = (grammar.check, module_layout.check, ids.check)
_MEANING: Final[tuple[Rule, ...]] = (
    declarations.check,
    control_flow.check,
    arithmetic.check,
    memory.check,
    capabilities.check,
    entry_points.check,
    layout.check,
    vulkan.check,
)


def validate(source: Module | bytes, *, environment: Environment = "vulkan") -> tuple[Finding, ...]:
    """Returns what is wrong with a module, at most 100 findings; none where nothing is.

    Checks the structure of modules and the rules that lapilli's own output could break; SPIRV-Tools knows
    more.  What this rejects, SPIRV-Tools rejects, except that it looks less closely at strings (UTF-8), local
    sizes of 0, strides below the element's size and the operand types of OpSpecConstantOp.

    Args:
        source: a module, hostile bytes included.
        environment: ``vulkan`` for modules that a driver gets, ``universal`` for those yet to be linked.

    Raises:
        SpirvError: the bytes cannot be parsed.
    """
    module = source if isinstance(source, Module) else parse(source)
    ctx = Context(module, is_vulkan=environment == "vulkan")
    for stage in (_STRUCTURE, _MEANING):
        findings = tuple(islice((finding for rule in stage for finding in rule(ctx)), MAX_FINDINGS))
        if findings:
            return findings
    return ()
