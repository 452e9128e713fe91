"""How the commands write tables: with rich on a terminal, as plain lines into a pipe or a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import IO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

_PLAIN_WIDTH = 10_000
"""Columns where no terminal is: nothing is wrapped, so that each row stays one line for grep and awk."""


def make_console(file: IO[str] | None = None) -> Console:
    """Returns a console for a file, standard output by default, that colours nothing by itself."""
    width = None if (file or sys.stdout).isatty() else _PLAIN_WIDTH
    return Console(highlight=False, width=width, file=file)


def print_table(console: Console, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table; cells are text, whatever brackets they hold.

    Columns whose every cell is a number are set to the right.
    """
    is_plain = not console.is_terminal
    table = Table(
        box=None if is_plain else box.ROUNDED, pad_edge=not is_plain, padding=(0, 2 if is_plain else 1)
    )
    for column, heading in enumerate(headings):
        is_numeric = bool(rows) and all(row[column].replace(".", "", 1).isdigit() for row in rows)
        table.add_column(Text(heading), justify="right" if is_numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    if not is_plain:
        console.print(table)
        return
    with console.capture() as capture:
        console.print(table)
    for line in capture.get().splitlines():
        console.print(line.rstrip(), markup=False)
