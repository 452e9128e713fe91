"""What running kernels tell the host: failed checks become KernelTrap, printed lines go to ``sys.stdout``.

A kernel with sites (`kernel_info.Site`) has a report buffer on every queue that it is launched on, in memory that the
host sees.  Nothing is read while kernels run: whoever waits for the queue reads what has been written since
(`QueueReports.read`), prints (`printer`), and raises the first failure once.  How long prints may be until then:
``LAPILLI_PRINT_SIZE``, in bytes.

A buffer is read by one copy, with `LogicalDevice.half_way` set: finalisers and signal handlers in between launch
nothing that would write to it, and leave the reading to whom they interrupt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import call
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol
from weakref import ref

import numpy as np

from ..ir.config import config
from ..ir.errors import KernelNotSupportedError, KernelTrap
from ..ir.kernel_info import KernelInfo, ReportWord, Site
from ..ir.site_text import text_of, trap_of
from ..ir.stream import Stream
from .event import Event
from .print_order import Line, PrintOrder, in_order
from .printer import Printer, in_one_step
from .report_values import SiteValues
from .submitted_commands import is_from_outside

if TYPE_CHECKING:
    from .command_buffer import CommandBuffer
    from .kernel_commands import KernelBinding
    from .logical_device import LogicalDevice
    from .queue import Queue
    from .tracked import Tracked

MAXIMUM_PRINT_SIZE_BYTES = 1 << 30
"""More is not taken for the prints of a kernel."""

Streams = Mapping[str, Stream]
"""The streams of a launch by the names of their parameters."""

NO_STREAMS: Streams = MappingProxyType({})

Output = list[Line]
"""Printed text in order."""

Words = np.ndarray[Any, np.dtype[np.uint32]]
"""What a report buffer holds; see `ReportWord`."""

_TRAPPED, _PRINTED, _LOST = ReportWord.TRAPPED, ReportWord.PRINTED, ReportWord.LOST

_NO_WORDS: Words = np.zeros(0, np.uint32)


class Report(Protocol):
    """What launches of a kernel have to tell."""

    last_launch: int
    prints: bool

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing so far."""
        ...

    def copy(self) -> Words:
        """Returns what there is."""
        ...

    def empty(self) -> None:
        """Forgets what has been copied."""

    def lines_of(self, words: Words) -> Iterable[Line]:
        """Returns the printed lines of a copy."""
        ...

    def trap_of(self, words: Words) -> KernelTrap | None:
        """Returns the failure of a copy."""
        ...


