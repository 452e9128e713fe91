"""The order in which several kernels print on a queue, whose lines lie in a buffer for each kernel.

Where a kernel that prints follows another one, the device copies between the two how much the other has printed, into
a list that the host sees.  So lines come in the order of the launches, and kernels need not know of each other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..ir.kernel_info import ReportWord
from .headers import make

if TYPE_CHECKING:
    from ..ir.stream import Stream
    from .buffer import Buffer
    from .queue import Queue
    from .reports import KernelReport, Report

MARK_LIMIT = 4096
"""Changes from one kernel to another between two reads; behind them, lines come kernel by kernel."""


class Line(NamedTuple):
    """Printed text."""

    stream: Stream | None
    """Where it belongs; None: ``sys.stdout``."""
    text: str
    lost: int = 0
    """How many statements of the stream were lost."""
    end: int = 0
    """Where it ends in the buffer of its kernel, in words."""


class _Mark(NamedTuple):
    """How much a kernel had printed when another one followed."""

    report: KernelReport
    value: int
    """Timeline value at which it is known."""
    place: int
    """Where, in the list that the host sees."""


class PrintOrder:
    """See the module.  Use it with the device's lock held."""

    def __init__(self) -> None:
        self._open: tuple[KernelReport, ...] = ()
        """Those that print since the last mark."""
        self._marks: list[_Mark] = []
        self._buffer: Buffer | None = None
        self._words: np.ndarray[Any, np.dtype[np.uint32]] | None = None

    def begin(self, queue: Queue, reports: Sequence[KernelReport]) -> None:
        """Notes that kernels are launched next; called before their commands are recorded.

        Args:
            queue: where the order is kept.
            reports: in the order of the launches.
        """
        printing = tuple(report for report in reports if report.prints)
        if not printing or (printing == self._open and len(printing) == 1):
            return
        if self._open:
            self._mark_all(queue)
        self._open = printing

    def _mark_all(self, queue: Queue) -> None:
        """Records the copies of how much those that are open have printed."""
        first = self._marks[-1].place + 1 if self._marks else 0
        if first + len(self._open) > MARK_LIMIT:
            return
        logical = queue.device.logical
        if self._buffer is None:
            buffer = logical.memory.allocate(4 * MARK_LIMIT, for_host=True)
            self._buffer, self._words = buffer, np.frombuffer(buffer.host_bytes(), np.uint32)
        queue.barrier()
        command_buffer = queue.recording or queue.open()
        for place, report in enumerate(self._open, first):
            region = make("VkBufferCopy", srcOffset=4 * ReportWord.PRINTED, dstOffset=4 * place, size=4)
            command_buffer.keep.append((report, self._buffer))
            vk, raw = logical.vk, command_buffer.raw
            vk.vkCmdCopyBuffer(raw, report.buffer.raw, self._buffer.raw, 1, region)
            self._marks.append(_Mark(report, command_buffer.value, place))
        queue.barrier()

    def take(self, found: Mapping[Report, Sequence[Line]], completed: int) -> list[Line]:
        """Returns lines in the order of the launches, and forgets that order; that of launches to come stays.

        Args:
            found: the lines of each kernel that has been read.
            completed: how far the timeline is.
        """
        ordered: list[Line] = []
        left: dict[Report, deque[Line]] = {report: deque(lines) for report, lines in found.items()}
        for mark in self._marks:
            lines = left.get(mark.report)
            if lines is None:
                continue
            assert self._words is not None, "a mark lies in a buffer"
            # Where it is not known yet, it was recorded behind everything that the kernel has printed.
            end = int(self._words[mark.place]) if mark.value <= completed else None
            while lines and (end is None or lines[0].end <= end):
                ordered.append(lines.popleft())
        for lines in left.values():
            ordered += lines
        self._marks = [mark for mark in self._marks if mark.value > completed and mark.report not in found]
        self._open = tuple(report for report in self._open if report.last_launch > completed)
        return ordered
