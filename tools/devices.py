"""``lapilli devices``: the Vulkan devices present, best first, with what chooses between them."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ..ir.aspects import Aspect
from ..vk_runtime.device import Device
from ..vk_runtime.runtime import require_devices
from .console import make_console, print_table

HEADINGS = ("selector", "name", "type", "driver", "Vulkan", "memory", "work-group", "shared", "aspects")
_TYPES = (Aspect.GPU, Aspect.CPU, Aspect.ACCELERATOR, Aspect.CUSTOM, Aspect.EMULATED)


@click.command()
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON list with every limit, one object a device."
)
def command(as_json: bool) -> None:
    """List the Vulkan devices present, best first.

    The selector is what lp.device() and LAPILLI_DEVICE accept.
    """
    found = require_devices().devices
    if as_json:
        click.echo(json.dumps([description(device) for device in found], indent=2))
    else:
        print_devices(make_console(), found)


def print_devices(console: Console, found: tuple[Device, ...]) -> None:
    """Prints one row a device into a pipe, and a paragraph on a terminal, where the aspects fit into no column."""
    rows = [_row(device) for device in found]
    if not console.is_terminal:
        print_table(console, HEADINGS, rows)
        return
    for selector, name, kind, driver, version, memory, group, shared, aspects in rows:
        console.print(Text.assemble((selector, "bold"), f"  {name}"), soft_wrap=True)
        about = (
            f"{kind}, {driver}, Vulkan {version}, memory {memory}, work-groups of {group}, {shared} shared"
        )
        for line in (about, aspects):
            console.print(Padding(Text(line), (0, 0, 0, 4)))


def description(device: Device) -> dict[str, Any]:
    """Returns what ``--json`` prints of a device; sizes in bytes, tuples slowest dimension first."""
    info = device.info
    return {
        "selector": device.selector,
        "name": device.name,
        "type": device_type(device),
        "driver": device.platform.name,
        "driver_version": device.platform.version,
        "source": device.platform.source,
        "library": device.platform.library,
        "vulkan": info.version,
        "aspects": [aspect.name.lower() for aspect in sorted(device.aspects) if aspect >= 0],
        "limits": {
            "max_work_group_size": info.max_work_group_size,
            "max_work_item_sizes": list(info.max_work_item_sizes),
            "sub_group_sizes": list(info.sub_group_sizes),
            "local_mem_size": info.local_mem_size,
            "global_mem_size": info.global_mem_size,
            "max_mem_alloc_size": info.max_mem_alloc_size,
        },
    }


def device_type(device: Device) -> str:
    """Returns ``gpu``, ``cpu``, …: the aspect that says what the device is."""
    return next((aspect.name.lower() for aspect in _TYPES if device.has(aspect)), "unknown")


def _row(device: Device) -> tuple[str, ...]:
    info = device.info
    aspects = (a.name.lower() for a in sorted(device.aspects) if a >= 0 and a not in _TYPES)
    return (
        device.selector,
        device.name,
        device_type(device),
        f"{device.platform.name} {device.platform.version}",
        info.version,
        f"{info.global_mem_size / 2**30:.1f} GiB",
        str(info.max_work_group_size),
        f"{info.local_mem_size // 1024} KiB",
        " ".join(aspects),
    )
