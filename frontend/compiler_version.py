"""A text that changes whenever the compiler does: the version, and its source files' sizes and times.

The version alone would let a checkout that is being worked on use code of yesterday's compiler, and the files alone a
package system that gives all of them one time.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import lru_cache
from pathlib import Path

from ..ir.sha256 import sha256

PACKAGE = __name__.rpartition(".frontend.")[0]
"""The name of lapilli's own package."""

FOLDERS = ("frontend", "ir", "passes", "spirv")
"""Folders of the package whose code decides what a kernel compiles to."""


@lru_cache(maxsize=1)
def compiler_version() -> str:
    """Returns the fingerprint of lapilli's compiler, of xDSL and of Python as they are on disk."""
    root = Path(__file__).resolve().parent.parent
    digest = sha256(f"{sys.version} {getattr(sys.modules.get(PACKAGE), '__version__', '')}".encode())
    if root.is_dir() and not _is_frozen():
        for folder in FOLDERS:
            for line in sorted(_files(os.fspath(root / folder))):
                digest.update(line.encode())
    else:
        digest.update(_state(root).encode())
    xdsl = importlib.util.find_spec("xdsl")
    if xdsl is not None and xdsl.origin is not None:
        digest.update(f"xdsl {_state(Path(xdsl.origin))}".encode())
    return digest.hexdigest()


def _is_frozen() -> bool:
    """Whether this is a program as PyInstaller and its kin make it, which may unpack its files anew in each run."""
    return bool(getattr(sys, "frozen", False))


def _state(path: Path) -> str:
    """Returns size and time of a file, or of what it lies in: a zip file, or the program it is frozen into."""
    found = next(place for place in (path, *path.parents, Path("/")) if place.exists())
    status = (found if found.is_file() and not _is_frozen() else Path(sys.executable)).stat()
    return f"{status.st_size} {status.st_mtime_ns}"


def _files(folder: str) -> list[str]:
    found: list[str] = []
    with os.scandir(folder) as items:
        for item in items:
            if item.is_dir():
                if item.name != "__pycache__":
                    found += _files(item.path)
            elif item.name.endswith((".py", ".pyc")):
                status = item.stat()
                found.append(f"{item.path} {status.st_size} {status.st_mtime_ns}\n")
    return found
