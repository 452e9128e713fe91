"""The library of examples/shipping_kernels: built into a wheel, installed, used without the compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import lapilli as lp

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "shipping_kernels"

PROGRAM = """
import sys
import numpy as np
import lapilli as lp
from brightness import brighten

found = brighten(np.float32([0.0, 0.25, 0.9]), 0.5, lp.device(sys.argv[1]))
np.testing.assert_array_equal(found, np.float32([0.5, 0.75, 1.0]))
assert not [name for name in sys.modules if name.split(".")[0] in ("xdsl", "brightness._kernels")]
print("ok")
"""


def run(command: list[str], folder: Path, **variables: str) -> str:
    paths = [variables.pop("path", ""), str(Path(lp.__file__).resolve().parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **variables}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's content, as an installer lays it out."""
    pytest.importorskip("setuptools", minversion="77")
    folder = tmp_path_factory.mktemp("shipping")
    project = folder / "project"
    shutil.copytree(
        EXAMPLE, project, ignore=shutil.ignore_patterns("build", "*.lpk", "*.egg-info", "__pycache__")
    )
    program = "from setuptools import build_meta; print(build_meta.build_wheel('..'))"
    run([sys.executable, "-c", program], project)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert "brightness/kernels.lpk" in archive.namelist()
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.mark.device
def test_the_installed_library_runs_without_the_compiler(installed: Path, tmp_path: Path, device: lp.Device):
    (tmp_path / "use.py").write_text(PROGRAM, "utf-8")
    command = [sys.executable, "-W", "error", "use.py", device.selector]
    assert run(command, tmp_path, path=str(installed), LAPILLI_CACHE="0") == "ok\n"
