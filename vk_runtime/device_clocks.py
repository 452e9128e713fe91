"""Where the clocks of devices lie on the host's: timestamps of commands as host time.

A device's clock counts from an unknown moment.  Where the driver reads both clocks at once (`calibration`), at the
first command and at the profile's end, these readings tie it to the host's.  Elsewhere it is laid there by what is
certain: no command begins before it was submitted.  The least delay that was ever seen is taken for none, so starts are
early by that much (some microseconds on a GPU); durations are the device's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .calibration import Calibration, calibrate

if TYPE_CHECKING:
    from .command_stream import CommandStream
    from .physical_device import PhysicalDevice
    from .profile_events import ProfileEvent

_LONG_ENOUGH_NS = 10_000_000
"""Time between two readings of the clocks after which they say how fast one runs against the other."""


@dataclass(frozen=True, slots=True)
class TimedEvent:
    """A command that has run, on its device's clock."""

    event: ProfileEvent
    """Everything but the start."""
    clock: PhysicalDevice
    ticks: int
    """Start, in ticks since the first command of the profile on this device."""
    submitted_ns: int
    """Host time, as `profile.now`."""

    @property
    def start_ns(self) -> float:
        """Start, in nanoseconds since the first command."""
        return self.ticks * self.clock.limits.timestamp_period_ns


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a device's clock lies on the host's."""

    device_ns: float = 0.0
    """A moment, as `TimedEvent.start_ns`."""
    host_ns: float = 0.0
    """The same, as `profile.now`."""
    rate: float = 1.0
    """Nanoseconds of the host in one of the device."""

    def host_time_of(self, timed: TimedEvent) -> int:
        """Returns when a command began, as `profile.now`."""
        return round(self.host_ns + (timed.start_ns - self.device_ns) * self.rate)


class DeviceClocks:
    """The clocks of the devices that one profile has seen commands of."""

    def __init__(self) -> None:
        self._latest: dict[int, tuple[int, TimedEvent]] = {}
        """By device the first timestamp, and the last command."""
        self._readings: dict[int, tuple[str, list[Calibration]]] = {}
        """By device its selector, and both clocks at some moments."""

    @property
    def errors_ns(self) -> dict[str, int]:
        """By device, how many nanoseconds its clock may be off the host's; without those that cannot be calibrated."""
        worst: dict[str, int] = {}
        for selector, readings in self._readings.values():
            worst[selector] = max(reading.error_ns for reading in readings)
        return worst

    def read_first(self, queue: CommandStream) -> None:
        """Reads both clocks of a queue's device, where its driver can and that was not done yet."""
        if id(queue.device.logical.physical) not in self._readings:
            self.read(queue)

    def read(self, queue: CommandStream) -> None:
        """Reads both clocks of a queue's device, where its driver can."""
        logical = queue.device.logical
        reading = calibrate(logical)
        if reading is not None:
            _, readings = self._readings.setdefault(id(logical.physical), (queue.device.selector, []))
            readings.append(reading)

    def note(self, event: ProfileEvent, clock: PhysicalDevice, stamp: int, submitted_ns: int) -> TimedEvent:
        """Returns a command with the ticks since the device's first one, however often the counter began anew.

        Host time tells how often: a counter of 36 bits wraps each minute on some GPUs.
        """
        found = self._latest.get(id(clock))
        if found is None:
            timed = TimedEvent(event, clock, 0, submitted_ns)
            self._latest[id(clock)] = stamp, timed
            return timed
        first, before = found
        passed = (submitted_ns - before.submitted_ns) / clock.limits.timestamp_period_ns
        ticks = nearest(stamp - first, before.ticks + passed, clock.timestamp_valid_bits)
        timed = TimedEvent(event, clock, ticks, submitted_ns)
        self._latest[id(clock)] = first, timed
        return timed

    def placements(self, commands: Iterable[TimedEvent]) -> dict[int, Placement]:
        """Returns for each device, by the `id` of its `PhysicalDevice`, how its clock becomes the host's."""
        found: dict[int, Placement] = {}
        for timed in commands:
            key = id(timed.clock)
            if key in self._readings:
                if key not in found:
                    found[key] = self._calibrated_placement(timed.clock, self._readings[key][1])
                continue
            least = timed.submitted_ns - timed.start_ns
            found[key] = max(found.get(key, Placement(0, least)), Placement(0, least), key=_host_ns)
        return found

    def _calibrated_placement(self, clock: PhysicalDevice, readings: list[Calibration]) -> Placement:
        """Returns the line through the first reading and the last."""
        (first, last), period = (readings[0], readings[-1]), clock.limits.timestamp_period_ns
        begin, end = (self._ticks_of(clock, reading) * period for reading in (first, last))
        passed = last.host_ns - first.host_ns
        is_long = passed > _LONG_ENOUGH_NS and end > begin
        return Placement(begin, first.host_ns, passed / (end - begin) if is_long else 1.0)

    def _ticks_of(self, clock: PhysicalDevice, reading: Calibration) -> int:
        """Returns when a reading was made, in ticks since the first command, however often the counter began anew."""
        first, timed = self._latest[id(clock)]
        passed = (reading.host_ns - timed.submitted_ns) / clock.limits.timestamp_period_ns
        return nearest(reading.ticks - first, timed.ticks + passed, clock.timestamp_valid_bits)


def _host_ns(placement: Placement) -> float:
    return placement.host_ns


def nearest(ticks: int, expected: float, valid_bits: int) -> int:
    """Returns the number nearest to `expected` that a counter of so many bits shows as `ticks`."""
    wrap = 1 << valid_bits
    ticks %= wrap
    return ticks + round((expected - ticks) / wrap) * wrap
