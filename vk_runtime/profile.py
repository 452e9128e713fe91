"""Measuring what takes time: ``with lp.profile() as p``, and ``LAPILLI_PROFILE=trace.json`` for a whole process.

While a profile runs, every queue writes timestamps around each command, and so runs its commands one after the
other; nothing else of a launch changes.  A device's clock counts from an unknown moment.  Where the driver reads both
clocks at once (`calibration`), at the first command and at the profile's end, these readings tie it to the host's.
Elsewhere it is laid there by what is certain: no command begins before it was submitted.  The least delay that was
ever seen is taken for none, so starts are early by that much (some microseconds on a GPU); durations are the device's
own.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary, WeakSet

from ..ir.errors import Error, InvalidError
from . import trace
from .handle import living

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.table import Table

    from .calibration import Calibration
    from .command_buffer import CommandBuffer
    from .command_stream import CommandStream
    from .graph_commands import Batch
    from .logical_device import LogicalDevice
    from .physical_device import PhysicalDevice
    from .profile_events import ProfileEvent, ProfileKind

MAX_EVENTS = 1_000_000
"""Events that a profile keeps, about 300 MB; further ones are counted in `Profile.notes`."""

_LONG_ENOUGH_NS = 10_000_000
"""Time between two readings of the clocks after which they say how fast one runs against the other."""

_INSTANTS: dict[str, ProfileKind] = {"module": "module", "link": "link", "cache_hit": "cache_hit"}
"""The events of `lp.trace` that no interval stands for."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a queue while it is recorded and runs."""

    kind: ProfileKind
    name: str
    queue: CommandStream
    nbytes: int
    profiles: tuple[Profile, ...]
    """Those that ran when it was recorded."""


@dataclass(frozen=True, slots=True)
class _Timed:
    """A command that has run, on its device's clock."""

    event: ProfileEvent
    """Everything but the start."""
    clock: PhysicalDevice
    ticks: int
    """Start, in ticks since the first command of the profile on this device."""
    submitted_ns: int
    """Host time, as `now`."""

    @property
    def start_ns(self) -> float:
        """Start, in nanoseconds since the first command."""
        return self.ticks * self.clock.limits.timestamp_period_ns


@dataclass(frozen=True, slots=True)
class _Placement:
    """Where a device's clock lies on the host's."""

    device_ns: float = 0.0
    """A moment, as `_Timed.start_ns`."""
    host_ns: float = 0.0
    """The same, as `now`."""
    rate: float = 1.0
    """Nanoseconds of the host in one of the device."""

    def host_time_of(self, timed: _Timed) -> int:
        """Returns when a command began, as `now`."""
        return round(self.host_ns + (timed.start_ns - self.device_ns) * self.rate)


