"""The results of a comparison as tables and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..report import FORMAT_VERSION, machine_markdown, markdown_table
from .measure import FLOORS, LAPILLI, PeerResult


@dataclass(kw_only=True)
class PeerReport:
    """One run."""

    machine: Mapping[str, object]
    """See `machine.describe`."""
    settings: Mapping[str, object]
    peers: dict[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """What each side says of itself: version and device."""
    results: list[PeerResult] = field(default_factory=list[PeerResult])
    skipped: list[str] = field(default_factory=list[str])
    """What was not measured, and why."""

    def to_json(self) -> str:
        """Returns the whole report."""
        content = {
            "format": FORMAT_VERSION,
            "machine": self.machine,
            "settings": self.settings,
            "peers": self.peers,
            "peer_results": [result.as_dict() for result in self.results],
            "skipped": self.skipped,
        }
        return json.dumps(content, indent=1) + "\n"

    def save(self, path: Path) -> None:
        """Writes the report, and its tables as Markdown beside it, making folders as needed."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.to_json())
        path.with_suffix(".md").write_text(
            f"{machine_markdown(self.machine)}\n"
            f"{markdown_table(*overview(self.results))}\n{markdown_table(*every_side(self.results))}"
        )


Table = tuple[Sequence[str], list[tuple[str, ...]]]
"""Columns and rows."""


def overview(results: Sequence[PeerResult]) -> Table:
    """Returns a row a case: lapilli beside the package with the smallest median, and the floor."""
    columns = (
        *("case", "unit", "lapilli", "best peer", "its"),
        *("lapilli / it: min", "median", "max", "of minima", "CPU", "floor"),
    )
    return columns, [_overview_row(group) for group in _by_case(results)]


def _overview_row(group: Sequence[PeerResult]) -> tuple[str, ...]:
    mine = next((result for result in group if result.side == LAPILLI), None)
    peers = [result for result in group if result.side not in (LAPILLI, *FLOORS)]
    floors = [result for result in group if result.side in FLOORS]
    best = min(peers, key=lambda result: result.time.median, default=None)
    return (
        _title(group[0]),
        group[0].unit,
        _figure(mine),
        "-" if best is None else best.side,
        _figure(best),
        *_ratios(best),
        _figure(floors[0]) if floors else "-",
    )


def every_side(results: Sequence[PeerResult]) -> Table:
    """Returns a row for each side of each case."""
    columns = (
        *("case", "unit", "side", "min", "median", "max"),
        *("lapilli / it: min", "median", "max", "of minima", "CPU"),
    )
    return columns, [
        (
            _title(result),
            result.unit,
            result.side,
            *(f"{value:.4g}" for value in (result.time.min, result.time.median, result.time.max)),
            *_ratios(result),
        )
        for result in results
    ]


def _by_case(results: Sequence[PeerResult]) -> list[list[PeerResult]]:
    groups: dict[str, list[PeerResult]] = {}
    for result in results:
        groups.setdefault(_title(result), []).append(result)
    return list(groups.values())


def _title(result: PeerResult) -> str:
    return f"{result.case}, {result.setting}" if result.setting else result.case


def _figure(result: PeerResult | None) -> str:
    return "-" if result is None else f"{result.time.median:.4g}"


def _ratios(result: PeerResult | None) -> tuple[str, ...]:
    if result is None or result.ratio is None:
        return ("-",) * 5
    ratio, of_minima, cpu = result.ratio, result.ratio_of_minima, result.cpu_ratio
    numbers = (ratio.min, ratio.median, ratio.max, of_minima, None if cpu is None else cpu.median)
    return tuple("-" if number is None else f"{number:.2f}" for number in numbers)
