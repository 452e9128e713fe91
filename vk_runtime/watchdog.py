"""Noticing that a device gets nowhere: first a warning that says what runs, then, where it is asked for, the end.

A hung kernel looks like a long one, so nothing is ended unless ``LAPILLI_HANG_TIMEOUT`` says after how many seconds.
What counts is progress of the whole device: a queue may wait for others as long as those go on.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..ir.config import config
from ..ir.errors import DeviceLostError
from ..ir.lazy_logging import logger_of

if TYPE_CHECKING:
    from .logical_device import LogicalDevice

logger = logger_of(__name__)

WARN_AFTER_S = 60.0
"""Seconds without progress after which a wait says once what it waits for."""

COMPILING_AFTER_S = 5.0
"""The same, of a kernel that was made just before the wait, on a driver that compiles when a kernel first runs."""
_JUST_BEFORE_S = 1.0


class Watchdog:
    """What one wait has seen of a device's progress; made when its first slice ends without a result."""

    def __init__(self, device: LogicalDevice) -> None:
        self._device = device
        self._seen = device.progress()
        self._since = time.monotonic()
        self._has_warned = False
        self._new_kernel = _just_made(device)

    def look(self) -> None:
        """Compares with the last look; called between two slices of a wait.

        Raises:
            DeviceLostError: nothing has ended for `config.hang_timeout` seconds.
        """
        progress, now = self._device.progress(), time.monotonic()
        if progress != self._seen:
            self._seen, self._since = progress, now
            return
        passed, limit = now - self._since, config.hang_timeout
        if limit and passed >= limit:
            self._give_up(limit)
        if passed >= COMPILING_AFTER_S and self._new_kernel:
            name, self._new_kernel = self._new_kernel, ""
            if name in self._device.running_kernels():
                logger.warning(
                    "device '%s': kernel '%s' runs for the first time and nothing has ended for %.0f s: it has "
                    "much to do, or its driver is still compiling it, which takes long for many loops in a row and "
                    "for loops that opt_level=2 has unrolled",
                    self._device.name,
                    name,
                    passed,
                )
        if passed >= WARN_AFTER_S and not self._has_warned:
            self._has_warned = True
            logger.warning(
                "device '%s': nothing has ended for %.0f s; running: %s.  Ctrl-C ends the wait, and "
                "LAPILLI_HANG_TIMEOUT=%.0f would make it an error",
                self._device.name,
                passed,
                _list(self._device.running_kernels()),
                WARN_AFTER_S,
            )

    def _give_up(self, limit: float) -> None:
        device = self._device
        reason = f"nothing has ended for {limit:g} s (LAPILLI_HANG_TIMEOUT); running: {_list(device.running_kernels())}"
        device.is_hung = True
        device.lose(f"it hung, {reason}")
        raise DeviceLostError(
            f"device '{device.name}' hangs: {reason}; its arrays and queues cannot be used any more, start a new "
            "process, and look for a loop without end or a work-item that waits for another",
            code="LP4201",
        )


def _just_made(device: LogicalDevice) -> str:
    """Returns the name of a kernel that a software driver may be compiling; "": there is none."""
    name, made_at_s = device.pipelines.newest
    return name if device.is_cpu and time.monotonic() - made_at_s < _JUST_BEFORE_S else ""


def _list(names: list[str]) -> str:
    return ", ".join(f"kernel '{name}'" for name in names) or "copies, or work that other programs submitted"
