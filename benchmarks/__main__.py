"""``python -m benchmarks``: see README.md beside this file."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

import lapilli as lp
from lapilli.tools.console import make_console

from . import machine
from .cases import Size, make_cases
from .glsl import missing_tools
from .kernels import WrongResultError, measure_case
from .latency import measure_latency
from .report import Report, print_kernels, print_latency

RESULTS = Path(__file__).resolve().parent / "results"
_PACKAGES = {"glslangValidator": "glslang-tools", "spirv-opt": "spirv-tools"}
"""Debian packages by the program that they bring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What to measure, and how often."""

    parts: tuple[str, ...] = ("latency", "kernels")
    size: Size = "default"
    """Of the kernels' data."""
    rounds: int = 25
    names: tuple[str, ...] = ()
    """Cases to measure; empty: all."""
    launches: int = 200
    """With a wait each, a side and round of the latency."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("parts", nargs=-1, type=click.Choice(["latency", "kernels"]))
@click.option("--device", "selector", metavar="SELECTOR", help="Only this device; default: every one.")
@click.option("--full", is_flag=True, help="The sizes of the published figures; takes many minutes.")
@click.option("--case", "names", multiple=True, help="Only this case; may be repeated.")
@click.option(
    "--rounds", type=click.IntRange(min=1), default=25, show_default=True, help="Interleaved rounds."
)
@click.option(
    "--json",
    "json_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write results here, and as a Markdown document beside it.",
)
@click.option(
    "--save", is_flag=True, help="Write results into benchmarks/results, named by machine and date."
)
def main(
    parts: tuple[str, ...],
    selector: str | None,
    full: bool,
    names: tuple[str, ...],
    rounds: int,
    json_path: Path | None,
    save: bool,
) -> None:
    """Measures launch latency and kernel time; without PARTS both.

    Latency is compared with a minimal loop of raw Vulkan calls, kernels with hand-written GLSL on the same
    driver, each in interleaved rounds of one run.
    """
    console = make_console()
    settings = Settings(
        parts=parts or ("latency", "kernels"), size="full" if full else "default", rounds=rounds, names=names
    )
    try:
        devices = lp.devices() if selector is None else (lp.device(selector),)
        report = run(devices, settings, console)
    except (lp.Error, WrongResultError, RuntimeError) as error:
        sys.exit(f"benchmarks: {error}")
    for path in (json_path, RESULTS / machine.file_name(report.machine) if save else None):
        if path is not None:
            report.save(path)
            console.print(f"results written to {path} and {path.with_suffix('.md').name}")


def run(devices: tuple[lp.Device, ...], settings: Settings, console: Console) -> Report:
    """Measures, and prints as it goes.

    Raises:
        WrongResultError: a kernel computes something else than NumPy.
        Error: a device fails.
    """
    report = Report(
        machine=machine.describe(devices),
        settings={"size": settings.size, "rounds": settings.rounds, "launches": settings.launches},
    )
    _print_head(console, report, devices)
    if "latency" in settings.parts:
        for device in devices:
            report.latency += measure_latency(device, rounds=settings.rounds, launches=settings.launches)
        print_latency(console, report.latency)
    if "kernels" in settings.parts:
        _run_kernels(devices, settings, report, console)
        print_kernels(console, report.kernels)
    for line in report.skipped:
        console.print(line)
    return report


def _run_kernels(
    devices: tuple[lp.Device, ...], settings: Settings, report: Report, console: Console
) -> None:
    missing = missing_tools()
    if missing:
        packages = " ".join(_PACKAGES[name] for name in missing)
        report.skipped.append(
            f"kernels not measured: {' and '.join(missing)} not found; install: apt-get install {packages}"
        )
        return
    cases = make_cases(settings.size)
    unknown = set(settings.names) - {case.name for case in cases}
    if unknown:
        raise RuntimeError(f"no case {sorted(unknown)}; there are {[case.name for case in cases]}")
    for case in cases:
        if settings.names and case.name not in settings.names:
            continue
        for device in devices:
            result = measure_case(device, case, settings.rounds)
            console.print(f"{device.selector}, {case.name}: {result.ratio.median:.2f} of GLSL's time")
            report.kernels.append(result)
    report.kernels.sort(key=lambda result: [d.selector for d in devices].index(result.device))


def _print_head(console: Console, report: Report, devices: tuple[lp.Device, ...]) -> None:
    about = report.machine
    console.print(
        f"{about['cpu']}, {about['cores']} cores, {about['system']}, Python {about['python']}, "
        f"load {about['load_average_1_min']}; {about['date']}"
    )
    for device in devices:
        console.print(f"{device.selector}: {device.name}, {device.platform.name} {device.platform.version}")


if __name__ == "__main__":
    main()
