"""Data races: two accesses of one location, at least one a write and not both atomic, that nothing orders.

What orders accesses: a work-item's own program, a barrier of the work-group (or sub-group) between them, or a
fence on either side, which is taken to order although only the right pair of fences would.  So a finding is a
race of the program, whatever the schedule was; no finding is no proof.

Each location remembers one access of each kind, the latest, and how far apart the work-items were that made
accesses like it since the last barrier.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from .scalars import Lanes


class Access(enum.Enum):
    """How a location is used."""

    READ = "read"
    WRITE = "written"
    ATOMIC_READ = "read atomically"
    ATOMIC_WRITE = "changed atomically"


CONFLICTS = {
    Access.READ: (Access.WRITE, Access.ATOMIC_WRITE),
    Access.WRITE: tuple(Access),
    Access.ATOMIC_READ: (Access.WRITE,),
    Access.ATOMIC_WRITE: (Access.WRITE, Access.READ),
}
"""What an access must not meet unordered."""

NOBODY = -1


class Timeline:
    """Who has waited for whom, by a clock that every barrier and fence moves on.

    Work-items are numbered group by group, so that a number tells the work-group and the sub-group.

    Args:
        group_size: work-items of a work-group.
        sub_group_size: work-items of a sub-group.
    """

    def __init__(self, group_size: int, sub_group_size: int) -> None:
        self.group_size = group_size
        self.sub_group_size = sub_group_size
        self._sub_groups = -(-group_size // sub_group_size)
        self.now = 0
        self._first = 0
        """Number of the first work-item of the batch."""
        self._barriers = np.zeros(0, np.int64)
        self._sub_barriers = np.zeros(0, np.int64)
        self._fences: Lanes | None = None
        self._total = 0

    def enter(self, first: int, count: int, total: int) -> None:
        """Begins a batch of `count` work-items from number `first` on, of `total` in the launch."""
        self._first, self._total = first, total
        self._barriers = np.full(count, NOBODY, np.int64)
        self._sub_barriers = np.full(count, NOBODY, np.int64)

    def barrier(self, lanes: Lanes, *, is_sub_group: bool) -> None:
        """Notes that work-items of the batch waited for the others of their group."""
        self.now += 1
        (self._sub_barriers if is_sub_group else self._barriers)[lanes] = self.now

    def fence(self, lanes: Lanes) -> None:
        """Notes that work-items of the batch executed a fence, or an atomic operation that orders."""
        self.now += 1
        if self._fences is None:
            self._fences = np.full(self._total, NOBODY, np.int64)
        self._fences[self._first + lanes] = self.now

    def sub_group(self, items: Lanes) -> Lanes:
        """Returns the sub-group of work-items, numbered through the launch."""
        group, local = np.divmod(items, self.group_size)
        return group * self._sub_groups + local // self.sub_group_size

    def distance(self, a: Lanes, b: Lanes) -> Lanes:
        """Returns 0 for the same work-item, 1 for the same sub-group, 2 for the same work-group, else 3."""
        far = np.where(a // self.group_size == b // self.group_size, 2, 3)
        near = np.where(self.sub_group(a) == self.sub_group(b), 1, far)
        return np.where(a == b, 0, near)

    def is_ordered(self, who: Lanes, when: Lanes, apart: Lanes, me: Lanes) -> Lanes:
        """Returns whether accesses by `who`, and others up to `apart` from them, happened before `me` now."""
        return ((who == me) & (apart == 0)) | self.has_waited(who, when, apart, me)

    def has_waited(self, who: Lanes, when: Lanes, apart: Lanes, me: Lanes) -> Lanes:
        """Returns the same for what barriers and fences order, a work-item's own program aside."""
        distance = np.maximum(self.distance(who, me), apart)
        lanes = me - self._first
        waited = (distance <= 2) & (self._barriers[lanes] > when)
        waited |= (distance <= 1) & (self._sub_barriers[lanes] > when)
        if self._fences is not None:
            waited |= (self._fences[who] > when) & (self._fences[me] > when)
        return waited


