"""The families of the spirv dialect, each imported when a name of it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from lapilli.ir.dialects import spirv
from lapilli.ir.dialects.spirv import _MODULE_OF, SPIRV_OPS  # pyright: ignore

STUB = Path(spirv.__file__).with_suffix(".pyi")


def test_stub_and_table_name_the_same() -> None:
    found = {
        alias.name: node.module
        for node in ast.parse(STUB.read_text()).body
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
    }
    assert found | {"SPIRV": "dialect", "SPIRV_OPS": "dialect"} == _MODULE_OF


def test_every_operation_has_its_name() -> None:
    for kind in SPIRV_OPS.values():
        assert getattr(spirv, kind.__name__, kind) is kind
    for name, module in _MODULE_OF.items():
        assert getattr(spirv, name) is getattr(import_module(f"lapilli.ir.dialects.spirv.{module}"), name)


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'FrobnicateOp'"):
        _ = spirv.FrobnicateOp  # pyright: ignore


def test_one_family_does_not_import_the_others() -> None:
    code = """
import sys
from lapilli.ir.dialects import spirv
spirv.IAddOp
loaded = [name for name in sys.modules if name.startswith(spirv.__name__ + ".")]
print(*sorted(name.rpartition(".")[2] for name in loaded))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "arithmetic",
        "attributes",
        "base",
        "enums",
        "matrix_types",
        "scalars",
        "types",
    ]
