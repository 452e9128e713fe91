"""The set-up scripts against fake machines: a PATH of shell scripts, projects in temporary folders."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

SETUP = Path(__file__).resolve().parents[2] / "tools" / "setup"
FIND_PYTHON = SETUP / "find_python.sh"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Makes the scripts importable by the names that they use among themselves."""
    monkeypatch.syspath_prepend(str(SETUP))
    yield
    for name in ("system_packages", "virtual_environment", "bootstrap"):
        sys.modules.pop(name, None)


@pytest.fixture
def packages(scripts: None) -> ModuleType:
    return importlib.import_module("system_packages")


@pytest.fixture
def environments(scripts: None) -> ModuleType:
    return importlib.import_module("virtual_environment")


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def find_python(path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    command = ("/bin/sh", str(FIND_PYTHON))
    env = {"PATH": f"{path}:/usr/bin:/bin", **env}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_find_python_passes_over_shims_that_do_not_run(tmp_path: Path) -> None:
    program(tmp_path / "python3.14", "echo 'python3.14: command not found' >&2; exit 127")
    program(tmp_path / "python3.13", f'exec {sys.executable} "$@"')
    assert find_python(tmp_path).stdout == f"{tmp_path}/python3.13\n"


def test_find_python_takes_the_variable_first(tmp_path: Path) -> None:
    program(tmp_path / "python3.14", f'exec {sys.executable} "$@"')
    assert find_python(tmp_path, PYTHON=sys.executable).stdout == f"{sys.executable}\n"


def test_find_python_refuses_a_variable_that_is_too_old(tmp_path: Path) -> None:
    old = program(tmp_path / "old", '[ "$1" = --version ] && echo Python 3.9.2; exit 1')
    done = find_python(tmp_path, PYTHON=str(old))
    assert done.returncode == 1
    assert f"needs Python 3.11 or newer; PYTHON={old} is Python 3.9.2" in done.stderr


def test_find_python_says_what_it_found_where_all_are_too_old(tmp_path: Path) -> None:
    for name in ("python3.14", "python3.13", "python3.12", "python3.11", "python3"):
        program(tmp_path / name, '[ "$1" = --version ] && echo Python 3.9.2; exit 1')
    done = find_python(tmp_path)
    assert done.returncode == 1
    assert "PATH has: Python 3.9.2" in done.stderr
    assert "make PYTHON=" in done.stderr


def fake_apt(folder: Path, monkeypatch: pytest.MonkeyPatch, *, installed: str, get: str) -> Path:
    """A machine on which `installed` is installed and apt-get runs `get`; returns the log of its calls."""
    log = folder / "log"
    log.touch()
    program(
        folder / "bin" / "dpkg-query",
        f"echo '{installed}:amd64 installed'; echo 'gone not-installed'; exit 1",
    )
    program(folder / "bin" / "apt-get", f'echo "$@" >> {log}; {get}')
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    return log


def test_installed_packages_are_left_alone(
    packages: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = fake_apt(tmp_path, monkeypatch, installed="libvulkan1", get="exit 0")
    assert packages.ensure_packages(("libvulkan1",), "Vulkan")
    assert log.read_text() == ""


def test_removed_packages_count_as_missing(
    packages: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_apt(tmp_path, monkeypatch, installed="libvulkan1", get="exit 0")
    assert packages.missing_packages(("libvulkan1", "gone", "new")) == ("gone", "new")


def test_root_installs_what_is_missing_without_updating_lists(
    packages: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = fake_apt(tmp_path, monkeypatch, installed="libvulkan1", get="exit 0")
    monkeypatch.setattr(packages, "is_root", lambda: True)
    assert packages.ensure_packages(("libvulkan1", "mesa-vulkan-drivers"), "Vulkan")
    assert log.read_text() == "install -y --no-install-recommends mesa-vulkan-drivers\n"


def test_lists_are_updated_where_the_first_attempt_fails(
    packages: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    get = f'[ "$1" = update ] && touch {tmp_path}/lists; [ -e {tmp_path}/lists ]'
    log = fake_apt(tmp_path, monkeypatch, installed="x", get=get)
    monkeypatch.setattr(packages, "is_root", lambda: True)
    assert packages.ensure_packages(("new",), "tests")
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["install", "update", "install"]


def test_a_package_that_cannot_be_installed_is_reported_and_does_not_raise(
    packages: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fake_apt(tmp_path, monkeypatch, installed="x", get="echo E: no network; exit 100")
    monkeypatch.setattr(packages, "is_root", lambda: True)
    assert not packages.ensure_packages(("new",), "the oracle tests")
    assert "could not install new; going on without (the oracle tests)" in capsys.readouterr().out


def test_without_root_the_exact_command_is_printed(
    packages: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = fake_apt(tmp_path, monkeypatch, installed="libvulkan1", get="exit 0")
    monkeypatch.setattr(packages, "is_root", lambda: False)
    assert not packages.ensure_packages(packages.VULKAN_PACKAGES, "Vulkan")
    expected = "sudo apt-get install -y --no-install-recommends mesa-vulkan-drivers vulkan-validationlayers"
    assert expected in capsys.readouterr().out
    assert log.read_text() == ""


def project_in(folder: Path) -> Path:
    (folder / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    return folder


def fake_environment(folder: Path, log: Path, *, status: int = 0) -> Path:
    program(folder / "bin" / "x", "")  # makes the folder
    return program(folder / "bin" / "python", f'echo "$@" >> {log}; exit {status}').parents[1]


def test_extras_are_installed_once_and_again_after_a_change(environments: ModuleType, tmp_path: Path) -> None:
    log, project = tmp_path / "log", project_in(tmp_path)
    (tmp_path / "venv").mkdir()
    venv = fake_environment(tmp_path / "venv", log)
    environments.install_extras(venv, project, ("test",))
    environments.install_extras(venv, project, ("test",))
    assert len(log.read_text().splitlines()) == 1
    assert log.read_text().endswith(f"--editable {project}[test]\n")
    environments.install_extras(venv, project, ("test", "lint"))
    assert len(log.read_text().splitlines()) == 2
    (project / "pyproject.toml").write_text("[project]\nname = 'y'\n")
    environments.install_extras(venv, project, ("test",))
    assert len(log.read_text().splitlines()) == 3


def test_a_failed_installation_is_tried_again(environments: ModuleType, tmp_path: Path) -> None:
    log, project = tmp_path / "log", project_in(tmp_path)
    (tmp_path / "venv").mkdir()
    venv = fake_environment(tmp_path / "venv", log, status=1)
    for _ in range(2):
        with pytest.raises(environments.SetupError, match="pip could not install"):
            environments.install_extras(venv, project, ("test",))
    assert len(log.read_text().splitlines()) == 2


def test_a_sound_environment_is_kept_and_a_broken_one_made_anew(
    environments: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        environments, "_with_venv", lambda directory: environments._runs(*make_bare(directory))
    )
    monkeypatch.setattr(environments, "_is_sound", lambda directory: (directory / "pyvenv.cfg").exists())
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "left-over").touch()
    environments.ensure_virtual_environment(venv)
    assert not (venv / "left-over").exists()
    (venv / "mine").touch()
    environments.ensure_virtual_environment(venv)
    assert (venv / "mine").exists()


def make_bare(directory: Path) -> tuple[str, ...]:
    return (sys.executable, "-m", "venv", "--without-pip", str(directory))


def test_an_environment_without_pip_is_not_sound(environments: ModuleType, tmp_path: Path) -> None:
    subprocess.run(make_bare(tmp_path / "venv"), check=True)
    assert not environments._is_sound(tmp_path / "venv")
    assert not environments._is_sound(tmp_path / "absent")


def test_without_any_way_to_make_an_environment_the_message_names_the_package(
    environments: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for way in ("_with_venv", "_with_debian_package", "_with_virtualenv", "_with_uv"):
        monkeypatch.setattr(environments, way, lambda directory: False)
    with pytest.raises(environments.SetupError, match=r"apt-get install .*python3\.\d+-venv"):
        environments.ensure_virtual_environment(tmp_path / "venv")
