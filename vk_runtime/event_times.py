"""When commands of a queue with ``profiling=True`` were submitted, began and ended: ``lp.info.event_profiling``.

All three are nanoseconds on the clock of the device, which counts from an unknown moment and is one for all its queues.
Submissions are seen by the host.  Where the driver reads both clocks at once (`calibration`) that ties them together;
elsewhere the least delay from any submission to its start is taken for none, as `device_clocks` does.  Counters may
count from 1970, in nanoseconds, which a float rounds to 256 of them; fractions keep every one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from ..ir.errors import InvalidError
from .calibration import calibrate
from .device_clocks import nearest
from .event import Event
from .profile import now

if TYPE_CHECKING:
    from .logical_device import LogicalDevice
    from .queue import Queue


@dataclass(slots=True)
class Timing:
    """When the commands of an event ran: several where a range is launched, or memory copied, in pieces."""

    submitted_ns: int
    """When the first was recorded, as `profile.now`."""
    command_count: int = 0
    """Commands on the device; none: the host did it."""
    start_ticks: int | None = None
    """When the first began, as its timestamp counts; None: it is not known yet."""
    span_ticks: int = 0
    """From there to the end of the last."""
    elapsed_ticks: int = 0
    """What they took together, without what lies between them."""
    of_host_ns: tuple[int, int] = (0, 0)
    """Start and end of what the host did, as `profile.now`."""
    known: tuple[int, int, int] | None = None
    """Submission, start and end, once somebody has asked."""

    def add(self, start: int, elapsed: int, mask: int) -> None:
        """Takes the two timestamps of a command."""
        if self.start_ticks is None:
            self.start_ticks = start
        self.span_ticks = max(self.span_ticks, ((start - self.start_ticks) & mask) + elapsed)
        self.elapsed_ticks += elapsed


class EventClock:
    """The clock of one device beside the host's.  Use it with the device's lock held."""

    def __init__(self, device: LogicalDevice) -> None:
        self._device = device
        self._period_ns = Fraction(device.physical.limits.timestamp_period_ns)
        self._first: tuple[int, int] | None = None
        self._ahead_ns: Fraction | None = None

    def note(self, timing: Timing) -> None:
        """Learns from a command that has run; nothing begins before it was submitted."""
        start = self._time_of(timing.start_ticks or 0, timing.submitted_ns)
        ahead = start - timing.submitted_ns
        self._ahead_ns = ahead if self._ahead_ns is None else min(self._ahead_ns, ahead)

    def _time_of(self, ticks: int, near_ns: int) -> Fraction:
        """Returns a timestamp in nanoseconds, however often the counter began anew."""
        if self._first is None:
            self._first = ticks, near_ns
        first, first_ns = self._first
        expected = float((near_ns - first_ns) / self._period_ns)
        bits = self._device.physical.timestamp_valid_bits
        return (first + nearest(ticks - first, expected, bits)) * self._period_ns

    def times_of(self, timing: Timing) -> tuple[int, int, int]:
        """Returns when the commands of an event were submitted, began and ended."""
        reading = calibrate(self._device)
        ahead = self._ahead_ns or Fraction()
        if reading is not None:
            ahead = self._time_of(reading.ticks, reading.host_ns) - reading.host_ns
        submitted = timing.submitted_ns + ahead
        if timing.start_ticks is None:
            start, end = (moment + ahead for moment in timing.of_host_ns)
        else:
            start = self._time_of(timing.start_ticks, timing.submitted_ns)
            end = start + timing.span_ticks * self._period_ns
        return round(min(submitted, start)), round(start), round(end)


class EventProfilingInfo:
    """``info::event_profiling``: nanoseconds on the clock of the device, 0 for an event of no command."""

    __slots__ = ("_event",)

    def __init__(self, event: Event) -> None:
        self._event = event

    @property
    def command_submit(self) -> int:
        """When the command was submitted to its queue."""
        return times_of(self._event)[0]

    @property
    def command_start(self) -> int:
        """When the device began with it."""
        return times_of(self._event)[1]

    @property
    def command_end(self) -> int:
        """When the device had ended it."""
        return times_of(self._event)[2]


def timing_of(event: Event) -> Timing | None:
    """Waits for an event and returns its timing; None for the event of no command.

    Raises:
        InvalidError: it is not of a queue with ``profiling=True``, or of a replay.
    """
    queue = event.queue
    if not queue.is_profiling:
        raise InvalidError("this event was not timed; make its queue with lp.Queue(profiling=True)")
    if event.value or event.timing is not None:
        event.wait()
    timing = event.timing
    if timing is None and event.value:
        raise InvalidError(
            "this event was not timed: replays of graphs are not, nor are markers; time the launches without a graph"
        )
    if timing is not None and timing.command_count and timing.start_ticks is None:
        logical = queue.device.logical
        with logical.lock:  # a queue for copies has not told yet
            logical.collect()
    return timing


def times_of(event: Event) -> tuple[int, int, int]:
    """Returns when a command was submitted, began and ended; as `timing_of`."""
    timing = timing_of(event)
    if timing is None:
        return 0, 0, 0
    if timing.known is None:
        logical = event.queue.device.logical
        with logical.lock:
            timing.known = timing.known or logical.event_clock.times_of(timing)
    return timing.known


class _OfThread(threading.local):
    event: Event | None = None


_of_thread = _OfThread()


def timing_to_fill(event: Event | None) -> Timing | None:
    """Returns what gets the timestamps of a command that this thread records; None where nobody wants them.

    Args:
        event: of the command; None: a copy or fill, whose event the thread may have noted.
    """
    event = event or _of_thread.event
    if event is None:
        return None
    timing = event.timing = event.timing or Timing(now())
    timing.command_count += 1
    return timing


@contextmanager
def _noted(event: Event) -> Generator[None]:
    before, _of_thread.event = _of_thread.event, event
    try:
        yield
    finally:
        _of_thread.event = before


def timed_transfer(queue: Queue, command: Callable[[], Event]) -> Event:
    """Runs a copy or fill of a queue with ``profiling=True``; returns its event, with times."""
    event, begin = Event(queue, 0), now()
    with _noted(event):
        found = command()
    if found.is_recorded:
        return found
    timing = event.timing = event.timing or Timing(begin, of_host_ns=(begin, now()))
    timing.submitted_ns = begin
    event.value = found.value
    return event
