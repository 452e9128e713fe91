"""The commands with standard streams that are full or closed: a message or silence, never a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lapilli.ir.errors import BuildError, Location
from lapilli.tools.output import LINE_LIMIT, error_text

KERNEL = "import lapilli as lp\n\n@lp.kernel\ndef k(x: lp.Array[lp.f32]):\n    x[0] = 1.0\n"


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    line = command.replace("lapilli", f"{sys.executable} -m lapilli")
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("command", ["dump k.py:k", "dump k.py:k --stage spirv", "opt k.mlir", "doctor"])
def test_a_full_output_is_an_error_of_one_line(tmp_path: Path, command: str) -> None:
    (tmp_path / "k.py").write_text(KERNEL)
    (tmp_path / "k.mlir").write_text("builtin.module {\n}\n")
    done = shell(f"lapilli {command} > /dev/full", tmp_path)
    assert (done.returncode, done.stderr) == (1, "lapilli: No space left on device\n")


def test_a_closed_output_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(KERNEL)
    done = shell("lapilli dump k.py:k >&-", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    done = shell("lapilli dump k.py:k -o out.mlir >&-", tmp_path)
    assert done.returncode == 0 and "func.func @k" in (tmp_path / "out.mlir").read_text()


def test_a_closed_input_is_named(tmp_path: Path) -> None:
    done = shell("lapilli opt - <&-", tmp_path)
    assert (done.returncode, done.stderr) == (
        1,
        "error: cannot read standard input: it is closed; name a file\n",
    )


def test_a_line_of_megabytes_is_not_quoted_whole() -> None:
    location = Location(file="a.mlir", line=1, column=1)
    text = error_text(BuildError("x" * 10**6, location=location))
    assert text.startswith("a.mlir:1:1: error: xxx") and text.endswith(" …")
    assert len(text) <= LINE_LIMIT + 2
