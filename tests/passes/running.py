"""Runs passes over text."""

from __future__ import annotations

from lapilli.ir.context import make_context
from lapilli.ir.parse import parse_module
from lapilli.ir.verify import verify_module
from lapilli.passes.registry import parse_passes

CONTEXT = make_context()


def run(text: str, passes: str = "") -> str:
    """Returns a module after some passes, spelt as `lapilli opt -p` takes them; it verifies."""
    module = parse_module(text, context=CONTEXT).module
    for step in parse_passes(passes) if passes else ():
        step.apply(CONTEXT, module)
    verify_module(module)
    return str(module)
