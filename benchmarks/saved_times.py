"""Times by name as a file of benchmarks/results, and as the same table in Markdown beside it."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

import lapilli as lp

from . import machine
from .report import machine_markdown, markdown_table

RESULTS = Path(__file__).resolve().parent / "results"


def save_times(what: str, command: str, unit: str, times: Mapping[str, Sequence[float]]) -> Path:
    """Writes every time that was taken, and a table of the smallest and the median; returns the path of the former.

    Args:
        what: a word, for the name of the file.
        command: that measured.
        unit: of the times.
        times: by what was measured.
    """
    about = machine.describe(lp.devices())
    content = {"command": command, "machine": about, "unit": unit, "times": times}
    path = RESULTS / machine.file_name(about, what)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    path.with_suffix(".md").write_text(times_markdown(content), "utf-8")
    return path


def times_markdown(content: Mapping[str, object]) -> str:
    """Returns what a file says as a Markdown document."""
    about, times = content["machine"], content["times"]
    assert isinstance(about, Mapping) and isinstance(times, Mapping)
    rows = [
        (name, f"{min(found):.2f}", f"{statistics.median(found):.2f}", str(len(found)))
        for name, found in times.items()
    ]
    columns = ("what", f"{content['unit']} min", "median", "times")
    return "\n".join(
        [f"# A run of `{content['command']}`\n", machine_markdown(about), markdown_table(columns, rows)]
    )
