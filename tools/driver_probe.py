"""Tries one Vulkan driver in a process of its own: ``python -m lapilli.tools.driver_probe [LIBRARY]``.

A driver that is broken or was built for another system may end its process, which `lapilli doctor` must
survive and report.  Without an argument the loader is asked, with whatever VK_DRIVER_FILES the caller has
set; with one, the library is opened directly.  Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from ..ir.errors import Error
from ..vk_runtime.instance import Instance
from ..vk_runtime.loader import EntryPointError, open_driver, open_loader
from ..vk_runtime.physical_device import UnusableDeviceError, read_physical_device

TIMEOUT_S = 60
"""How long a driver may take to name its devices."""


class Answer(TypedDict):
    """What a driver said."""

    devices: list[str]
    """Names of the devices that can be used."""
    refused: list[str]
    """Why each other device, or the driver as a whole, cannot."""


def probe(library: str | None) -> Answer:
    """Opens a driver in this process and reads its devices; see the module for `library`."""
    answer = Answer(devices=[], refused=[])
    try:
        instance = Instance(open_loader() if library is None else open_driver(Path(library)))
    except (EntryPointError, Error) as error:
        answer["refused"].append(str(error))
        return answer
    for raw in instance.physical_devices():
        try:
            answer["devices"].append(read_physical_device(instance, raw).name)
        except (UnusableDeviceError, Error) as error:
            answer["refused"].append(str(error))
    instance.close()
    return answer


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
    print(json.dumps(probe(sys.argv[1] if len(sys.argv) > 1 else None)))
