"""What a profile is made of, and how it is shown: a table, and Chrome's trace format."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from ..ir.errors import FeatureNotSupportedError

if TYPE_CHECKING:
    from rich.table import Table

ProfileKind = Literal["kernel", "copy", "compile", "pipeline", "module", "link", "cache_hit", "graph", "wait"]
"""``kernel`` and ``copy``: work on a device, or a copy that the host makes; ``compile``: a stage of the compiler;
``pipeline``: making a VkPipeline; ``module``, ``link``, ``cache_hit``: as in `lp.trace`, without a duration;
``graph``: a replay was submitted; ``wait``: the host waited for a queue."""

Clock = Literal["device", "host"]

KINDS: tuple[ProfileKind, ...] = (
    *("kernel", "copy", "wait", "compile", "pipeline", "graph"),
    *("module", "link", "cache_hit"),
)
"""In the order of the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileEvent:
    """One thing that took place while a profile ran."""

    kind: ProfileKind
    name: str
    """Kernel, or what was done: ``upload``, ``saxpy: passes``."""
    start_ns: int
    """Nanoseconds on the host's clock since the profile began."""
    duration_ns: int
    """Nanoseconds; 0 for what has no duration."""
    clock: Clock = "host"
    """Who measured the duration.  Starts on a device are laid onto the host's clock, see `profile`."""
    device: str = ""
    """The device's selector; empty where none is concerned."""
    queue: int = 0
    """Number of the queue, from 1 in the order of first use; 0: none."""
    thread: int = 0
    """The thread's ``threading.get_ident()``, for what the host did; 0 for work on a device."""
    queued_ns: int = 0
    """Nanoseconds between the submission and the start on the device."""
    gap_ns: int = 0
    """Nanoseconds that nothing of its queue ran before it, since the command before."""
    nbytes: int = 0
    """Bytes that a copy moved."""


def as_columns(events: Sequence[ProfileEvent]) -> dict[str, list[Any]]:
    """Returns the events column by column, as pandas takes them."""
    return {field.name: [getattr(event, field.name) for event in events] for field in fields(ProfileEvent)}


def to_pandas(events: Sequence[ProfileEvent]) -> Any:
    """Returns a pandas.DataFrame with one row per event; FeatureNotSupportedError without pandas."""
    try:
        pandas: Any = importlib.import_module("pandas")
    except ImportError as error:
        raise FeatureNotSupportedError(
            f"Profile.to_pandas needs pandas, which cannot be imported ({error}); install it with "
            "'python -m pip install pandas', or read Profile.events"
        ) from None
    return pandas.DataFrame(as_columns(events))


def make_table(events: Iterable[ProfileEvent], notes: Sequence[str], title: str) -> Table:
    """Returns a rich table: events by kind and name, those that took longest first within a kind.

    Cells are text, whatever brackets names of kernels and devices hold.
    """
    from rich.table import Table
    from rich.text import Text

    caption = Text("\n".join(notes)) if notes else None
    table = Table(title=title, caption=caption, caption_justify="left")
    for heading in ("kind", "name", "device", "clock"):
        table.add_column(heading)
    for heading in ("count", "total ms", "mean ms", "max ms", "queued ms", "gap ms", "GB/s"):
        table.add_column(heading, justify="right")
    groups: dict[tuple[str, str, str, str], list[ProfileEvent]] = {}
    for event in events:
        groups.setdefault((event.kind, event.name, event.device, event.clock), []).append(event)

    def place(item: tuple[tuple[str, str, str, str], list[ProfileEvent]]) -> tuple[int, int]:
        return [str(kind) for kind in KINDS].index(item[0][0]), -sum(event.duration_ns for event in item[1])

    for key, members in sorted(groups.items(), key=place):
        table.add_row(*map(Text, key), str(len(members)), *_figures(members))
    return table


def _figures(events: Sequence[ProfileEvent]) -> tuple[str, ...]:
    """Returns total, mean and longest time, mean time in the queue, mean gap before, and the rate of copies."""
    total = sum(event.duration_ns for event in events)
    if not total:
        return ("",) * 6
    gap = sum(event.gap_ns for event in events) / len(events)
    queued = sum(event.queued_ns for event in events) / len(events)
    nbytes = sum(event.nbytes for event in events)
    times = (total, total / len(events), max(event.duration_ns for event in events))
    return (
        *(f"{time / 1e6:.3f}" for time in times),
        f"{queued / 1e6:.3f}" if queued else "",
        f"{gap / 1e6:.3f}" if gap else "",
        f"{nbytes / total:.2f}" if nbytes else "",
    )


