"""What ``LAPILLI_LOG`` and ``lp.config.log`` turn on: records of chosen loggers on standard error.

    LAPILLI_LOG=launch,cache python program.py    # topics
    LAPILLI_LOG=info python program.py            # all of lapilli from a level on
    LAPILLI_LOG=warning,compile python program.py # both

lapilli logs to the loggers of its modules (``lapilli.vk_runtime.memory``), so a program may also set them up
itself: where the root logger or ``lapilli`` has handlers, the option only sets levels.  Launches, cache hits and
compilations are the events of `lp.trace`, which are made only while somebody listens.
"""

from __future__ import annotations

import logging
import sys
import threading
from typing import TextIO

from ..ir.config import LOG_LEVELS, config
from . import trace

ROOT = "lapilli"

TOPICS = {
    "launch": ("vk_runtime.launch", "vk_runtime.graph", "vk_runtime.queue", "vk_runtime.watcher"),
    "cache": ("vk_runtime.disk_cache", "vk_runtime.pipeline_cache", "frontend.image_cache"),
    "memory": ("vk_runtime.memory", "vk_runtime.memory_blocks"),
    "compile": ("frontend", "passes", "spirv", "vk_runtime.pipeline", "vk_runtime.bundle_pipelines"),
}
"""Loggers of a topic, below `ROOT`."""

_TOPIC_OF_EVENT: dict[trace.TraceKind, tuple[str, str]] = {
    "launch": ("launch", "vk_runtime.launch"),
    "cache_hit": ("cache", "frontend.image_cache"),
    "compile": ("compile", "frontend.compile"),
    "link": ("compile", "frontend.linking"),
    "module": ("compile", "vk_runtime.pipeline"),
    "pipeline": ("compile", "vk_runtime.pipeline"),
}
"""Topic and logger of the events of `lp.trace`."""


class _Handler(logging.StreamHandler[TextIO]):
    """Writes to what `sys.stderr` is at the time, which notebooks and test runners exchange."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        if self.stream is not None:  # pyright: ignore[reportUnnecessaryComparison] - closed by who started the process
            super().emit(record)


class _Events:
    """Logs the events of `lp.trace`."""

    def __init__(self) -> None:
        self.topics: frozenset[str] = frozenset()

    def add(self, event: trace.TraceEvent) -> None:
        """Takes an event."""
        topic, name = _TOPIC_OF_EVENT[event.kind]
        if topic in self.topics:
            what = f"kernel {event.kernel}" if event.kernel else f"image {event.image[:12]}"
            place = f" on {event.device}" if event.device else ""
            logging.getLogger(f"{ROOT}.{name}").debug("%s: %s%s", event.kind, what, place)


_lock = threading.RLock()
_events = _Events()
_handler = _Handler()
_handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
_levels: dict[str, int] = {}
"""Levels that were set here, by logger, with what the logger had before."""
_applied: list[tuple[str, ...]] = [()]


def read(words: tuple[str, ...]) -> tuple[frozenset[str], int | None]:
    """Returns the topics among the words of the option, and the lowest level, None where there is none."""
    levels = logging.getLevelNamesMapping()
    found = [levels[word.upper()] for word in words if word in LOG_LEVELS]
    return frozenset(words) & TOPICS.keys(), min(found, default=None)


def set_up() -> None:
    """Follows the option from here on; called when Vulkan is first used.  Raises InvalidError for a wrong option."""
    with _lock:
        if apply not in config.watchers:
            config.watchers.append(apply)
    apply()


def apply() -> None:
    """Does what the option says now; what an earlier value did is undone."""
    words = config.log
    with _lock:
        if words == _applied[0]:
            return
        topics, level = read(words)
        _applied[0] = words
        _undo()
        if not words:
            return
        root = logging.getLogger(ROOT)
        if not root.handlers and not logging.getLogger().handlers:
            root.addHandler(_handler)
        if level is not None:
            _set_level("", level)
        for topic in topics:
            for name in TOPICS[topic]:
                _set_level(name, logging.DEBUG)
        _events.topics = frozenset(TOPICS) if level == logging.DEBUG else topics
        if _events.topics:
            trace.active.append(_events)


def _set_level(name: str, level: int) -> None:
    logger = logging.getLogger(f"{ROOT}.{name}" if name else ROOT)
    _levels[logger.name] = logger.level
    logger.setLevel(level)


def _undo() -> None:
    for name, level in _levels.items():
        logging.getLogger(name).setLevel(level)
    _levels.clear()
    logging.getLogger(ROOT).removeHandler(_handler)
    if _events in trace.active:
        trace.active.remove(_events)
