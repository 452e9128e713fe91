"""``python -m benchmarks.peers``: see ../README.md."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

import lapilli as lp
from lapilli.tools.console import make_console, print_table

from .. import machine
from ..__main__ import RESULTS
from .cases import PARTS, Part, PeerCase, copy_cases, kernel_cases, latency_cases, second_case
from .measure import measure_case, measure_cold
from .packages import Caches, build_floor, environment, parse_peers, sides, with_shaders_given
from .processes import Peer, PeerError, Session
from .results import PeerReport, overview

VARIABLE = "LAPILLI_PEERS"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("parts", nargs=-1, type=click.Choice(PARTS))
@click.option(
    "--peer",
    "peers",
    multiple=True,
    metavar="NAME=PYTHON",
    help=f"A package and the interpreter that has it; may be repeated. Also {VARIABLE}, separated by '{os.pathsep}'.",
)
@click.option("--device", "selector", metavar="SELECTOR", help="Default: lavapipe, else the default device.")
@click.option("--rounds", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--small", is_flag=True, help="Small sizes, which show that it works and nothing else.")
@click.option("--case", "names", multiple=True, help="Only this case; may be repeated.")
@click.option("--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), help="Also Markdown.")
@click.option(
    "--save", is_flag=True, help="Write results into benchmarks/results, named by machine and date."
)
def main(
    parts: tuple[Part, ...],
    peers: tuple[str, ...],
    selector: str | None,
    rounds: int,
    small: bool,
    names: tuple[str, ...],
    json_path: Path | None,
    save: bool,
) -> None:
    """Measures lapilli beside other Python packages for Vulkan; without PARTS everything."""
    console = make_console()
    try:
        in_variable = [text for text in os.environ.get(VARIABLE, "").split(os.pathsep) if text]
        given = parse_peers([*in_variable, *peers])
        device = _device(selector)
        settings = Settings(parts=parts or PARTS, rounds=rounds, is_small=small, names=names)
        report = run(device, given, settings, console)
    except (lp.Error, PeerError) as error:
        sys.exit(f"benchmarks: {error}")
    for path in (json_path, RESULTS / machine.file_name(report.machine, "peers") if save else None):
        if path is not None:
            report.save(path)
            console.print(f"results written to {path}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What to measure, and how often."""

    parts: tuple[Part, ...] = PARTS
    rounds: int = 5
    is_small: bool = False
    names: tuple[str, ...] = ()
    """Cases; empty: all."""


def run(device: lp.Device, peers: Mapping[str, str], settings: Settings, console: Console) -> PeerReport:
    """Measures, and prints as it goes.

    Args:
        device: where lapilli runs; the others run on lavapipe if it does.
        peers: interpreters by package.
        settings: what.
        console: for the tables.
    """
    report = PeerReport(
        machine=machine.describe([device]),
        settings={"rounds": settings.rounds, "size": "small" if settings.is_small else "full"},
    )
    with tempfile.TemporaryDirectory() as name:
        comparison = Comparison(device, peers, settings, report, Path(name))
        for part in PARTS:
            if part in settings.parts:
                before, began = len(report.results), time.monotonic()
                comparison.measure(part)
                console.print(f"{part}: {time.monotonic() - began:.0f} s")
                if len(report.results) > before:
                    print_table(console, *overview(report.results[before:]))
    for line in report.skipped:
        console.print(line, markup=False)
    return report


class Comparison:
    """The parts of one run.

    Args:
        device: where lapilli runs.
        peers: interpreters by package.
        settings: what to measure.
        report: gets the results.
        folder: empty, for caches, inputs and results.
    """

    def __init__(
        self,
        device: lp.Device,
        peers: Mapping[str, str],
        settings: Settings,
        report: PeerReport,
        folder: Path,
    ) -> None:
        self._device, self._settings, self._report, self._folder = device, settings, report, folder
        self._sides = sides(peers)
        self._given = with_shaders_given(peers, folder)

    def measure(self, part: Part) -> None:
        """Measures one part on all sides."""
        if part == "cold":
            self._cold()
        elif part == "second":
            self._second()
        elif part == "latency":
            self._latency()
        elif part == "copies":
            self._cases(self._sides, copy_cases(small=self._settings.is_small), baseline="memcpy")
        else:
            self._cases(self._sides, kernel_cases(small=self._settings.is_small))

    def _environment(self, caches: Caches) -> dict[str, str]:
        return environment(self._device.selector, caches, self._folder)

    def _cold(self) -> None:
        for caches in ("none", "warm"):
            self._report.results += measure_cold(
                [*self._sides, *self._given],
                self._environment(caches),
                self._settings.rounds,
                self._report.skipped,
                setting=_SETTINGS[caches],
            )

    def _second(self) -> None:
        """Without caches, and in a second process after a first one has filled them."""
        case, everybody = second_case(self._settings.rounds), [*self._sides, *self._given]
        self._cases(everybody, [case], caches="none", setting=_SETTINGS["none"])
        with Session(everybody, self._environment("warm"), []) as filling:
            measure_case(filling, case, self._settings.rounds, self._folder)
        self._cases(everybody, [case], setting=_SETTINGS["warm"])

    def _latency(self) -> None:
        try:
            floor = [build_floor(self._folder)]
        except PeerError as error:
            self._report.skipped.append(str(error))
            floor = []
        cases = latency_cases(small=self._settings.is_small)
        self._cases([*self._sides, *floor], cases)
        if hasattr(os, "sched_setaffinity"):
            self._cases([*self._sides, *floor], cases, setting="1 CPU", cpu=max(os.sched_getaffinity(0)))

    def _cases(
        self,
        peers: Sequence[Peer],
        cases: Sequence[PeerCase],
        *,
        caches: Caches = "warm",
        setting: str = "",
        cpu: int | None = None,
        baseline: str = "",
    ) -> None:
        names, rounds = self._settings.names, self._settings.rounds
        wanted = [case for case in cases if not names or case.name in names]
        if not wanted:
            return
        with Session(peers, self._environment(caches), self._report.skipped, cpu=cpu) as session:
            for process in tuple(session.processes):
                if process.device not in ("", self._device.name):
                    session.drop(process, f"{process.peer.name} runs on '{process.device}'")
                about = {"version": process.version, "device": process.device}
                self._report.peers.setdefault(process.peer.name, about)
            for case in wanted:
                self._report.results += measure_case(
                    session, case, rounds, self._folder, setting=setting, baseline=baseline
                )


_SETTINGS = {"none": "no cache", "warm": "warm caches"}


def _device(selector: str | None) -> lp.Device:
    if selector is not None:
        return lp.device(selector)
    found = [device for device in lp.devices() if device.selector == "lavapipe"]
    return found[0] if found else lp.device()


if __name__ == "__main__":
    main()