@dataclass(slots=True, eq=False)
class _Record:
    """For each location, the latest access of one kind."""

    who: Lanes
    mate: Lanes
    """Another that made such an access, where there are several."""
    when: Lanes
    apart: Lanes
    """How far apart those were that made such accesses, see `Timeline.distance`."""
    site: Lanes
    """Number of the operation."""

    @classmethod
    def of(cls, count: int) -> _Record:
        return cls(
            np.full(count, NOBODY, np.int64),
            np.full(count, NOBODY, np.int64),
            np.zeros(count, np.int64),
            np.zeros(count, np.int8),
            np.zeros(count, np.int32),
        )


@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses that nothing orders."""

    position: int
    """Which of the accesses that were noted meets an earlier one."""
    item: int
    """Number of its work-item."""
    other_item: int
    """Number of the other work-item."""
    other_access: Access
    other_site: int
    """Number of the other operation."""


class AccessLog:
    """Who used each location of a memory."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._records: dict[Access, _Record] = {}

    def note(self, access: Access, cells: Lanes, items: Lanes, site: int, timeline: Timeline) -> Race | None:
        """Notes simultaneous accesses and returns the first that races with an earlier one or each other.

        Args:
            access: how the locations are used.
            cells: the location of each access.
            items: the number of its work-item, ascending.
            site: number of the operation.
            timeline: what orders accesses.
        """
        for other in CONFLICTS[access]:
            record = self._records.get(other)
            race = None if record is None else self._meeting(record, other, cells, items, timeline)
            if race is not None:
                return race
        order = np.argsort(cells, kind="stable")
        ordered = cells[order]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        ends = np.concatenate((starts[1:], [len(ordered)])) - 1
        first, last = items[order[starts]], items[order[ends]]
        if access is Access.WRITE and len(starts) < len(cells):
            clash = int(np.flatnonzero(starts != ends)[0])
            position = int(order[ends[clash]])
            return Race(position, int(last[clash]), int(first[clash]), access, site)
        self._update(access, ordered[starts], first, last, site, timeline)
        return None

    def _meeting(
        self, record: _Record, other: Access, cells: Lanes, items: Lanes, timeline: Timeline
    ) -> Race | None:
        who = record.who[cells]
        known = np.flatnonzero(who != NOBODY)
        if not len(known):
            return None
        cells, me, who = cells[known], items[known], who[known]
        is_fine = timeline.is_ordered(who, record.when[cells], record.apart[cells], me)
        if is_fine.all():
            return None
        found = int(np.flatnonzero(~is_fine)[0])
        cell = cells[found]
        culprit = record.mate[cell] if who[found] == me[found] else who[found]
        return Race(int(known[found]), int(me[found]), int(culprit), other, int(record.site[cell]))

    def _update(
        self, access: Access, cells: Lanes, first: Lanes, last: Lanes, site: int, timeline: Timeline
    ) -> None:
        record = self._records.get(access)
        if record is None:
            record = self._records[access] = _Record.of(self._count)
        apart = timeline.distance(first, last)
        who, when, before = record.who[cells], record.when[cells], record.apart[cells]
        waited = [timeline.has_waited(who, when, before, item) for item in (first, last)]
        is_past = (who == NOBODY) | (waited[0] & waited[1])
        # What is ordered before these accesses is so before whatever these are ordered before.
        joined = np.maximum(np.maximum(before, apart), timeline.distance(who, last))
        joined = np.maximum(joined, timeline.distance(who, first))
        record.apart[cells] = np.where(is_past, apart, joined)
        mate = np.where(first != last, first, np.where(who != last, who, record.mate[cells]))
        record.mate[cells] = np.where(is_past, first, mate)
        record.who[cells] = last
        record.when[cells] = timeline.now
        record.site[cells] = site