class Profile:
    """What took time while its ``with`` block ran, in all threads; made by `profile`.

    Leaving the block waits for the queues that were used in it.  Profiles may nest.
    """

    def __init__(self) -> None:
        self._start_ns = now()
        self._duration_ns: int | None = None
        self._host: list[ProfileEvent] = []
        self._timed: list[_Timed] = []
        self._queue_count = 0
        self._queues: WeakKeyDictionary[CommandStream, int] = WeakKeyDictionary()
        self._pending: WeakKeyDictionary[CommandStream, int] = WeakKeyDictionary()
        self._latest: dict[int, tuple[int, _Timed]] = {}
        """By device the first timestamp, and the last command."""
        self._readings: dict[int, tuple[str, list[Calibration]]] = {}
        """By device its selector, and both clocks at some moments."""
        self._notes: list[str] = []
        self._dropped = 0

    # ---- results ----

    @property
    def events(self) -> tuple[ProfileEvent, ...]:
        """What took place so far, by start; of devices only what the host has seen to be done."""
        places = self._placements()
        placed: list[ProfileEvent] = []
        ends: dict[tuple[str, int], int] = {}
        for timed in sorted(self._timed, key=lambda timed: timed.ticks):
            start = places[id(timed.clock)].host_time_of(timed) - self._start_ns
            queued = max(start + self._start_ns - timed.submitted_ns, 0)
            queue = timed.event.device, timed.event.queue
            gap = max(start - ends[queue], 0) if queue in ends else 0
            ends[queue] = start + timed.event.duration_ns
            placed.append(replace(timed.event, start_ns=start, queued_ns=queued, gap_ns=gap))
        return tuple(sorted((*self._host, *placed), key=lambda event: event.start_ns))

    @property
    def calibrated(self) -> dict[str, int]:
        """By device, how many nanoseconds its clock may be off the host's; without those that cannot be calibrated."""
        worst: dict[str, int] = {}
        for selector, readings in self._readings.values():
            worst[selector] = max(reading.error_ns for reading in readings)
        return worst

    def _placements(self) -> dict[int, _Placement]:
        """Returns for each device how its clock becomes the host's."""
        found: dict[int, _Placement] = {}
        for timed in tuple(self._timed):
            key = id(timed.clock)
            if key in self._readings:
                if key not in found:
                    found[key] = self._calibrated_placement(timed.clock, self._readings[key][1])
                continue
            least = timed.submitted_ns - timed.start_ns
            found[key] = max(found.get(key, _Placement(0, least)), _Placement(0, least), key=_host_ns)
        return found

    def _calibrated_placement(self, clock: PhysicalDevice, readings: list[Calibration]) -> _Placement:
        """Returns the line through the first reading and the last."""
        (first, last), period = (readings[0], readings[-1]), clock.limits.timestamp_period_ns
        begin, end = (self._ticks_of(clock, reading) * period for reading in (first, last))
        passed = last.host_ns - first.host_ns
        is_long = passed > _LONG_ENOUGH_NS and end > begin
        return _Placement(begin, first.host_ns, passed / (end - begin) if is_long else 1.0)

    def _ticks_of(self, clock: PhysicalDevice, reading: Calibration) -> int:
        """Returns when a reading was made, in ticks since the first command, however often the counter began anew."""
        first, timed = self._latest[id(clock)]
        passed = (reading.host_ns - timed.submitted_ns) / clock.limits.timestamp_period_ns
        return _nearest(reading.ticks - first, timed.ticks + passed, clock.timestamp_valid_bits)

    @property
    def duration_ns(self) -> int:
        """Nanoseconds that the profile has run."""
        return now() - self._start_ns if self._duration_ns is None else self._duration_ns

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the times must know: devices without timestamps, events that were left out."""
        dropped = (f"{self._dropped} events more than {MAX_EVENTS} were left out",) if self._dropped else ()
        return (*self._notes, *dropped)

    def table(self) -> Table:
        """Returns a rich table of the times by kind, name and device."""
        from .profile_events import make_table

        return make_table(self.events, self.notes, f"profile of {self.duration_ns / 1e6:.3f} ms")

    def __str__(self) -> str:
        from io import StringIO

        from rich.console import Console

        out = StringIO()
        Console(file=out, width=140).print(self.table())
        return out.getvalue().rstrip("\n")

    def __repr__(self) -> str:
        return f"<lapilli.Profile of {len(self._host) + len(self._timed)} events>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Shows the table where a notebook's cell, or IPython, ends with the profile."""
        printer.text(str(self))

    def save(self, path: str | Path) -> None:
        """Writes Chrome's trace format, for ui.perfetto.dev and chrome://tracing.

        Raises:
            InvalidError: the file cannot be written.
        """
        from .profile_events import chrome_trace

        try:
            Path(path).write_text(chrome_trace(self.events, self.notes, self.calibrated), "utf-8")
        except OSError as error:
            raise InvalidError(
                f"the profile cannot be written to {path}: {error.strerror or error}"
            ) from None

    def to_pandas(self) -> Any:
        """Returns a pandas.DataFrame with a row for each event and a column for each field of `ProfileEvent`.

        Raises:
            FeatureNotSupportedError: pandas is not installed.
        """
        from .profile_events import to_pandas

        return to_pandas(self.events)

    # ---- collecting ----

    def __enter__(self) -> Self:
        from . import profile_events  # before it runs: a finaliser that launches may interrupt an import

        del profile_events
        with _lock:
            if self in active:
                raise InvalidError("this profile runs already; make another with lp.profile()")
            if self._duration_ns is not None:
                raise InvalidError("this profile has ended; make another with lp.profile()")
            _submit_what_is_recorded()
            self._start_ns = now()
            active.append(self)
            trace.active.append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            for queue in living(self._pending):
                if not queue.is_closed:
                    queue.wait_for(self._pending[queue])
            seen = {queue.device: queue for queue in living(self._pending)}
            for queue in seen.values():
                self._calibrate(queue)
        except Error as problem:  # whoever uses the queue next hears of it
            self._notes.append(f"not all work was seen to end: {problem}")
        finally:
            with _lock:
                active.remove(self)
                trace.active.remove(self)
                self._duration_ns = now() - self._start_ns
            self._pending.clear()

    def add(self, event: trace.TraceEvent) -> None:
        """Takes an event of `lp.trace` over."""
        kind = _INSTANTS.get(event.kind)
        if kind is not None:
            self.add_host(kind, event.kernel or event.image[:12], now(), 0, device=event.device)

    def add_host(
        self, kind: ProfileKind, name: str, start: int, end: int, *, device: str = "", nbytes: int = 0
    ) -> None:
        """Notes what the host did from `start` to `end` (0: no duration), as `now` tells them."""
        from .profile_events import ProfileEvent

        self._keep(
            self._host,
            ProfileEvent(
                kind=kind,
                name=name,
                start_ns=max(start - self._start_ns, 0),
                duration_ns=max(end - start, 1) if end else 0,
                device=device,
                thread=threading.get_ident(),
                nbytes=nbytes,
            ),
        )

    def expect(self, queue: CommandStream, value: int) -> None:
        """Notes that a timed command of a queue ends when the timeline reaches `value`."""
        if queue not in self._queues:
            self._queue_count += 1
            self._queues[queue] = self._queue_count
            if not queue.device.logical.physical.timestamp_valid_bits:
                self._notes.append(
                    f"device '{queue.device.selector}' has no timestamps: its times are the host's, from submission "
                    "to when the host saw the end, and the same for commands submitted together"
                )
            elif id(queue.device.logical.physical) not in self._readings:
                self._calibrate(queue)
        self._pending[queue] = value

    def _calibrate(self, queue: CommandStream) -> None:
        """Reads both clocks of a queue's device, where its driver can."""
        from .calibration import calibrate

        logical = queue.device.logical
        reading = calibrate(logical)
        if reading is not None:
            _, readings = self._readings.setdefault(id(logical.physical), (queue.device.selector, []))
            readings.append(reading)

    def add_command(self, command: Command, submitted_ns: int, ticks: tuple[int, int] | None) -> None:
        """Notes a command that has run.

        Args:
            command: recorded while this profile ran.
            submitted_ns: host time, as `now`.
            ticks: timestamp of the start, and ticks to the end; None: there are no timestamps.
        """
        if self._duration_ns is not None:  # another thread's, recorded while this one was leaving
            return
        from .profile_events import ProfileEvent

        physical = command.queue.device.logical.physical
        period = physical.limits.timestamp_period_ns
        event = ProfileEvent(
            kind=command.kind,
            name=command.name,
            start_ns=submitted_ns - self._start_ns,
            duration_ns=max(now() - submitted_ns if ticks is None else round(ticks[1] * period), 1),
            clock="host" if ticks is None else "device",
            device=command.queue.device.selector,
            queue=self._queues.get(command.queue, 0),
            nbytes=command.nbytes,
        )
        if ticks is None:
            self._keep(self._host, event)
        else:
            self._keep(self._timed, self._unwrapped(event, physical, ticks[0], submitted_ns))

    def _unwrapped(self, event: ProfileEvent, clock: PhysicalDevice, stamp: int, submitted_ns: int) -> _Timed:
        """Returns a command with the ticks since the device's first one, however often the counter began anew.

        Host time tells how often: a counter of 36 bits wraps each minute on some GPUs.
        """
        found = self._latest.get(id(clock))
        if found is None:
            timed = _Timed(event, clock, 0, submitted_ns)
            self._latest[id(clock)] = stamp, timed
            return timed
        first, before = found
        passed = (submitted_ns - before.submitted_ns) / clock.limits.timestamp_period_ns
        ticks = _nearest(stamp - first, before.ticks + passed, clock.timestamp_valid_bits)
        timed = _Timed(event, clock, ticks, submitted_ns)
        self._latest[id(clock)] = first, timed
        return timed

    def _keep(self, events: list[Any], event: object) -> None:
        if len(self._host) + len(self._timed) < MAX_EVENTS:
            events.append(event)
        else:
            self._dropped += 1


