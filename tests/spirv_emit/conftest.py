"""Modules of the spirv dialect to emit: every golden of tests/golden/spirv."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp as BuiltinModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser

from lapilli.ir.context import make_context
from lapilli.ir.dialects import spirv
from lapilli.ir.verify import verify_module

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "spirv"


def parse_spirv_module(text: str) -> spirv.ModuleOp:
    """Returns the verified spirv.module of `text`."""
    module: Operation = Parser(make_context(), text).parse_op()
    if isinstance(module, BuiltinModuleOp):
        first = module.body.block.first_op
        assert first is not None
        module = first
    verify_module(module)
    assert isinstance(module, spirv.ModuleOp)
    return module


@pytest.fixture
def parse() -> Callable[[str], spirv.ModuleOp]:
    """`parse_spirv_module`."""
    return parse_spirv_module


@pytest.fixture(params=sorted(path.stem for path in GOLDEN.glob("*.mlir")))
def golden(request: pytest.FixtureRequest) -> Path:
    """The .mlir file of each golden."""
    return GOLDEN / f"{request.param}.mlir"