def chrome_trace(
    events: Sequence[ProfileEvent],
    notes: Sequence[str],
    calibrated: Mapping[str, int] | None = None,
    threads: Mapping[int, str] | None = None,
) -> str:
    """Returns the events as JSON in Chrome's trace event format, which Perfetto reads too.

    One process of the trace per device, with a row for each queue, and one for the host, with a row for each thread.
    Intervals of a row lie in each other or apart, as viewers demand, which drop others; what overlaps, as commands that
    the host has timed may, is in further rows.

    Sources: "Trace Event Format", the document of Chromium's trace viewer; Perfetto's json_trace_utils.cc and
    slice_tracker.cc.

    Args:
        events: of a profile.
        notes: what a reader must know.
        calibrated: how many nanoseconds the clock of each device may be off the host's.
        threads: names of the host's threads by `ProfileEvent.thread`.
    """
    processes: dict[str, int] = {}
    lanes: dict[tuple[int, int], list[_Lane]] = {}
    found: list[dict[str, object]] = []
    row_count = 0
    for event in sorted(events, key=lambda event: (event.start_ns, -event.duration_ns)):
        on_device = not event.thread
        process = f"device {event.device}" if on_device else "host"
        pid = processes.setdefault(process, len(processes) + 1)
        of_row = lanes.setdefault((pid, event.queue if on_device else event.thread), [])
        lane = next((lane for lane in of_row if lane.has_room(event)), None)
        if lane is None:
            row_count += 1
            of_row.append(lane := _Lane(row_count))
        lane.ends.append(event.start_ns + event.duration_ns)
        found.append(_entry(event, pid, lane.row))
    found += _names_of_rows(processes, lanes, threads or {})
    other = {"notes": list(notes), "calibrated_within_ns": dict(calibrated or {})}
    content = {"displayTimeUnit": "ns", "traceEvents": found, "otherData": other}
    return json.dumps(content, separators=(",", ":"))


def _entry(event: ProfileEvent, pid: int, row: int) -> dict[str, object]:
    """Returns an event as the trace has it."""
    entry: dict[str, object] = {
        "name": event.name or event.kind,
        "cat": event.kind,
        "ph": "X" if event.duration_ns else "i",
        "ts": _microseconds(event.start_ns),
        "pid": pid,
        "tid": row,
        "args": {key: value for key, value in asdict(event).items() if value not in ("", 0)},
    }
    return entry | ({"dur": _microseconds(event.duration_ns)} if event.duration_ns else {"s": "t"})


def _names_of_rows(
    processes: Mapping[str, int], lanes: Mapping[tuple[int, int], Sequence[_Lane]], threads: Mapping[int, str]
) -> list[dict[str, object]]:
    """Returns what tells a viewer how the processes of the trace and their rows are called."""
    found: list[dict[str, object]] = []
    for process, pid in processes.items():
        found.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": process}})
    for (pid, number), of_row in lanes.items():
        name = threads.get(number, f"thread {number}") if pid == processes.get("host") else f"queue {number}"
        for lane in of_row:
            label = {"name": name if lane is of_row[0] else f"{name}, further"}
            found.append({"name": "thread_name", "ph": "M", "pid": pid, "tid": lane.row, "args": label})
    return found


@dataclass(frozen=True, slots=True)
class _Lane:
    """A row of the trace, with the ends of the intervals that are open in it, the innermost last."""

    row: int
    ends: list[int] = field(default_factory=list[int])

    def has_room(self, event: ProfileEvent) -> bool:
        """Whether an event that begins no earlier than those before lies in the open intervals, or behind them."""
        while self.ends and self.ends[-1] <= event.start_ns:
            self.ends.pop()
        return not self.ends or event.start_ns + event.duration_ns <= self.ends[-1]


def _microseconds(nanoseconds: int) -> float:
    """Returns a number of which Perfetto, which cuts off what is below a nanosecond, gets the nanoseconds back."""
    found = nanoseconds / 1e3
    while int(found * 1e3) < nanoseconds:
        found = math.nextafter(found, math.inf)
    return found
