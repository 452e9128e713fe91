"""The stubs: user code is clean under strict pyright, and common mistakes are found."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Runs pyright once on both samples."""
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    project = tmp_path_factory.mktemp("project")
    config = {
        "extraPaths": [str(ROOT / "src")],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
    }
    for name in ("sample.py", "wrong.py"):
        shutil.copy(HERE / name, project)
    (project / "pyrightconfig.json").write_text(json.dumps(config))
    command = [
        sys.executable,
        "-m",
        "pyright",
        "--outputjson",
        "--pythonpath",
        sys.executable,
        "-p",
        str(project),
    ]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if not finished.stdout.lstrip().startswith("{"):
        pytest.skip(f"pyright does not start: {finished.stderr.strip()[-200:]}")
    report = json.loads(finished.stdout[finished.stdout.index("{") :])
    assert report["summary"]["filesAnalyzed"] == 2
    return report["generalDiagnostics"]


def of(findings: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [finding for finding in findings if Path(finding["file"]).name == name]


def test_sample_is_clean_under_strict_pyright(findings: list[dict[str, Any]]) -> None:
    assert [f"{f['range']['start']['line'] + 1}: {f['message']}" for f in of(findings, "sample.py")] == []


def test_mistakes_are_found_where_they_are(findings: list[dict[str, Any]]) -> None:
    lines = (HERE / "wrong.py").read_text().splitlines()
    expected = {number for number, line in enumerate(lines, 1) if line.endswith("# error")}
    found = {f["range"]["start"]["line"] + 1 for f in of(findings, "wrong.py") if f["severity"] == "error"}
    assert found == expected
