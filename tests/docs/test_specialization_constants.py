"""docs/specialization-constants.md: its Python blocks run, in order, as one program."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "specialization-constants.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.device
def test_the_tutorial_runs(tmp_path: Path) -> None:
    blocks = BLOCK.findall(DOCUMENT.read_text(encoding="utf-8"))
    assert len(blocks) > 5
    program = tmp_path / "tutorial.py"
    program.write_text("\n\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        (sys.executable, "-W", "error", str(program)),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "expected an integer from 0 to 255, found 300" in done.stdout
    assert "the local size TILE is 0, expected at least 1; TILE = 0" in done.stdout
