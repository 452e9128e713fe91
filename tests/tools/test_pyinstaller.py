"""PyInstaller's hook: it names what a frozen program needs and no import statement shows.

PyInstaller is no dependency of the tests, so that `collect_submodules` and `collect_data_files` are stand-ins here,
but where it is installed a program is frozen and run.
"""

from __future__ import annotations

import importlib
import pkgutil
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import lapilli as lp

ROOT = Path(__file__).resolve().parents[2]


def hook_file() -> Path:
    entry = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"][
        "pyinstaller40"
    ]
    module, _, function = entry["hook-dirs"].partition(":")
    (folder,) = getattr(importlib.import_module(module), function)()
    return Path(folder) / "hook-lapilli.py"


def collect_submodules(package: str, filter: Callable[[str], bool]) -> list[str]:
    found = pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")
    return [item.name for item in found if filter(item.name)]


def collect_data_files(package: str, includes: list[str]) -> list[tuple[str, str]]:
    root = Path(importlib.import_module(package).__path__[0])
    return [(str(file), str(file.parent)) for pattern in includes for file in root.glob(pattern)]


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    hooks: Any = ModuleType("PyInstaller.utils.hooks")
    hooks.collect_submodules = collect_submodules
    hooks.collect_data_files = collect_data_files
    for name in ("PyInstaller", "PyInstaller.utils"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "PyInstaller.utils.hooks", hooks)
    return runpy.run_path(str(hook_file()))


def test_every_module_with_public_names_is_collected(hook: dict[str, Any]) -> None:
    needed = {getattr(lp, name).__module__ for name in dir(lp) if hasattr(getattr(lp, name), "__module__")}
    assert {name for name in needed if name.startswith("lapilli.")} <= set(hook["hiddenimports"])
    assert "lapilli.tools.pytest_plugin" not in hook["hiddenimports"]


def test_what_is_imported_by_name_from_other_packages_is_collected(hook: dict[str, Any]) -> None:
    assert {"vulkan._vulkancache", "xdsl.dialects.memref"} <= set(hook["hiddenimports"])


def test_spirv_tools_are_collected_where_they_are_looked_for(hook: dict[str, Any]) -> None:
    (library, folder) = hook["binaries"][0]
    assert Path(library).is_file()
    assert Path(folder) == Path("cmeel.prefix/lib")


@pytest.mark.device
@pytest.mark.skipif(find_spec("PyInstaller") is None, reason="PyInstaller is not installed")
def test_a_frozen_program_runs_a_kernel_from_source_text(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import lapilli as lp\n"
        "text = 'import lapilli as lp\\n@lp.kernel\\ndef k(x: lp.Array[lp.f32]):\\n    x[0] = lp.math.sin(x[0])\\n'\n"
        "x = lp.zeros(1)\n"
        "lp.kernel_from_source(text)[1](x)\n"
        "print(x.numpy())\n"
    )
    subprocess.run(
        (sys.executable, "-m", "PyInstaller", "program.py"), cwd=tmp_path, check=True, capture_output=True
    )
    done = subprocess.run(
        (tmp_path / "dist/program/program",), cwd="/", capture_output=True, text=True, check=False
    )
    assert done.stdout == "[0.]\n", done.stderr
