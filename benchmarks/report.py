"""Results as tables for people and as JSON for comparison with other runs.

``python -m benchmarks.report RUN.json…`` writes the tables of saved runs anew.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from lapilli.tools.console import print_table

from .kernels import KernelResult
from .latency import LatencyResult
from .rounds import Spread

FORMAT_VERSION = 2
"""Rises with every change of the meaning of a field."""


@dataclass(kw_only=True)
class Report:
    """One run of the harness."""

    machine: Mapping[str, object]
    """See `machine.describe`."""
    settings: Mapping[str, object]
    """Rounds and sizes."""
    latency: list[LatencyResult] = field(default_factory=list[LatencyResult])
    kernels: list[KernelResult] = field(default_factory=list[KernelResult])
    skipped: list[str] = field(default_factory=list[str])
    """What was not measured, and why."""

    def to_json(self) -> str:
        """Returns the whole report."""
        content = {
            "format": FORMAT_VERSION,
            "machine": self.machine,
            "settings": self.settings,
            "latency": [result.as_dict() for result in self.latency],
            "kernels": [result.as_dict() for result in self.kernels],
            "skipped": self.skipped,
        }
        return json.dumps(content, indent=1) + "\n"

    @staticmethod
    def from_json(text: str) -> Report:
        """Reads what `to_json` made."""
        content: dict[str, Any] = json.loads(text)
        return Report(
            machine=content["machine"],
            settings=content["settings"],
            latency=[LatencyResult.from_dict(fields) for fields in content["latency"]],
            kernels=[KernelResult.from_dict(fields) for fields in content["kernels"]],
            skipped=content["skipped"],
        )

    def to_markdown(self) -> str:
        """Returns the machine and the tables as a Markdown document."""
        parts = ["# A run of `python -m benchmarks`\n", machine_markdown(self.machine)]
        parts.append(f"{', '.join(f'{name} {value}' for name, value in self.settings.items())}\n")
        if self.latency:
            rows = [_latency_row(result) for result in self.latency]
            parts.append(f"## {_LATENCY}\n\n{markdown_table(_LATENCY_COLUMNS, rows)}")
        if self.kernels:
            rows = [_kernel_row(result) for result in self.kernels]
            parts.append(f"## {_KERNELS}\n\n{markdown_table(_KERNEL_COLUMNS, rows)}")
        return "\n".join([*parts, *(f"{line}\n" for line in self.skipped)])

    def save(self, path: Path) -> None:
        """Writes the report, and the same as Markdown beside it, making folders as needed."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.to_json(), "utf-8")
        path.with_suffix(".md").write_text(self.to_markdown(), "utf-8")


def machine_markdown(about: Mapping[str, Any]) -> str:
    """Returns what `machine.describe` found: the machine, versions, and a table of the drivers."""
    versions = {"Python": about["python"], **about["versions"]}
    lines = [
        f"{about['cpu']}, {about['cores']} cores, {about['system']}; {about['date']}, "
        f"load {about['load_average_1_min']}",
        ", ".join(f"{name} {version}" for name, version in versions.items()),
        ", ".join(f"{name}: {version}" for name, version in about["programs"].items()),
    ]
    devices: Mapping[str, Mapping[str, str]] = about["devices"]
    rows = [(selector, *device.values()) for selector, device in devices.items()]
    table = markdown_table(("device", "name", "driver", "version", "Vulkan"), rows)
    return "\n\n".join([*lines, table])


_LATENCY = "Launch latency, one work-group of 64, µs per launch; ratio = lapilli / raw cffi loop"
_LATENCY_COLUMNS = (
    "device",
    "what",
    "pinned",
    "lapilli min",
    "median",
    "raw min",
    "median",
    "raw for host min",
    "ratio min",
    "median",
    "max",
)


def _latency_row(result: LatencyResult) -> tuple[str, ...]:
    return (
        result.device,
        result.what,
        "1 CPU" if result.is_pinned else "no",
        f"{result.lapilli_us.min:.2f}",
        f"{result.lapilli_us.median:.2f}",
        f"{result.raw_us.min:.2f}",
        f"{result.raw_us.median:.2f}",
        "-" if result.raw_for_host_us is None else f"{result.raw_for_host_us.min:.2f}",
        *_ratio(result.ratio),
    )


def print_latency(console: Console, results: Sequence[LatencyResult]) -> None:
    """Prints launch latency; every figure is the mean of a round's launches."""
    console.print(f"\n{_LATENCY}")
    print_table(console, _LATENCY_COLUMNS, [_latency_row(result) for result in results])


_KERNELS = "Kernel time, ms; ratio = lapilli / GLSL, below 1 lapilli is faster"
_KERNEL_COLUMNS = (
    "device",
    "case",
    "work-items",
    "lapilli ms",
    "local",
    "GLSL ms",
    "local",
    "ratio min",
    "median",
    "max",
    "of minima",
    "plain / GLSL",
    "coarsened / plain",
    "device or CPU time",
)


def _kernel_row(result: KernelResult) -> tuple[str, ...]:
    return (
        result.device,
        result.case,
        " x ".join(map(str, result.extents)),
        f"{result.lapilli_ms.median:.3f}",
        _local(result.lapilli_local),
        f"{result.glsl_ms.median:.3f}",
        _local(result.glsl_local),
        *_ratio(result.ratio),
        f"{result.ratio_of_minima:.2f}",
        f"{result.plain_ratio.median:.2f}",
        "-" if result.coarsened_ratio is None else f"{result.coarsened_ratio.median:.2f}",
        _other_clock(result),
    )


def _other_clock(result: KernelResult) -> str:
    ratio = result.cpu_ratio or result.device_ratio
    return "-" if ratio is None else f"{ratio.median:.2f}"


def _local(size: tuple[int, ...] | None) -> str:
    return "chosen" if size is None else " x ".join(map(str, size))


def print_kernels(console: Console, results: Sequence[KernelResult]) -> None:
    """Prints kernel times, launch and wait included."""
    console.print(f"\n{_KERNELS}")
    print_table(console, _KERNEL_COLUMNS, [_kernel_row(result) for result in results])


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _ratio(ratio: Spread) -> tuple[str, str, str]:
    return f"{ratio.min:.2f}", f"{ratio.median:.2f}", f"{ratio.max:.2f}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Report.from_json(Path(name).read_text("utf-8")).save(Path(name))