class KernelReport:
    """The report buffer of one kernel on one queue.  Use it with the device's lock held."""

    def __init__(
        self, device: LogicalDevice, kernel: KernelInfo, rank: int, streams: Streams = NO_STREAMS
    ) -> None:
        self.kernel = kernel
        self.streams = streams
        self._rank = rank
        self.prints = any(site.kind == "print" for site in kernel.sites)
        """Whether there may be lines."""
        uses_stdout = any(site.kind == "print" and not site.stream for site in kernel.sites)
        size = config.print_size if uses_stdout else 0
        size += sum(stream.size for stream in set(streams.values()))
        limits = device.physical.limits
        largest = min(limits.max_storage_buffer_range_bytes, limits.max_buffer_bytes) - 4 * ReportWord.LINES
        if largest < 0:
            raise KernelNotSupportedError(
                f"kernel {kernel.name!r} checks or prints, which takes a buffer of {4 * ReportWord.LINES} bytes at "
                f"least; {device.physical.name!r} allows {largest + 4 * ReportWord.LINES} bytes "
                "(maxStorageBufferRange, maxBufferSize)"
            )
        self._capacity = min(size, MAXIMUM_PRINT_SIZE_BYTES, largest) // 4
        self.buffer = device.memory.allocate(4 * (ReportWord.LINES + self._capacity), for_host=True)
        device.host_reads = True
        self._words: Words = np.frombuffer(self.buffer.host_bytes(), np.uint32)
        self._words[:] = 0
        self._heads = self._words.data
        self._readers: dict[int, SiteValues] = {}
        """What reads the values of prints, by the number of the site."""
        self._words[ReportWord.CAPACITY] = self._capacity
        self.last_launch = 0
        """Timeline value of the last launch."""
        self.owner: object = None
        """What makes `QueueReports` forget this when the kernel goes."""

    @property
    def is_empty(self) -> bool:
        """Whether no launch has reported anything so far."""
        words = self._heads  # a number of NumPy takes twice as long
        return not (words[_TRAPPED] or words[_PRINTED] or words[_LOST])

    def _end(self) -> int:
        """Returns the number of words that are in use."""
        return ReportWord.LINES + min(self._heads[_PRINTED], self._capacity)

    def copy(self) -> Words:
        """Returns what launches have written; none may be running."""
        return self._words[: self._end()].copy()

    def empty(self) -> None:
        """Makes room for the next launches; again where Ctrl-C came in between."""
        words = self._heads
        if words[_PRINTED]:
            self._words[ReportWord.LINES : self._end()] = 0
            words[_PRINTED] = 0
        words[_LOST] = 0
        if words[_TRAPPED]:
            self._words[: ReportWord.PRINTED] = 0

    def lines_of(self, words: Words) -> Iterator[Line]:
        """Gives the printed lines of a copy."""
        position, stop, data = ReportWord.LINES, len(words), words.data
        sites, readers, streams = self.kernel.sites, self._readers, self.streams
        # Lines follow each other without gaps up to the first that found no room; its place is 0 still.
        while position < stop and 0 < (number := data[position]) <= len(sites):
            site = sites[number - 1]
            reader = readers.get(number)
            if reader is None:
                reader = readers[number] = SiteValues(site)
            following = position + 1 + reader.word_count
            if following > stop:
                break  # of an image that lies about what it prints
            text = text_of(site, reader.read(data, position + 1))
            stream = streams.get(site.stream) if streams else None
            position = following
            end = position - ReportWord.LINES
            yield Line(stream, text if stream is None else stream.cut(text), 0, end)
        lost = int(words[ReportWord.LOST])
        if not lost:
            return
        stream = next(iter(self.streams.values()), None)
        size = (
            f"{'LAPILLI_PRINT_SIZE is' if stream is None else 'its streams have'} {4 * self._capacity} bytes"
        )
        text = (
            f"[lapilli: {lost} printed line{'s' * (lost > 1)} of kernel '{self.kernel.name}' lost; {size}]\n"
        )
        # Behind all others, and behind what later launches would have printed.
        yield Line(stream, text, 0 if stream is None else lost, end=1 << 32)

    def trap_of(self, words: Words) -> KernelTrap | None:
        """Returns the failure of a copy."""
        if not words[ReportWord.TRAPPED]:
            return None
        kernel = self.kernel
        number = int(words[ReportWord.SITE])
        unknown = Site(kind="assert", text="an unknown check failed")  # only of an image that lies
        site = kernel.sites[number] if number < len(kernel.sites) else unknown
        first = ReportWord.GLOBAL_ID
        ids = [int(n) for n in words[first : first + 2 * kernel.abi.rank].view(np.uint64)]
        # An invocation that does several work-items is told by the first of them.
        every = tuple(n * lanes for n, lanes in zip(ids, kernel.lanes or (1, 1, 1), strict=False))
        work_item = every[kernel.abi.rank - self._rank :]
        return trap_of(kernel.name, site, work_item, SiteValues(site).read(words.data, ReportWord.VALUES))


class HostReport:
    """What a launch that ran on the host has to tell, at the time when a device would."""

    is_empty = False
    prints = True

    def __init__(self, text: Output, trap: KernelTrap | None) -> None:
        self._text, self._trap = text, trap
        self.last_launch = 0

    def copy(self) -> Words:
        """Returns nothing: the host has written no words."""
        return _NO_WORDS

    def empty(self) -> None:
        """Does nothing: it is read once."""

    def lines_of(self, words: Words) -> Output:
        """Returns the printed lines."""
        del words
        return self._text

    def trap_of(self, words: Words) -> KernelTrap | None:
        """Returns the failure."""
        del words
        return self._trap

    def add_to(self, queue: Queue, uses: Sequence[tuple[Tracked, bool]]) -> Event:
        """Notes the launch on a queue, so that the next wait, or read of what it wrote, shows the report.

        Args:
            queue: where a device would have run it.
            uses: its buffers, each with whether it wrote them.
        """

        def encode(command_buffer: CommandBuffer) -> None:
            queue.order(uses, command_buffer.value)
            queue.reports.note_launch(self, command_buffer.value)

        from .event_times import Timing
        from .profile import now

        with queue.device.logical.lock:
            event = Event(queue, queue.record(encode))
        event.timing = Timing(now(), of_host_ns=(now(), now()))
        return event


class _Reading:
    """What the report buffers of a queue held at one time."""

    def __init__(self) -> None:
        self.copies: dict[Report, Words] = {}
        self.ends: list[tuple[Report, int | None]] | None = None
        """See `PrintOrder.ends`."""
        self.traps: list[KernelTrap] | None = None
        self.is_complete = False

    def lines(self) -> Iterator[Line]:
        """Gives the printed lines in the order of the launches."""
        return in_order(
            {report: report.lines_of(words) for report, words in self.copies.items()}, self.ends or ()
        )


