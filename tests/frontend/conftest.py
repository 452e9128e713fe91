"""Fixtures of the frontend's tests: the interpreter of kernel-level IR."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

_PATH = Path(__file__).with_name("ir_interpreter.py")


def _load():
    spec = importlib.util.spec_from_file_location("lapilli_test_ir_interpreter", _PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_interpreter = _load()


@pytest.fixture
def run_kernel():
    """`run_kernel(module, name, arguments, shape)`: runs a kernel of a built module on the CPU."""
    return _interpreter.run_kernel
