"""What was found on the way to a device, and what to do where nothing was: for ``lapilli doctor``."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from .loader import INSTALL_DRIVER, INSTALL_EMBEDDED

if TYPE_CHECKING:
    from .device import Device

Status = Literal["ok", "no device", "failed", "missing", "skipped", "disabled"]

_MANIFEST_VARIABLES = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")
_ADDING_VARIABLE = "VK_ADD_DRIVER_FILES"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverRecord:
    """One way into Vulkan that was tried."""

    source: Literal["loader", "embedded"]
    library: str
    """The loader's library, or the driver's."""
    status: Status
    reason: str
    """Why it is not used, or what it is; never empty."""
    devices: tuple[Device, ...] = ()
    """The devices that came of it, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverManifest:
    """A JSON file that tells the loader of a driver."""

    path: Path
    origin: str
    """The environment variable or folder that named it."""
    library: str = ""
    """The driver library that it names."""
    problem: str = ""
    """What is wrong with the file; empty where nothing is."""

    @property
    def library_path(self) -> str:
        """What the dynamic linker is asked for: a name without a slash it searches itself."""
        return str(self.path.parent / self.library) if "/" in self.library else self.library


def driver_manifests() -> tuple[DriverManifest, ...]:
    """Returns the driver manifests that the Vulkan loader would look at (Linux), in its order."""
    return tuple(_read_manifest(path, origin) for path, origin in _manifest_paths())


def _manifest_paths() -> Iterator[tuple[Path, str]]:
    replacing = next((name for name in _MANIFEST_VARIABLES if os.environ.get(name)), None)
    yield from _paths_named_by(replacing or _ADDING_VARIABLE)
    if replacing is None and sys.platform == "linux":
        for folder in _manifest_folders():
            yield from ((item, str(folder)) for item in sorted(folder.glob("*.json")))


def _paths_named_by(variable: str) -> Iterator[tuple[Path, str]]:
    for entry in filter(None, os.environ.get(variable, "").split(os.pathsep)):
        path = Path(entry)
        inside = sorted(path.glob("*.json")) if path.is_dir() else []
        yield from ((item, variable) for item in inside or [path])


def shadowed_manifests() -> tuple[DriverManifest, ...]:
    """Returns what is named by variables that the loader looks at when useless ones in front of them are unset."""
    useless = misleading_variables()
    return tuple(
        _read_manifest(path, origin) for name in useless[1:] for path, origin in _paths_named_by(name)
    )


def _manifest_folders() -> Iterator[Path]:
    home = Path(os.environ.get("HOME", "/"))
    roots = [os.environ.get("XDG_CONFIG_HOME") or str(home / ".config")]
    roots += (os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    roots += ["/etc", os.environ.get("XDG_DATA_HOME") or str(home / ".local/share")]
    roots += (os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":")
    for root in dict.fromkeys(filter(None, roots)):
        yield Path(root) / "vulkan" / "icd.d"


def _read_manifest(path: Path, origin: str) -> DriverManifest:
    def record(library: str = "", problem: str = "") -> DriverManifest:
        return DriverManifest(path=path, origin=origin, library=library, problem=problem)

    if path.is_dir():
        return record(problem="this folder has no manifest (*.json)")
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return record(problem="there is no such file")
    except (OSError, ValueError) as error:
        return record(problem=f"cannot be read: {error}")
    driver = cast("dict[str, Any]", content).get("ICD") if isinstance(content, dict) else None
    library = cast("dict[str, Any]", driver).get("library_path") if isinstance(driver, dict) else None
    if not isinstance(library, str):
        return record(problem="names no library (ICD.library_path)")
    found = record(library)
    if "/" in library and not Path(found.library_path).exists():
        return record(library, f"its driver library {library} does not exist")
    return found


def diagnosis(records: Sequence[DriverRecord]) -> str:
    """Says in a few lines what was looked at, and the commands that repair a machine without a device."""
    lines = ["no usable Vulkan device was found"]
    for record in records:
        title = "Vulkan loader" if record.source == "loader" else "embedded SwiftShader"
        lines.append(f"  {title}: {record.library or '-'}: {record.status}: {record.reason}")
        if record.source == "loader" and record.status != "missing":
            lines += _manifest_lines()
    lines += ["to repair this, either", *(f"  unset {name}" for name in misleading_variables())]
    lines += [
        f"  as root: {INSTALL_DRIVER}",
        f"  or:      {INSTALL_EMBEDDED}",
        "more about it: lapilli doctor",
    ]
    return "\n".join(lines)


def misleading_variables() -> list[str]:
    """Variables that keep the loader from the drivers of the machine: they name only what cannot be used.

    The loader looks at the first one alone, so the next one counts only where that is to be unset.
    """
    found: list[str] = []
    for name in filter(os.environ.get, _MANIFEST_VARIABLES):
        named = [_read_manifest(path, origin) for path, origin in _paths_named_by(name)]
        if not all(manifest.problem for manifest in named):
            break
        found.append(name)
    return found


def _manifest_lines() -> list[str]:
    lines = [
        f"    {name}={os.environ[name]} (set in the environment)"
        for name in (*_MANIFEST_VARIABLES, _ADDING_VARIABLE)
        if os.environ.get(name)
    ]
    manifests = driver_manifests()
    lines += [f"    driver file {item.path}: {item.problem or f'names {item.library}'}" for item in manifests]
    return lines if manifests else [*lines, "    driver files: none"]