def _host_ns(placement: _Placement) -> float:
    return placement.host_ns


def _nearest(ticks: int, expected: float, valid_bits: int) -> int:
    """Returns the number nearest to `expected` that a counter of so many bits shows as `ticks`."""
    wrap = 1 << valid_bits
    ticks %= wrap
    return ticks + round((expected - ticks) / wrap) * wrap


_lock = threading.Lock()

active: list[Profile] = []
"""The profiles that run now.  Test ``if active`` before anything else: it costs nothing while none does."""

_of_process: list[Profile] = []
"""The profile of the option `profile`, once it runs."""

devices: WeakSet[LogicalDevice] = WeakSet()
"""Every VkDevice of the process."""

now = time.perf_counter_ns
"""The host's clock, nanoseconds."""

_NOTHING: AbstractContextManager[None] = nullcontext()


def profile() -> Profile:
    """Returns a context manager that measures kernels, copies, compilations and waits; see `Profile`.

    with lp.profile() as p:
        blur[shape](source, result)
    print(p)
    p.save("trace.json")
    """
    return Profile()


def profile_process(path: Path) -> None:
    """Starts the profile of the process, once; it is written to `path` when the process ends."""
    with _lock:
        if _of_process:
            return
        _of_process.append(Profile())
    running = _of_process[0].__enter__()

    def end() -> None:
        from sys import stderr

        running.__exit__(None, None, None)
        try:
            running.save(path)
        except InvalidError as error:
            print(f"lapilli: {error}", file=stderr)

    atexit.register(end)


