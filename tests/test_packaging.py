"""pyproject.toml lists packages by hand (no discovery fits the layout): a new folder is easily forgotten."""

from __future__ import annotations

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


def test_package_directories_exist() -> None:
    for package, directory in SETUPTOOLS["package-dir"].items():
        assert (ROOT / directory / "__init__.py").is_file(), package


def test_type_checkers_find_each_folder_through_its_link() -> None:
    for folder in FOLDERS:
        assert (ROOT / "src" / "lapilli" / folder).resolve() == ROOT / folder


def test_version_is_stated_once_the_same() -> None:
    import lapilli

    assert PYPROJECT["project"]["version"] == lapilli.__version__
