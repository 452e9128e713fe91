"""Fixtures of the kernel-bundle tests: contexts, and programs in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import lapilli as lp

PREAMBLE = """
import sys
import lapilli as lp
from lapilli import BundleState
device = lp.device(sys.argv[1])
context = lp.Context([device])
INPUT, OBJECT, EXECUTABLE = BundleState.INPUT, BundleState.OBJECT, BundleState.EXECUTABLE
"""


@pytest.fixture
def context(device: lp.Device) -> lp.Context:
    """A context of one device, of its own for each test."""
    return lp.Context([device])


@pytest.fixture
def lesser(device: lp.Device) -> lp.Device:
    """The same hardware without doubles."""
    return device.masked(without=[lp.Aspect.FP64])


@pytest.fixture
def pair(device: lp.Device, lesser: lp.Device) -> lp.Context:
    """A context of two devices of one platform."""
    return lp.Context([device, lesser])


@pytest.fixture
def fresh(device: lp.Device, tmp_path: Path) -> Callable[[str], None]:
    """Runs a program whose kernels are the only ones of its process; a failed assertion fails the test."""

    def run(program: str) -> None:
        path = tmp_path / "program.py"
        path.write_text(PREAMBLE + program, encoding="utf-8")
        environment = {**os.environ, "LAPILLI_CACHE": "0"}
        command = (sys.executable, "-W", "error", str(path), device.selector)
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr

    return run