def command(
    kind: ProfileKind, name: str, queue: CommandStream, value: int, nbytes: int = 0
) -> Command | None:
    """Returns what stands for a command that is being recorded; None while no profile runs."""
    if not active:
        return None
    profiles = tuple(active)
    for running in profiles:
        running.expect(queue, value)
    return Command(kind, name, queue, nbytes, profiles)


def span(kind: ProfileKind, name: str, *, device: str = "", nbytes: int = 0) -> AbstractContextManager[None]:
    """Returns a context manager that measures what the host does in it; one that does nothing while none runs."""
    return _span(kind, name, device, nbytes) if active else _NOTHING


@contextmanager
def _span(kind: ProfileKind, name: str, device: str, nbytes: int) -> Generator[None]:
    start = now()
    try:
        yield
    finally:
        end = now()
        for running in tuple(active):
            running.add_host(kind, name, start, end, device=device, nbytes=nbytes)


class Stages:
    """Times the stages of a compilation: each call of `done` ends one and begins the next."""

    def __init__(self, kernel: str, device: str = "") -> None:
        self._kernel = kernel
        self._device = device
        self._start_ns = now()

    def done(self, stage: str) -> None:
        """Ends the stage that is called `stage`."""
        start, self._start_ns = self._start_ns, now()
        for running in tuple(active):
            name = f"{self._kernel}: {stage}"
            running.add_host("compile", name, start, self._start_ns, device=self._device)


def note_submission(submitted: CommandBuffer | Batch) -> None:
    """Notes when a command buffer is submitted."""
    submitted.submitted_ns = now()


def note_replay(queue: CommandStream) -> None:
    """Notes that a graph is replayed."""
    for running in tuple(active):
        running.add_host("graph", "replay", now(), 0, device=queue.device.selector)


def note_command(command: Command, submitted_ns: int, ticks: tuple[int, int] | None) -> None:
    """Tells the profiles of a command that it has run; see `Profile.add_command`."""
    for running in command.profiles:
        running.add_command(command, submitted_ns, ticks)


def _submit_what_is_recorded() -> None:
    """Lets the open command buffers go, so that the next commands come into ones with timestamps."""
    for device in living(devices):
        if not (device.is_closed or device.is_lost or device.is_forked):
            with device.lock:
                device.submit_everything()
