"""The numbered behaviours (tests/behaviours.csv) and the mark by which a test says which of them it proves.

    @pytest.mark.behaviour("SC-08", "SC-09")

`make behaviours` runs the marked tests and prints, per area, how many rows are proven: a row counts only where
every test that carries its ID passed, or passed on one device at least and was skipped on the others.  A mark
that names no row fails the collection of any run.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

TABLE = Path(__file__).with_name("behaviours.csv")


@dataclass(frozen=True, slots=True)
class Row:
    """One behaviour."""

    id: str
    applies: bool
    """Whether it can be had on Vulkan at all."""
    text: str

    @property
    def area(self) -> str:
        """The letters before the number: ``SC``."""
        return self.id.split("-")[0]


@cache
def rows() -> dict[str, Row]:
    """Returns every row by its ID, in the order of the table."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        return {
            line["id"]: Row(line["id"], line["applies"] == "yes", line["behaviour"])
            for line in csv.DictReader(file)
        }


def marked(item: pytest.Item) -> Iterator[str]:
    """Yields the IDs that a test carries; UsageError for one that names no row."""
    for mark in item.iter_markers("behaviour"):
        for name in mark.args:
            if name not in rows():
                raise pytest.UsageError(
                    f"{item.nodeid}: no behaviour is called {name!r} (tests/behaviours.csv)"
                )
            yield name


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Checks every mark, and lets the reports carry the IDs to the process that prints them."""
    for item in items:
        if names := [*marked(item)]:
            item.user_properties.append(("behaviours", names))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--behaviours``."""
    parser.addoption("--behaviours", action="store_true", help="print which behaviours the run has proven")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the tally in the process that prints; the workers of pytest-xdist only send reports."""
    if config.getoption("--behaviours") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Tally(), "behaviours-tally")


class Tally:
    """Collects the outcomes of marked tests and prints them per area."""

    def __init__(self) -> None:
        self._outcomes: dict[str, Counter[str]] = defaultdict(Counter)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes one outcome: that of the call, or of a set-up that skipped or failed."""
        if report.when != "call" and report.passed:
            return
        for key, names in report.user_properties:
            if key == "behaviours":
                for name in names:  # pyright: ignore[reportGeneralTypeIssues]
                    self._outcomes[name][report.outcome] += 1

    def is_proven(self, name: str) -> bool:
        """Whether the tests of a row ran and none failed."""
        outcomes = self._outcomes[name]
        return outcomes["passed"] > 0 and outcomes["failed"] == 0

    def pytest_terminal_summary(self) -> None:
        """Prints the table."""
        table = Table("area", "rows", "proven", "not proven")
        proven = 0
        areas = dict.fromkeys(row.area for row in rows().values())
        for area in areas:
            wanted = [row.id for row in rows().values() if row.area == area and row.applies]
            open_ = [name for name in wanted if not self.is_proven(name)]
            proven += len(wanted) - len(open_)
            table.add_row(
                area,
                str(len(wanted)),
                str(len(wanted) - len(open_)),
                " ".join(n.split("-")[1] for n in open_),
            )
        console = Console(width=120)
        console.print(table)
        total = sum(row.applies for row in rows().values())
        console.print(f"{proven} of {total} behaviours proven")
