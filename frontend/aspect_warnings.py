"""Findings of the compiler as Python warnings: each once in a process, at the user's own line."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ..ir.errors import AspectWarning, Diagnostic, KernelWarning, warning_text

if TYPE_CHECKING:
    from .captures import Captures

PACKAGE = __name__.partition(".")[0]

_lock = threading.RLock()
_reported: WeakKeyDictionary[Callable[..., object], set[str]] = WeakKeyDictionary()
"""First lines of what was told of each function: they name the aspect or the variable."""
_reported_of_names: dict[str, set[str]] = {}
"""The same of what is no Python function."""
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


Finding = tuple[Callable[..., object] | str, Diagnostic]
"""A finding and the function that it is about, or the name of what is no Python function."""


def findings_of(diagnostics: Iterable[Diagnostic], captures: Captures, unit: str = "") -> Iterator[Finding]:
    """Yields each finding with its function; `captures` remembers that there are some.

    Args:
        diagnostics: about functions of one module.
        captures: of the compilation that made the module.
        unit: the Python module, for what is about no function in particular.
    """
    for diagnostic in diagnostics:
        captures.has_findings = True
        yield captures.functions.get(diagnostic.function, unit), diagnostic


def warn_once(findings: Iterable[Finding], category: type[KernelWarning] = AspectWarning) -> None:
    """Hands findings to `warnings`, each one once for its function in the process.

    A function that is defined again, as a nested one is at each call of the function around it, is another function.

    Raises:
        KernelWarning: the program turned such warnings into errors; the finding is reported again then.
    """
    collected = _collected.get()
    for owner, diagnostic in findings:
        if collected is not None:
            if diagnostic not in collected:
                collected.append(diagnostic)
            continue
        head = diagnostic.message.partition("\n")[0]
        with _lock:
            told = _told_of(owner)
            is_new = head not in told
            told.add(head)
        if is_new:
            try:
                warnings.warn(category(warning_text(diagnostic), diagnostic), stacklevel=_user_level())
            except KernelWarning:
                with _lock:
                    told.discard(head)
                raise


def _told_of(owner: Callable[..., object] | str) -> set[str]:
    if isinstance(owner, str):
        return _reported_of_names.setdefault(owner, set())
    return _reported.setdefault(owner, set())


def _user_level() -> int:
    """Returns the `stacklevel` of the innermost frame that is not lapilli's."""
    level, frame = 2, sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    return level


def _is_own(module_name: str) -> bool:
    return module_name == PACKAGE or module_name.startswith(f"{PACKAGE}.")
