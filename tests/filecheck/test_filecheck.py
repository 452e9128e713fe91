"""Runs `lapilli opt` on the .mlir files of this folder, in process, and matches the output with FileCheck.

The head of a file says what to run, one line each; PREFIX is CHECK where it is left out:

    // RUN[PREFIX]: arguments      succeeds; standard output is matched
    // WARN[PREFIX]: arguments     succeeds; standard error is matched
    // FAIL[PREFIX]: arguments     ends with status 1; standard error is matched

What a RUN prints must also read back: `lapilli opt` without passes gives it again, unchanged.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser

from lapilli.tools.opt import command

FOLDER = Path(__file__).parent
DIRECTIVE = re.compile(r"// (RUN|WARN|FAIL)(?:\[(\w+)\])?: ?(.*)")


@dataclass(frozen=True)
class Step:
    file: Path
    kind: str
    prefix: str
    arguments: str

    def __str__(self) -> str:
        return f"{self.file.name} {self.kind} {self.arguments}"


def steps() -> list[Step]:
    found: list[Step] = []
    for file in sorted(FOLDER.glob("*.mlir")):
        matches = [m for line in file.read_text().splitlines() if (m := DIRECTIVE.match(line))]
        assert matches, f"{file} says nothing to run"
        found += [Step(file, m[1], m[2] or "CHECK", m[3].strip()) for m in matches]
    return found


def opt(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(command, arguments, input=stdin, catch_exceptions=False)


def match(step: Step, text: str, capfd: pytest.CaptureFixture[str]) -> None:
    options = Options(str(step.file), check_prefixes=[step.prefix])
    matcher = Matcher(options, FInput("output", text), Parser.from_opts(options))
    status = matcher.run()
    assert status == 0, f"{capfd.readouterr().err}\nthe output was\n{text}"


@pytest.mark.parametrize("step", steps(), ids=str)
def test_filecheck(step: Step, capfd: pytest.CaptureFixture[str]) -> None:
    result = opt(str(step.file), *shlex.split(step.arguments))
    assert result.exit_code == (1 if step.kind == "FAIL" else 0), result.output
    match(step, result.stdout if step.kind == "RUN" else result.stderr, capfd)
    if step.kind == "RUN":
        generic = ("--print-op-generic",) if "--print-op-generic" in step.arguments else ()
        again = opt("-", *generic, stdin=result.stdout)
        assert again.stdout == result.stdout
