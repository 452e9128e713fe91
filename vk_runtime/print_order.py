"""The order in which several kernels print on a queue, whose lines lie in a buffer for each kernel.

Where a kernel that prints follows another one, the device copies between the two how much the other has printed, into
a list that the host sees.  So lines come in the order of the launches, and kernels need not know of each other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..ir.kernel_info import ReportWord
from .headers import make

if TYPE_CHECKING:
    from ..ir.stream import Stream
    from .buffer import Buffer
    from .command_buffer import CommandBuffer
    from .logical_device import LogicalDevice
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

    def prepare(self, device: LogicalDevice) -> None:
        """Makes the list; to be called before a launch is begun, since that may need memory."""
        if self._open and self._buffer is None:
            buffer = device.memory.allocate(4 * MARK_LIMIT, for_host=True)
            self._words, self._buffer = np.frombuffer(buffer.host_bytes(), np.uint32), buffer

    @property
    def is_open(self) -> bool:
        """Whether a kernel that prints was launched since the last reading."""
        return bool(self._open)

    def goes_on_with(self, report: KernelReport) -> bool:
        """Whether a launch of the kernel, which prints, may follow without a mark: no other one prints before it."""
        return not self._open or self._open == (report,)

    def go_on_with(self, report: KernelReport) -> None:
        """Notes that a kernel that prints is launched next; only where `goes_on_with` says so."""
        self._open = (report,)

    def begin(
        self, queue: Queue, reports: Sequence[KernelReport], command_buffer: CommandBuffer | None = None
    ) -> None:
        """Notes that kernels are launched next; called before their commands are recorded.

        Args:
            queue: where the order is kept.
            reports: in the order of the launches.
            command_buffer: the open one, with `LogicalDevice.half_way` set: finalisers launch nothing meanwhile.
                Needed where `is_open`.
        """
        printing = tuple(report for report in reports if report.prints)
        if not printing or (printing == self._open and len(printing) == 1):
            return
        if command_buffer is not None and self._open and self._buffer is not None:
            self._mark_all(queue, command_buffer, self._buffer)
        self._open = printing

    def _mark_all(self, queue: Queue, command_buffer: CommandBuffer, buffer: Buffer) -> None:
        """Records the copies of how much those that are open have printed."""
        first = self._marks[-1].place + 1 if self._marks else 0
        if first + len(self._open) > MARK_LIMIT:
            return
        queue.barrier()
        vk, raw = queue.device.logical.vk, command_buffer.raw
        for place, report in enumerate(self._open, first):
            region = make("VkBufferCopy", srcOffset=4 * ReportWord.PRINTED, dstOffset=4 * place, size=4)
            command_buffer.keep.append((report, buffer))
            vk.vkCmdCopyBuffer(raw, report.buffer.raw, buffer.raw, 1, region)
            self._marks.append(_Mark(report, command_buffer.value, place))
        queue.barrier()

    def ends(self, completed: int) -> list[tuple[Report, int | None]]:
        """Returns the kernels in the order of their launches, each with where its lines of that launch end.

        None: it is not known yet, and so behind everything that the kernel has printed.

        Args:
            completed: how far the timeline is.
        """
        words = self._words
        return [
            (mark.report, int(words[mark.place]) if words is not None and mark.value <= completed else None)
            for mark in self._marks
        ]

    def forget(self, reports: Container[Report], completed: int) -> None:
        """Forgets the order of what has been read; that of launches to come stays.

        Args:
            reports: whose lines have been read.
            completed: how far the timeline is.
        """
        self._marks = [mark for mark in self._marks if mark.value > completed and mark.report not in reports]
        self._open = tuple(report for report in self._open if report.last_launch > completed)


def in_order(
    found: Mapping[Report, Iterable[Line]], ends: Sequence[tuple[Report, int | None]]
) -> Iterator[Line]:
    """Gives lines in the order of the launches.

    Args:
        found: the lines of each kernel that has been read.
        ends: see `PrintOrder.ends`.
    """
    if not ends:
        yield from chain.from_iterable(found.values())
        return
    left = {report: deque(lines) for report, lines in found.items()}
    for report, end in ends:
        lines = left.get(report, ())
        while lines and (end is None or lines[0].end <= end):
            yield lines.popleft()
    for lines in left.values():
        yield from lines
