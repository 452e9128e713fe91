"""Files of times: what is kept of compile times and cold starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lapilli.tools.bench import load

saved_times = load("saved_times")
KEPT = [
    path
    for path in sorted(saved_times.RESULTS.glob("*.json"))
    if "times" in json.loads(path.read_text("utf-8"))
]


def test_the_table_says_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_times, "RESULTS", tmp_path / "results")
    path = saved_times.save_times(
        "compile", "python -m x", "ms", {"whole": [3.0, 1.0, 2.5], "part": [0.5, 0.25]}
    )
    assert "-compile-" in path.name
    content = json.loads(path.read_text("utf-8"))
    assert content["times"]["whole"] == [3.0, 1.0, 2.5]
    table = path.with_suffix(".md").read_text("utf-8")
    assert table == saved_times.times_markdown(content)
    assert "| whole | 1.00 | 2.50 | 3 |" in table and "| part | 0.25 | 0.38 | 2 |" in table


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_the_tables_that_are_kept(path: Path) -> None:
    content = json.loads(path.read_text("utf-8"))
    assert saved_times.times_markdown(content) == path.with_suffix(".md").read_text("utf-8")
