"""What the commands that read and write compiler files share: where results go and how errors look."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click

from ..ir.errors import Error, InvalidError

LINE_LIMIT = 1000
"""Characters of a line that are shown of an error."""


def write_output(result: str | bytes, output: str | None) -> None:
    """Writes a result to the file `output`, or to standard output where it is None; text as UTF-8.

    Raises:
        InvalidError: the file cannot be written, or a terminal would get bytes.
    """
    data = result.encode() if isinstance(result, str) else result
    if output is None:
        if isinstance(result, bytes) and sys.stdout.isatty():
            raise InvalidError("the result is binary and would go to the terminal; name a file with -o")
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        Path(output).write_bytes(data)
    except OSError as error:
        raise InvalidError(f"cannot write {output}: {error.strerror}") from error


def error_text(error: Error) -> str:
    """Returns an error as a compiler prints it: each finding as ``file:line:column: error: …``."""
    findings = [str(finding) for finding in error.diagnostics if finding.location is not None]
    text = f"error: {error.message}"
    if findings:
        text = "\n".join(findings)
    elif error.location is not None:
        text = f"{error.location}: {text}"
    # A file without line breaks would otherwise be quoted whole.
    return "\n".join(
        line if len(line) <= LINE_LIMIT else f"{line[:LINE_LIMIT]} …" for line in text.split("\n")
    )


def fail(error: Error, shown: Callable[[str], str] = str) -> NoReturn:
    """Prints an error to standard error and ends the command with status 1.

    Args:
        error: what went wrong.
        shown: gets the text and returns what is printed.
    """
    click.echo(shown(error_text(error)), err=True)
    sys.exit(1)
