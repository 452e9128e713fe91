"""pyproject.toml lists packages by hand (discovery does not follow links): a new folder is easily forgotten."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SETUPTOOLS = PYPROJECT["tool"]["setuptools"]
FOLDERS = ("frontend", "ir", "passes", "spirv", "vk_runtime", "tools")


def packages_found() -> set[str]:
    paths = (path.parent for folder in FOLDERS for path in (ROOT / folder).rglob("__init__.py"))
    return {"lapilli", *(".".join(("lapilli", *path.relative_to(ROOT).parts)) for path in paths)}


def test_packages_list_equals_folders_found() -> None:
    assert set(SETUPTOOLS["packages"]) == packages_found()
    assert len(SETUPTOOLS["packages"]) == len(packages_found())


def test_every_folder_with_modules_is_a_package() -> None:
    with_modules = {path.parent for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    without_init = {path for path in with_modules if not (path / "__init__.py").exists()}
    # The set-up scripts run before lapilli is installed and are no part of it.
    assert without_init == {ROOT / "tools" / "setup"}


def test_a_folder_named_as_the_package_beside_a_program_is_no_hindrance(tmp_path: Path) -> None:
    assert SETUPTOOLS["package-dir"] == {"": "src"}  # what an editable install puts on the path
    (tmp_path / "lapilli" / "frontend").mkdir(parents=True)  # a checkout, which has no __init__.py
    (tmp_path / "program.py").write_text("import lapilli\nprint(lapilli.__version__)")
    done = subprocess.run(
        (sys.executable, "program.py"),
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == PYPROJECT["project"]["version"], done.stderr


def test_each_folder_is_found_through_its_link() -> None:
    for folder in FOLDERS:
        assert (ROOT / "src" / "lapilli" / folder).resolve() == ROOT / folder


def test_version_is_stated_once_the_same() -> None:
    import lapilli

    assert PYPROJECT["project"]["version"] == lapilli.__version__
