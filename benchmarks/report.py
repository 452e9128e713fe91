"""Results as tables for people and as JSON for comparison with other runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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

    def save(self, path: Path) -> None:
        """Writes the report, and its kernel times as a Markdown table beside it, making folders as needed."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.to_json())
        if self.kernels:
            path.with_suffix(".md").write_text(kernels_markdown(self.kernels))


def print_latency(console: Console, results: Sequence[LatencyResult]) -> None:
    """Prints launch latency; every figure is the mean of a round's launches."""
    console.print("\nLaunch latency, one work-group of 64, µs per launch; ratio = lapilli / raw cffi loop")
    print_table(
        console,
        (
            "device",
            "what",
            "pinned",
            "lapilli min",
            "median",
            "raw min",
            "median",
            "raw for host min",
            *_RATIO,
        ),
        [
            (
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
            for result in results
        ],
    )


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
    console.print("\nKernel time, ms; ratio = lapilli / GLSL, below 1 lapilli is faster")
    print_table(console, _KERNEL_COLUMNS, [_kernel_row(result) for result in results])


def kernels_markdown(results: Sequence[KernelResult]) -> str:
    """Returns kernel times as a Markdown table."""
    return markdown_table(_KERNEL_COLUMNS, [_kernel_row(result) for result in results])


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


_RATIO = ("ratio min", "median", "max")


def _ratio(ratio: Spread) -> tuple[str, str, str]:
    return f"{ratio.min:.2f}", f"{ratio.median:.2f}", f"{ratio.max:.2f}"
