"""The text of a function without its syntax tree: what the key of a cached kernel is made of.

Finding the end of a function by its indentation costs microseconds where a tokenizer costs milliseconds.
It may take in a line too many, which makes two keys of what could be one, and never one too few.
"""

from __future__ import annotations

import linecache
import types
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Final, cast

from .same_text import may_differ


def file_lines(function: types.FunctionType) -> Sequence[str]:
    """Returns the lines of the file that `function` stands in, fresh from disk; none where they are other text."""
    file = function.__code__.co_filename
    linecache.checkcache(file)
    lines = linecache.getlines(file, function.__globals__)
    if lines and may_differ(file):
        from .source import parsed_definition  # parses: only where there is a doubt

        return lines if parsed_definition(function, lines) is not None else ()
    if not lines and file.startswith("<"):
        from .typed_text import typed_lines

        return typed_lines(function)
    return lines


def function_text(function: types.FunctionType, lines: Sequence[str]) -> str | None:
    """Returns the lines of `function` as they stand in its file, decorators included.

    Args:
        function: a plain function.
        lines: all lines of its file.

    Returns:
        None where the file is shorter than the function's code says.
    """
    first, last = function.__code__.co_firstlineno - 1, last_line(function.__code__)
    if first < 0 or last > len(lines):
        return None
    margin = _indentation(lines[first])
    while last < len(lines) and (not lines[last].strip() or _indentation(lines[last]) > margin):
        last += 1
    return "".join(lines[first:last]).rstrip()


_START_AND_END: Final = itemgetter(0, 1)


def last_line(code: types.CodeType) -> int:
    """Returns the last line that an instruction comes from, those of inner functions included."""
    # A line and its end for each instruction, of which there are hundreds; columns are not asked for.
    lines = cast("Iterator[int | None]", chain.from_iterable(map(_START_AND_END, code.co_positions())))
    last = max(filter(None, lines), default=0)
    inner = (last_line(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    return max(last, code.co_firstlineno, *inner)


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
