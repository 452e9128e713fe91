"""Fixtures of the ahead-of-time tests: kernels in files, ``lapilli build``, and processes without the compiler."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import lapilli as lp
from lapilli.tools.build import command

KERNELS = """
import lapilli as lp

FACTOR = lp.SpecializationId(lp.f32, 2.0)


@lp.struct
class Shift:
    by: lp.f32 = 0.5
    more: lp.f32x3


def helper(v: lp.f32):
    return v * 3.0 + 1.0


@lp.kernel
def scaled(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] * FACTOR


@lp.kernel
def shifted(s: Shift, x: lp.Array[lp.f32], weight: lp.f32 = 2.0):
    i = lp.global_id(0)
    x[i] = x[i] + s.by + s.more.y * weight


@lp.kernel(local_size=("TILE", "TILE // 2"))
def tiled(out: lp.Out[lp.i32, 2], *, TILE: lp.Spec[lp.u32] = 8):
    r = lp.global_id(0)
    c = lp.global_id(1)
    out[r, c] = lp.i32(lp.local_range(0)) * 100 + lp.i32(lp.local_range(1))


@lp.kernel
def doubled(x: lp.Array[lp.f64]):
    i = lp.global_id(0)
    x[i] = x[i] + x[i]
"""
"""Two images: `doubled` needs fp64, which SwiftShader has not."""

_numbers = count()


class Project:
    """A folder with one Python file of kernels.

    Args:
        folder: where.
        source: of the file.
    """

    def __init__(self, folder: Path, source: str = KERNELS) -> None:
        # Kernels of a process are told apart by their modules' names.
        self.name = f"aot_kernels_{os.getpid()}_{next(_numbers)}"
        self.folder = folder
        self.file = folder / f"{self.name}.py"
        self.file.write_text(source, encoding="utf-8")

    def build(self, *options: object) -> Result:
        """Runs ``lapilli build``; fails where it does not succeed."""
        done = self.run_build(*options)
        assert done.exit_code == 0, done.output
        return done

    def run_build(self, *options: object) -> Result:
        """Runs ``lapilli build``."""
        return CliRunner().invoke(command, [str(self.file), *map(str, options)])

    def forget(self) -> None:
        """Lets go of the Python module, so that kernels of files are known by their files only."""
        module = sys.modules.pop(self.name, None)
        if module is not None:
            vars(module).clear()  # what was analysed still knows the names around the kernels
            gc.collect()


@pytest.fixture
def project(tmp_path: Path):
    made = Project(tmp_path)
    yield made
    made.forget()


@pytest.fixture
def make_project(tmp_path: Path) -> Callable[[str], Project]:
    return lambda source: Project(tmp_path, source)


@pytest.fixture
def context(device: lp.Device) -> lp.Context:
    return lp.Context([device])


def run_program(program: str, *arguments: object, folder: Path) -> str:
    """Runs a Python program in a process of its own; returns what it printed."""
    path = folder / "program.py"
    path.write_text(program, encoding="utf-8")
    command_line = [sys.executable, "-W", "error", str(path), *map(str, arguments)]
    environment = {**os.environ, "LAPILLI_CACHE": "0"}
    done = subprocess.run(
        command_line, capture_output=True, text=True, timeout=120, env=environment, cwd=folder
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
