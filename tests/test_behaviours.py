"""The table of behaviours and the mark that points at it."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.behaviours import Tally, rows
from tests.run_pytest import run_pytest


def _report(names: list[str], outcome: str, when: str = "call") -> SimpleNamespace:
    return SimpleNamespace(
        user_properties=[("behaviours", names)], outcome=outcome, when=when, passed=outcome == "passed"
    )


def test_every_area_counts_up_from_one():
    last: dict[str, int] = {}
    for name, row in rows().items():
        number = int(name.split("-")[1])
        assert number == last.get(row.area, 0) + 1
        last[row.area] = number
    assert sum(last.values()) == 387


@pytest.mark.parametrize(
    ("outcomes", "is_proven"),
    [
        (["passed"], True),
        (["passed", "skipped"], True),
        (["skipped"], False),
        (["passed", "failed"], False),
        ([], False),
    ],
)
def test_a_row_is_proven_by_tests_that_ran_and_passed(outcomes: list[str], is_proven: bool):
    tally = Tally()
    for outcome in outcomes:
        tally.pytest_runtest_logreport(_report(["SC-08"], outcome))  # pyright: ignore[reportArgumentType]
    assert tally.is_proven("SC-08") is is_proven


def test_a_mark_that_names_no_row_fails_the_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]), prepend=os.pathsep)
    source = "import pytest\n@pytest.mark.behaviour('SC-99')\ndef test_it(): pass\n"
    result = run_pytest(tmp_path, source, "-p", "tests.behaviours")
    assert result.status == pytest.ExitCode.USAGE_ERROR
    assert "no behaviour is called 'SC-99'" in result.output
