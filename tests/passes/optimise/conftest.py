"""Runs optimisation passes on kernel-level text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from lapilli.ir.context import make_context
from lapilli.ir.parse import parse_module
from lapilli.ir.verify import verify_module
from lapilli.passes.optimise.pipeline import optimise as optimise_module
from lapilli.passes.registry import pass_factory

CONTEXT = make_context()
"""Shared: loading dialects takes longer than most tests."""


def _parse(text: str) -> ModuleOp:
    module = parse_module(text, context=CONTEXT).module
    verify_module(module)
    return module


def _text(module: ModuleOp) -> str:
    verify_module(module)
    return str(module)


@pytest.fixture
def optimised() -> Callable[..., str]:
    """Text after `optimise` at a level, 1 by default."""

    def run(text: str, level: int = 1) -> str:
        module = _parse(text)
        optimise_module(module, level)
        return _text(module)

    return run


@pytest.fixture
def after() -> Callable[[str, str], str]:
    """Text after the pass of that name."""

    def run(name: str, text: str) -> str:
        module = _parse(text)
        pass_factory(name)()().apply(CONTEXT, module)
        return _text(module)

    return run


@pytest.fixture
def normal() -> Callable[[str], str]:
    """Text as the printer writes it, unchanged otherwise."""
    return lambda text: _text(_parse(text))
