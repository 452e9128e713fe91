"""The README's example, saved as a file and run as the README says, prints what stands beside its print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"
(EXAMPLE,) = (
    block
    for block in re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    if block.startswith("import lapilli")
)


@pytest.mark.device
def test_the_example_prints_what_it_says(tmp_path: Path) -> None:
    file = tmp_path / "saxpy.py"
    file.write_text(EXAMPLE, encoding="utf-8")
    done = subprocess.run((sys.executable, file), capture_output=True, text=True, check=False)
    (expected,) = re.findall(r"print\(.*\)  # (.*)", EXAMPLE)
    assert (done.stderr, done.stdout) == ("", f"{expected}\n")
