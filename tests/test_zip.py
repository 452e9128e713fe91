"""The package in a zip file, as `zipapp` and its kin make them, instead of a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import lapilli as lp

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "lapilli"

PROGRAM = """
import json
import sys

import numpy as np
import lapilli as lp

@lp.kernel
def saxpy(a: lp.f32, x: lp.Array[lp.f32], y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = a * x[i] + y[i]

device = lp.device(sys.argv[1])
x = lp.asarray(np.arange(5, dtype=np.float32), device=device)
y = lp.ones(5, device=device)
with lp.trace() as trace:
    saxpy[5](2.0, x, y)
print(json.dumps([lp.__file__, y.numpy().tolist(), trace.count("compile"), trace.count("cache_hit")]))
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A zip file of the package and a program."""
    path = tmp_path_factory.mktemp("zip") / "program.pyz"
    with zipfile.ZipFile(path, "w") as archive:
        for folder, _, names in os.walk(PACKAGE, followlinks=True):
            for name in names:
                if not name.endswith(".pyc"):
                    file = Path(folder, name)
                    archive.write(file, Path("lapilli") / file.relative_to(PACKAGE))
        archive.writestr("__main__.py", PROGRAM)
    return path


def run(*arguments: object, cache: Path, path: Path | str = "") -> str:
    done = subprocess.run(
        (sys.executable, *map(str, arguments)),
        env=os.environ | {"PYTHONPATH": str(path), "LAPILLI_CACHE_DIR": str(cache), "LAPILLI_CACHE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.device
@pytest.mark.native_only("there is a cache of compiled kernels")
def test_a_program_and_the_package_in_one_zip_file(program: Path, tmp_path: Path) -> None:
    """Kernels have their text, compiled code is found again, and another zip file is another compiler."""
    selector = lp.device().selector
    for compiles in (1, 0):
        file, result, *counts = json.loads(run(program, selector, cache=tmp_path))
        assert Path(file).is_relative_to(program)
        assert result == [1, 3, 5, 7, 9]
        assert counts == [compiles, 1 - compiles]
    os.utime(program, ns=(0, program.stat().st_mtime_ns + 1))
    assert json.loads(run(program, selector, cache=tmp_path))[2] == 1


def test_the_commands_in_a_zip_file(program: Path, tmp_path: Path) -> None:
    """The device configuration is in there, too."""
    source = tmp_path / "kernels.py"
    source.write_text(
        "import lapilli as lp\n@lp.kernel\ndef put(x: lp.Array[lp.i32]):\n    x[lp.global_id(0)] = 1\n",
        "utf-8",
    )
    output = tmp_path / "kernels.lpk"
    run("-m", "lapilli", "build", source, "-o", output, cache=tmp_path, path=program)
    assert "put" in run("-m", "lapilli", "inspect", output, cache=tmp_path, path=program)
