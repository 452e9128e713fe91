"""``python -m benchmarks.cuda``: lapilli on an NVIDIA GPU beside CUDA, in interleaved rounds of one run.

Kernels are timed by the device (timestamps, CUDA events), latencies by the host.  Without CuPy, or on a machine without
CUDA, lapilli's half runs alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import lapilli as lp
from lapilli.tools.console import make_console

from . import machine
from .cuda_cases import CudaCase, make_cuda_cases
from .cuda_latency import latency_sides
from .cuda_sides import CudaArrays, copy_side, cublas_side, cuda_side, load_cupy
from .glsl import missing_tools
from .kernels import WrongResultError, check_side
from .report import machine_markdown, markdown_table
from .rounds import Spread, interleave
from .sides import Side, Sides, best

Measure = Callable[[], float]
"""Measures one side once and returns a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one side of one case took."""

    case: str
    side: str
    time: Spread
    """Milliseconds of a kernel, microseconds of a launch."""
    unit: str
    """Of `rate`, or of `time` where there is none."""
    rate: float | None
    """Work by time, from the median."""
    to_reference: float
    """Median of reference time / time within each round: above 1 faster than the reference."""
    reference: str

    def as_dict(self) -> dict[str, object]:
        """Returns plain values, for JSON."""
        return {
            "case": self.case,
            "side": self.side,
            "time": self.time.as_dict(),
            "unit": self.unit,
            "rate": self.rate,
            "to_reference": self.to_reference,
            "reference": self.reference,
        }


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--device", "selector", metavar="SELECTOR", help="Default: the default device.")
@click.option("--small", is_flag=True, help="Small sizes, which show that it works and nothing else.")
@click.option("--rounds", type=click.IntRange(min=1), default=15, show_default=True)
@click.option("--case", "names", multiple=True, help="Only this case; may be repeated.")
@click.option("--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), help="Also Markdown.")
def main(
    selector: str | None, small: bool, rounds: int, names: tuple[str, ...], json_path: Path | None
) -> None:
    """Compares lapilli with CUDA on one GPU."""
    console = make_console()
    device = lp.device(selector) if selector else lp.device()
    cupy = load_cupy()
    console.print(
        f"{device.name}, {device.platform.version}; CuPy {cupy.__version__ if cupy else 'not found'}"
    )
    try:
        results = run(device, cupy, small=small, rounds=rounds, names=names, report=console.print)
    except (lp.Error, WrongResultError, RuntimeError) as error:
        sys.exit(f"benchmarks: {error}")
    table = markdown(results)
    print(table)
    if json_path is not None:
        json_path.parent.mkdir(parents=True, exist_ok=True)
        about = machine.describe([device])
        content = {
            "machine": about,
            "cupy": cupy and cupy.__version__,
            "rounds": rounds,
            "results": [result.as_dict() for result in results],
        }
        json_path.write_text(json.dumps(content, indent=1) + "\n")
        json_path.with_suffix(".md").write_text(f"{machine_markdown(about)}\n{table}", "utf-8")


def run(
    device: lp.Device,
    cupy: Any,
    *,
    small: bool,
    rounds: int,
    names: tuple[str, ...] = (),
    report: Callable[[str], object] = print,
) -> list[Result]:
    """Measures all cases, or those that are named.

    Args:
        device: the GPU, as lapilli sees it.
        cupy: the module, None to leave CUDA out.
        small: sizes that only show that it works.
        rounds: interleaved.
        names: cases; empty: all.
        report: called with a line for each case that is done.

    Raises:
        WrongResultError: a side computes something else than NumPy.
    """
    results: list[Result] = []
    for case in make_cuda_cases(small=small):
        if not names or case.case.name in names:
            results += _measure_kernels(device, cupy, case, rounds)
            report(f"{case.case.name}: done")
    for what, sides in latency_sides(device, cupy, small=small):
        if not names or what in names:
            results += _results(what, interleave(sides, rounds), "µs", None)
            report(f"{what}: done")
    return results


def _measure_kernels(device: lp.Device, cupy: Any, case: CudaCase, rounds: int) -> list[Result]:
    queue = lp.Queue(device, profiling=device.has(lp.Aspect.QUEUE_PROFILING), in_order=True)
    arrays = case.case.arrays_on(device)
    try:
        found = _lapilli_sides(Sides(device, case.case, queue, arrays), case)
        for name, side in found.items():
            check_side(device, case.case, name, side, arrays)
        sides: dict[str, Measure] = {_named(name, side): _device_time(side) for name, side in found.items()}
        if cupy is not None:
            sides |= _cuda_sides(cupy, case)
        times = interleave(sides, rounds)
    finally:
        queue.close()
        for array in arrays:
            array.release()
    return _results(case.case.name, times, case.unit, case.work)


def _lapilli_sides(sides: Sides, case: CudaCase) -> dict[str, Side]:
    """Returns lapilli's forms of a kernel and the GLSL, each with its best local size."""
    sizes = sides.local_sizes
    found = {"lapilli": best([sides.plain(local) for local in sizes])}
    if not case.case.works_in_groups:
        found["lapilli, as launched"] = sides.as_launched()
        coarsened = sides.coarsened()
        if coarsened is not None:
            found["lapilli, coarsened"] = coarsened
    if not missing_tools():
        found["GLSL"] = best([sides.glsl(local) for local in sizes])
    for side in found.values():
        side.run()
    return found


def _named(name: str, side: Side) -> str:
    return name if side.local is None else f"{name} {'×'.join(map(str, side.local))}"


def _device_time(side: Side) -> Measure:
    """Returns what measures a side by the device's clock, by the host's where the device has none."""

    def measure() -> float:
        host_ms = side.measure()
        return (side.device_ms[-1] if side.device_ms else 0.0) or host_ms

    return measure


def _cuda_sides(cupy: Any, case: CudaCase) -> dict[str, Measure]:
    arrays = CudaArrays(cupy, case)
    sides = {"CUDA C": cuda_side(arrays)}
    if case.case.name == "saxpy":
        sides["CUDA copy"] = copy_side(arrays)
    if case.unit == "TFLOP/s":
        sides["cuBLAS"] = cublas_side(arrays)
    return sides


def _results(case: str, times: Mapping[str, list[float]], unit: str, work: float | None) -> list[Result]:
    reference = next((name for name in times if name.startswith("CUDA C")), next(iter(times)))
    results: list[Result] = []
    for side, found in times.items():
        spread = Spread.of(found)
        amount = None if work is None else work * (2 / 3 if side == "CUDA copy" else 1)
        quotients = [r / t for r, t in zip(times[reference], found, strict=True)]
        results.append(
            Result(
                case=case,
                side=side,
                time=spread,
                unit=unit,
                rate=None if amount is None else amount / (spread.median * 1e-3),
                to_reference=Spread.of(quotients).median,
                reference=reference,
            )
        )
    return results


def markdown(results: list[Result]) -> str:
    """Returns all results as a Markdown table."""
    rows = [
        (
            result.case,
            result.side,
            f"{result.time.min:.4g}",
            f"{result.time.median:.4g}",
            "µs" if result.rate is None else f"{result.rate:.4g} {result.unit}",
            f"{result.to_reference:.3f}",
        )
        for result in results
    ]
    columns = ("case", "side", "min", "median", "rate or unit", "speed / CUDA C (without CUDA: / first)")
    return markdown_table(columns, rows)


if __name__ == "__main__":
    main()
