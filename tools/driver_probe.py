"""Tries one Vulkan driver in a process of its own: ``python -m lapilli.tools.driver_probe [--loader] LIBRARY``.

A driver that is broken or was built for another system may end its process, which `lapilli doctor` must
survive and report.  The library is opened directly, or with ``--loader`` by the loader, for which the caller has set
VK_DRIVER_FILES to the file that names it.  Prints one JSON object.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from ..ir.errors import Error
from ..vk_runtime.constants import VK_ERROR_INCOMPATIBLE_DRIVER
from ..vk_runtime.errors import VulkanError
from ..vk_runtime.instance import Instance
from ..vk_runtime.loader import EntryPointError, open_driver, open_loader
from ..vk_runtime.physical_device import UnusableDeviceError, read_physical_device

_ENTRY_POINT = "vk_icdGetInstanceProcAddr"
"""What every driver exports for the loader, but for those of the first interface, which is gone."""

TIMEOUT_S = 60
"""How long a driver may take to name its devices."""


class Answer(TypedDict):
    """What a driver said."""

    devices: list[str]
    """Names of the devices that can be used."""
    refused: list[str]
    """Why each other device, or the driver as a whole, cannot."""


def probe(library: str, *, by_loader: bool = False) -> Answer:
    """Opens a driver in this process and reads its devices; see the module."""
    answer = Answer(devices=[], refused=[])
    try:
        instance = Instance(open_loader() if by_loader else open_driver(Path(library)))
    except (EntryPointError, Error) as error:
        reason = str(error)
        if by_loader and isinstance(error, VulkanError) and error.result == VK_ERROR_INCOMPATIBLE_DRIVER:
            reason = _why_not_loaded(library)
        if reason:
            answer["refused"].append(reason)
        return answer
    for raw in instance.physical_devices():
        try:
            answer["devices"].append(read_physical_device(instance, raw).name)
        except (UnusableDeviceError, Error) as error:
            answer["refused"].append(str(error))
    instance.close()
    return answer


def _why_not_loaded(library: str) -> str:
    """Says what the loader cannot use about a driver library; empty where it is one that has nothing to do here.

    The loader has one answer for both, VK_ERROR_INCOMPATIBLE_DRIVER: a driver gives it as well where the machine lacks
    its device (Mesa's virtio).
    """
    try:
        opened = ctypes.CDLL(library)
    except OSError as error:
        return str(error)
    return "" if hasattr(opened, _ENTRY_POINT) else f"{library} is no Vulkan driver: it has no {_ENTRY_POINT}"


def probe_apart(arguments: Sequence[str], variables: Mapping[str, str]) -> Answer:
    """Runs this module in another process, `variables` over the environment; raises for no driver."""
    command = (sys.executable, "-m", "lapilli.tools.driver_probe", *arguments)
    try:
        done = subprocess.run(
            command,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return Answer(devices=[], refused=[f"does not answer within {TIMEOUT_S} s"])
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    if done.returncode < 0:
        return Answer(devices=[], refused=[f"ends the process with signal {-done.returncode}"])
    last_lines = done.stderr.strip().splitlines()[-1:]
    return Answer(devices=[], refused=last_lines or [f"ends the process with status {done.returncode}"])


if __name__ == "__main__":
    print(json.dumps(probe(sys.argv[-1], by_loader="--loader" in sys.argv[1:-1])))
