"""The virtual environment ``.venv`` and the Python dependencies in it.  Standard library only.

What is installed is remembered in stamp files inside ``.venv``, one per extra, named by a hash of
pyproject.toml: the second run does nothing, and a changed dependency list installs again.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import system_packages


class SetupError(Exception):
    """The set-up cannot go on; the message says what to do."""


def ensure_virtual_environment(directory: Path) -> None:
    """Creates the environment at `directory` with the running Python, unless one that runs is there.

    Raises:
      SetupError: when no way to make one with pip in it exists here.
    """
    if _is_sound(directory):
        return
    if directory.exists():
        print(f"set-up: {directory} is incomplete or its Python is gone: making it anew", flush=True)
        shutil.rmtree(directory)
    print(f"set-up: creating {directory} with {sys.executable} ({sys.version.split()[0]})", flush=True)
    for create in (_with_venv, _with_debian_package, _with_virtualenv, _with_uv):
        if create(directory) and _is_sound(directory):
            return
        shutil.rmtree(directory, ignore_errors=True)
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    raise SetupError(
        f"{sys.executable} cannot make a virtual environment: it has no ensurepip, and there is neither "
        "virtualenv nor uv.\n"
        f"Run\n    {system_packages.install_command((package,))}\n"
        "or, where the package does not exist, name another Python: make PYTHON=/path/to/python3"
    )


def install_extras(directory: Path, project: Path, extras: Sequence[str]) -> None:
    """Installs the project, editable, with `extras` into the environment at `directory`, unless that is done.

    Raises:
      SetupError: when pip fails; its own output has been shown.
    """
    stamps = [_stamp(directory, project, extra) for extra in extras]
    if all(stamp.exists() for stamp in stamps):
        return
    print(f"set-up: installing Python dependencies for {', '.join(extras)}", flush=True)
    requirement = f"{project}[{','.join(extras)}]"
    pip = (str(python_of(directory)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    if subprocess.run((*pip, "--editable", requirement), check=False).returncode:
        raise SetupError("pip could not install the dependencies (its message is above); is there a network?")
    for stamp in stamps:
        stamp.touch()


def python_of(directory: Path) -> Path:
    """Returns the interpreter of the environment at `directory`."""
    return directory / "bin" / "python"


def _stamp(directory: Path, project: Path, extra: str) -> Path:
    # The project's place counts: an environment that was moved or copied holds the old path.
    content = (project / "pyproject.toml").read_bytes() + str(project).encode()
    return directory / f".installed-{extra}-{hashlib.sha256(content).hexdigest()[:16]}"


def _is_sound(directory: Path) -> bool:
    """Whether the environment's Python starts, is new enough, has pip and is installed where it lies."""
    probe = "import sys, pip; print(sys.prefix); sys.exit(sys.version_info < (3, 11))"
    try:
        done = subprocess.run(
            (python_of(directory), "-c", probe), capture_output=True, text=True, check=False
        )
    except OSError:
        return False
    return done.returncode == 0 and Path(done.stdout.strip()).resolve() == directory.resolve()


def _with_venv(directory: Path) -> bool:
    if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
        return False
    return _runs(sys.executable, "-m", "venv", str(directory))


def _with_debian_package(directory: Path) -> bool:
    """Debian leaves ensurepip out of its python3; python3.N-venv brings it."""
    if not sys.executable.startswith("/usr/bin/") or not system_packages.is_root():
        return False
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    if not system_packages.ensure_packages((package,), "virtual environments"):
        return False
    return _runs(sys.executable, "-m", "venv", str(directory))


def _with_virtualenv(directory: Path) -> bool:
    if importlib.util.find_spec("virtualenv") is not None:
        return _runs(sys.executable, "-m", "virtualenv", "--quiet", str(directory))
    if importlib.util.find_spec("pip") is None:
        return False
    # Never into the user's Python: virtualenv lives in a temporary folder for as long as it is needed.
    with tempfile.TemporaryDirectory() as scratch:
        if not _runs(sys.executable, "-m", "pip", "install", "--quiet", "--target", scratch, "virtualenv"):
            return False
        program = "import sys; sys.path[:0] = sys.argv[1:2]; import virtualenv as v; v.cli_run(sys.argv[2:])"
        return _runs(sys.executable, "-c", program, scratch, str(directory))


def _with_uv(directory: Path) -> bool:
    uv = shutil.which("uv")
    return uv is not None and _runs(
        uv, "venv", "--quiet", "--seed", "--python", sys.executable, str(directory)
    )


def _runs(*command: str) -> bool:
    """Runs one way to make an environment; its errors are shown only through the closing message."""
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