class QueueReports:
    """The report buffers of one queue."""

    def __init__(self) -> None:
        self._reports: dict[object, KernelReport] = {}
        self.pending: dict[Report, None] = {}
        """Those with launches that nobody has read after."""
        self.order = PrintOrder()
        self.printer = Printer()
        self._is_reading = False

    def of(
        self,
        device: LogicalDevice,
        binding: KernelBinding,
        kernel: KernelInfo,
        rank: int,
        streams: Streams = NO_STREAMS,
        *,
        part: str = "",
    ) -> KernelReport:
        """Returns the report buffer of a kernel, made at its first launch.  Call it with the device's lock held.

        Args:
            device: where the kernel runs.
            binding: of the kernel: when it goes, and what was launched has been read, the buffer goes.
            kernel: what it reports.
            rank: dimensions of the launch range: fewer than the kernel's where ranges are padded in front.
            streams: of the launch; launches with other streams have another buffer.
            part: what reports beside the kernel itself.
        """
        place = (id(binding), part, rank, *streams.values())
        found = self._reports.get(place)
        if found is None:
            found = KernelReport(device, kernel, rank, streams)
            found.owner = ref(binding, partial(_forget_place, ref(self), place))
            self._reports[place] = found
        return found

    def forget(self, place: object) -> None:
        """Lets go of the buffer of a kernel that is gone; what was launched holds it until it has been read."""
        self._reports.pop(place, None)

    def note_launch(self, report: Report, value: int) -> None:
        """Notes a launch that reports."""
        report.last_launch = value
        self.pending[report] = None

    def note_repeated(self, report: KernelReport, value: int) -> None:
        """Notes a launch that was recorded before; only where `PrintOrder.goes_on_with` the kernel."""
        if report.prints:
            self.order.go_on_with(report)
        report.last_launch = value
        self.pending[report] = None

    def forget_silent(self, device: LogicalDevice, completed: int) -> None:
        """Does what `read` does where all kernels have ended and none has anything to tell; else nothing.

        Call it with the device's lock held.
        """
        if device.half_way is not None or device.is_unusable or self._is_reading:
            return
        try:
            self._is_reading, device.half_way = True, self
            for report in self.pending:
                if report.last_launch > completed or not report.is_empty:
                    return
            if self.order.is_open:
                self.order.forget((), completed)
            self.pending.clear()
        finally:
            self._is_reading, device.half_way = False, None

    def unfinished(self, completed: int) -> int:
        """Returns the timeline value to wait for before `read`: the last launch of kernels with something to say."""
        values = [r.last_launch for r in tuple(self.pending) if r.last_launch > completed and not r.is_empty]
        return max(values, default=0)

    def read(self, device: LogicalDevice, completed: int, note: Callable[..., object]) -> None:
        """Empties the buffers of kernels whose launches have all ended, and hands what was in them to `printer`.

        Does nothing in a finaliser that interrupts the same.  Call it with the device's lock held.

        Args:
            device: of the queue.
            completed: how far its timeline is.
            note: keeps the failures that it is given, each once.
        """
        if self._is_reading:
            return
        before, reading = device.half_way, _Reading()
        interrupt: BaseException | None = None
        try:
            self._is_reading, device.half_way = True, self
            while not reading.is_complete:
                try:
                    self._go_on(reading, completed, note)
                except BaseException as error:  # nothing may be half read: go on first
                    if not is_from_outside(error, interrupt):
                        raise
                    interrupt = error
        finally:
            self._is_reading, device.half_way = False, before
        if interrupt is not None:
            raise interrupt

    def _go_on(self, reading: _Reading, completed: int, note: Callable[..., object]) -> None:
        """Does what is left of a reading.  Ctrl-C may stop it anywhere; a second call goes on there."""
        ended, copies = [r for r in tuple(self.pending) if r.last_launch <= completed], reading.copies
        if reading.ends is None:
            reading.ends = self.order.ends(completed)
        for report in ended:
            if report not in copies and not report.is_empty:
                copies[report] = report.copy()
        for report in copies:
            report.empty()
        self.order.forget(copies, completed)
        for report in ended:
            if isinstance(report, KernelReport) and report.streams:
                # A program may make a stream for each launch.
                self._forget(report)
        if reading.traps is None:
            found = [report.trap_of(words) for report, words in copies.items()]
            reading.traps = [trap for trap in found if trap is not None]
        if reading.traps:
            note(*reading.traps)
        steps = [partial(self.pending.pop, report, None) for report in ended]
        if any(report.prints for report in copies):
            steps.append(partial(self.printer.sources.append, reading.lines))
        in_one_step(map(call, (*steps, partial(setattr, reading, "is_complete", True))))

    def _forget(self, report: KernelReport) -> None:
        for place in list(self._reports):  # kernels may go meanwhile, in other threads, and take theirs along
            if self._reports.get(place) is report:
                self.forget(place)


def _forget_place(reports: ref[QueueReports], place: object, _: object) -> None:
    found = reports()
    if found is not None:
        found.forget(place)
