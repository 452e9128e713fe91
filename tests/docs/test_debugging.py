"""The programs of docs/debugging.md with an output under them print it; all others run in test_documents.py."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "debugging.md"
SNIPPETS = re.findall(
    r"```python\n((?:(?!```).)*?)```\n\n```text\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL
)


def test_the_page_has_programs():
    assert len(SNIPPETS) == PAGE.read_text("utf-8").count("```text")


@pytest.mark.device
@pytest.mark.parametrize(("program", "output"), SNIPPETS, ids=range(len(SNIPPETS)))
def test_a_program_prints_what_the_page_says(tmp_path, program, output):
    file = tmp_path / "program.py"
    file.write_text(program)
    done = subprocess.run((sys.executable, file), capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == output
