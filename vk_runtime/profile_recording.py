"""Profile: what took time while its block ran, and how it tells; `profile` holds what the runtime tells it through.

While one runs, every queue writes timestamps around each command, and so runs its commands one after the other;
nothing else of a launch changes.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

from ..ir.errors import Error, InvalidError
from ..ir.process_object import ProcessObject
from ..ir.public_names import PublicNames
from . import trace
from .device_clocks import DeviceClocks, TimedEvent
from .handle import living
from .profile import Command, active, lock, now, submit_what_is_recorded
from .profile_events import ProfileEvent, ProfileKind, chrome_trace, make_table, to_pandas
from .profile_threads import ThreadNames
from .quiet import quiet

if TYPE_CHECKING:
    from rich.table import Table

    from .command_stream import CommandStream

MAX_EVENTS = 1_000_000
"""Events that a profile keeps, about 300 MB; further ones are counted in `Profile.notes`."""

_INSTANTS: dict[str, ProfileKind] = {"module": "module", "link": "link", "cache_hit": "cache_hit"}
"""The events of `lp.trace` that no interval stands for."""


class Profile(
    ProcessObject,
    metaclass=PublicNames,
    internal="add add_command add_host expect",
):
    """What took time while its ``with`` block ran, in all threads; made by `profile`.

    Leaving the block waits for the queues that were used in it.  Profiles may nest.
    """

    _instead = "pickle p.events"

    def __init__(self) -> None:
        self._start_ns = now()
        self._duration_ns: int | None = None
        self._host: list[ProfileEvent] = []
        self._timed: list[TimedEvent] = []
        self._queue_count = 0
        self._queues: WeakKeyDictionary[CommandStream, int] = WeakKeyDictionary()
        self._pending: WeakKeyDictionary[CommandStream, int] = WeakKeyDictionary()
        self._threads = ThreadNames()
        self._clocks = DeviceClocks()
        self._notes: list[str] = []
        self._dropped = 0

    # Results

    @property
    def events(self) -> tuple[ProfileEvent, ...]:
        """What took place so far, by start; of devices only what the host has seen to be done."""
        places = self._clocks.placements(tuple(self._timed))
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
        return self._clocks.errors_ns

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
        return make_table(self.events, self.notes, f"profile of {self.duration_ns / 1e6:.3f} ms")

    def __str__(self) -> str:
        from io import StringIO

        from rich.console import Console

        out = StringIO()
        # Within a notebook a console would show the table in the cell, and write nothing into the file; colours are
        # asked for there by FORCE_COLOR.
        Console(file=out, width=140, force_jupyter=False, color_system=None).print(self.table())
        return out.getvalue().rstrip("\n")

    def __repr__(self) -> str:
        return f"<lapilli.Profile of {len(self._host) + len(self._timed)} events>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Shows the table where a notebook's cell, or IPython, ends with the profile."""
        printer.text(str(self))

    def save(self, path: str | bytes | os.PathLike[str]) -> None:
        """Writes Chrome's trace format, for ui.perfetto.dev and chrome://tracing.

        Raises:
            InvalidError: the file cannot be written.
        """
        try:
            Path(os.fsdecode(path)).write_text(
                chrome_trace(self.events, self.notes, self.calibrated, self._threads.shown()), "utf-8"
            )
        except OSError as error:
            raise InvalidError(
                f"the profile cannot be written to {path}: {error.strerror or error}"
            ) from None

    def to_pandas(self) -> Any:
        """Returns a pandas.DataFrame with a row for each event and a column for each field of `ProfileEvent`.

        Raises:
            FeatureNotSupportedError: pandas is not installed.
        """
        return to_pandas(self.events)

    # Collecting

    def __enter__(self) -> Self:
        with lock:
            if self in active:
                raise InvalidError("this profile runs already; make another with lp.profile()")
            if self._duration_ns is not None:
                raise InvalidError("this profile has ended; make another with lp.profile()")
            submit_what_is_recorded()
            self._start_ns = now()
            active.append(self)
            trace.active.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self not in active:
            raise InvalidError("this profile does not run; write with lp.profile() as p: …")
        try:
            with quiet():  # what kernels report is for whoever waits for them, in another thread perhaps
                for queue in living(self._pending):
                    if not queue.is_closed:
                        queue.wait_for(self._pending[queue])
            seen = {queue.device: queue for queue in living(self._pending)}
            for queue in seen.values():
                self._clocks.read(queue)
        except Error as problem:  # whoever uses the queue next hears of it
            self._notes.append(f"not all work was seen to end: {problem}")
        finally:
            with lock:
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
        self._keep(
            self._host,
            ProfileEvent(
                kind=kind,
                name=name,
                start_ns=max(start - self._start_ns, 0),
                duration_ns=max(end - start, 1) if end else 0,
                device=device,
                thread=self._threads.note(),
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
            else:
                self._clocks.read_first(queue)
        self._pending[queue] = value

    def add_command(self, command: Command, submitted_ns: int, ticks: tuple[int, int] | None) -> None:
        """Notes a command that has run.

        Args:
            command: recorded while this profile ran.
            submitted_ns: host time, as `now`.
            ticks: timestamp of the start, and ticks to the end; None: there are no timestamps.
        """
        if self._duration_ns is not None:  # another thread's, recorded while this one was leaving
            return
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
            self._keep(self._timed, self._clocks.note(event, physical, ticks[0], submitted_ns))

    def _keep(self, events: list[Any], event: object) -> None:
        if len(self._host) + len(self._timed) < MAX_EVENTS:
            events.append(event)
        else:
            self._dropped += 1
