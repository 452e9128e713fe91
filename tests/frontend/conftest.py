"""Fixtures of the frontend's tests: running the kernel-level IR that it makes."""

from __future__ import annotations

import numpy as np
import pytest

from lapilli.ir.interpret.arguments import HostArray
from lapilli.ir.interpret.launch import LaunchShape, interpret_module


@pytest.fixture
def run_kernel():
    """`run_kernel(module, name, arguments, shape)`: interprets a kernel of a built module on NumPy arrays."""
    return _run_kernel


def _run_kernel(module, name, arguments, shape, *, local=None):
    given = [
        HostArray(value.reshape(-1).view(np.uint8), value.shape) if isinstance(value, np.ndarray) else value
        for value in arguments
    ]
    interpret_module(module, name, LaunchShape(range_=shape, local=local or (4,) * len(shape)), given)
