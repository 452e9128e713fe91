"""Runs pytest on a test file in another process.

Pytest's own fixture for this, pytester, unloads what was imported meanwhile, and NumPy cannot be loaded twice.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent


@dataclass(frozen=True)
class PytestResult:
    """What a run said."""

    status: int
    output: str
    """Standard output and error."""

    @property
    def outcomes(self) -> dict[str, int]:
        """How many tests passed, failed, were skipped, by these words."""
        last = self.output.strip().splitlines()[-1] if self.output.strip() else ""
        return {word: int(count) for count, word in re.findall(r"(\d+) (passed|failed|skipped|error)", last)}


def run_pytest(folder: Path, source: str, *args: str) -> PytestResult:
    """Writes a test file into `folder` and runs it; plugins of the machine are off, `args` name those wanted."""
    (folder / "test_it.py").write_text(dedent(source), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *args, "test_it.py"],
        cwd=folder,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    return PytestResult(done.returncode, done.stdout)
