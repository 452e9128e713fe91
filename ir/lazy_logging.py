"""Loggers that do not load `logging` before something is logged, or somebody may listen: 2 ms of each start.

While `logging` is not loaded nobody can have set up a handler or a level, so records below WARNING go nowhere.
Standard library only.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from logging import Logger

_UNHEARD = frozenset(("debug", "info"))


def logger_of(name: str) -> Logger:
    """Returns what stands for ``logging.getLogger(name)``.

    Args:
        name: of a module.
    """
    return cast("Logger", _LazyLogger(name))


class _LazyLogger:
    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, method: str) -> Any:
        if method in _UNHEARD and "logging" not in sys.modules:
            return _ignore
        import logging

        return getattr(logging.getLogger(self._name), method)


def _ignore(*_: object, **__: object) -> None:
    """Logs nothing."""
