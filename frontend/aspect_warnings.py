"""Findings of the compiler as Python warnings: each once in a process, at the user's own line."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar

from ..ir.errors import AspectWarning, Diagnostic, KernelWarning, warning_text

PACKAGE = __name__.partition(".")[0]

_lock = threading.Lock()
_reported: set[tuple[str, str]] = set()
"""Module, and the first line of the text: it names the function, and the aspect or the variable."""
_collected: ContextVar[list[Diagnostic] | None] = ContextVar("collected", default=None)


@contextmanager
def collected_findings() -> Generator[list[Diagnostic]]:
    """Gives what a block finds to the caller instead of to `warnings`, each finding once, told before or not."""
    found: list[Diagnostic] = []
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


def warn_once(
    diagnostics: Iterable[Diagnostic], module_name: str, category: type[KernelWarning] = AspectWarning
) -> None:
    """Hands findings about the kernels of a Python module to `warnings`, each one once in the process.

    Raises:
        KernelWarning: the program turned such warnings into errors; the finding is reported again then.
    """
    collected = _collected.get()
    for diagnostic in diagnostics:
        if collected is not None:
            if diagnostic not in collected:
                collected.append(diagnostic)
            continue
        key = module_name, diagnostic.message.partition("\n")[0]
        with _lock:
            is_new = key not in _reported
            _reported.add(key)
        if is_new:
            try:
                warnings.warn(category(warning_text(diagnostic), diagnostic), stacklevel=_user_level())
            except KernelWarning:
                with _lock:
                    _reported.discard(key)
                raise


def _user_level() -> int:
    """Returns the `stacklevel` of the innermost frame that is not lapilli's."""
    level, frame = 2, sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    return level


def _is_own(module_name: str) -> bool:
    return module_name == PACKAGE or module_name.startswith(f"{PACKAGE}.")
