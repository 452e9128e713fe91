"""The text of functions that were typed, not read from a file: ``python -c``, ``python < file``, and the prompt.

Python keeps the text of what is typed at its prompt since 3.13.  Before that the lines are in the history that
`readline` keeps, one item each, without empty lines and without a line that equals the one before.  So a text found
here is a guess, and counts only where Python's own compiler makes the function's code of it.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import types
from collections.abc import Iterator

from .same_text import is_made_of

_SIZE_LIMIT = 1 << 24
"""Bytes of standard input that are read again."""

_DECORATOR_LINES = 40
"""Lines before a ``def`` that may belong to its decorators."""


def typed_lines(function: types.FunctionType) -> list[str]:
    """Returns the lines of the text that `function` was made of, numbered as its code says; none if it is not found."""
    file = function.__code__.co_filename
    if not (file.startswith("<") and file.endswith(">")):
        return []
    from .source import parsed_definition  # parses: only where there is a doubt

    definition = re.compile(rf"\s*def\s+{re.escape(function.__code__.co_name)}\b")
    for lines in _texts(file, function.__code__.co_firstlineno, definition):
        tree = parsed_definition(function, lines)
        if tree is not None and is_made_of(function, tree, where_unknown=False):
            return lines
    return []


def _texts(file: str, first: int, definition: re.Pattern[str]) -> Iterator[list[str]]:
    """Yields what may be the function's text, the likeliest first."""
    if file == "<string>":
        for argument in sys.orig_argv[1:]:
            if "\n" in argument and definition.search(argument):
                yield argument.removeprefix("-c").splitlines(keepends=True)
    if file == "<stdin>" and (text := _standard_input()):
        yield text.splitlines(keepends=True)
    if "readline" in sys.modules:
        yield from _history(first, definition)


def _standard_input() -> str | None:
    """Returns the whole of standard input where it is a file: its own position stays where it is."""
    try:
        status = os.fstat(0)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _SIZE_LIMIT:
            return None
        return os.pread(0, status.st_size, 0).decode()
    except (OSError, UnicodeDecodeError):
        return None


def _history(first: int, definition: re.Pattern[str]) -> Iterator[list[str]]:
    """Yields blocks of the prompt's history that have the ``def``, the latest first.

    Args:
        first: number of the function's first line, which is that of its first decorator, in its block.
        definition: what its ``def`` looks like.
    """
    import readline

    items = [readline.get_history_item(n + 1) or "" for n in range(readline.get_current_history_length())]
    lines = [f"{line}\n" for item in items for line in item.split("\n")]
    for at in reversed([n for n, line in enumerate(lines) if definition.match(line)]):
        for decorator in range(at, max(at - _DECORATOR_LINES, -1), -1):
            if decorator >= first - 1 and lines[decorator].lstrip().startswith(("def", "@")):
                yield lines[decorator - first + 1 :]
