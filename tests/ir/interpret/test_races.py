"""What counts as ordered: the log of accesses by itself, against every pair of accesses compared one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest

from lapilli.ir.interpret.races import CONFLICTS, Access, AccessLog, Timeline

GROUP, SUB_GROUP, ITEMS = 4, 2, 12


class PairwiseLog:
    """Remembers every access, with what its work-item waited for since."""

    def __init__(self):
        self.accesses = []
        self.barriers = {}
        """(kind, number of the group) -> times of its barriers."""

    def note(self, access, cells, items, time):
        """Returns whether one of simultaneous accesses races."""
        made = [(access, cell, item, time) for cell, item in zip(cells, items, strict=True)]
        found = False
        for position, new in enumerate(made):
            for old in self.accesses + made[:position]:
                found |= self.races(old, new)
        self.accesses += made
        return found

    def races(self, old, new):
        if old[1] != new[1] or old[2] == new[2] or old[0] not in CONFLICTS[new[0]]:
            return False
        for kind, size in (("group", GROUP), ("sub_group", SUB_GROUP)):
            mine, other = new[2] // size, old[2] // size
            if mine == other and any(t > old[3] for t in self.barriers.get((kind, mine), [])):
                return False
        return True


@pytest.mark.parametrize("seed", range(60))
def test_the_log_finds_the_first_race_of_random_accesses(seed):
    pick = random.Random(seed)
    timeline, log, pairwise = Timeline(GROUP, SUB_GROUP), AccessLog(3), PairwiseLog()
    timeline.enter(0, ITEMS, ITEMS)
    # Mostly reads and atomics: otherwise the first race comes at once.
    kinds = [Access.READ] * 4 + [Access.WRITE, Access.ATOMIC_READ, Access.ATOMIC_WRITE]
    for _ in range(60):
        if pick.random() < 0.4:
            kind, size = pick.choice([("group", GROUP), ("sub_group", SUB_GROUP)])
            number = pick.randrange(ITEMS // size)
            lanes = np.arange(number * size, (number + 1) * size)
            timeline.barrier(lanes, is_sub_group=kind == "sub_group")
            pairwise.barriers.setdefault((kind, number), []).append(timeline.now)
            continue
        group = pick.randrange(ITEMS // GROUP)
        items = sorted(pick.sample(range(group * GROUP, (group + 1) * GROUP), pick.choice([1, 1, 2, 3])))
        cells, access = [pick.randrange(3) for _ in items], pick.choice(kinds)
        expected = pairwise.note(access, cells, items, timeline.now)
        found = log.note(access, np.array(cells), np.array(items), 0, timeline)
        assert (found is not None) == expected
        if found is not None:
            assert found.item in items and found.other_item != found.item
            return


def test_fences_on_both_sides_order():
    timeline, log = Timeline(GROUP, SUB_GROUP), AccessLog(1)
    timeline.enter(0, 8, 8)
    cell = np.array([0])
    assert log.note(Access.WRITE, cell, np.array([1]), 0, timeline) is None
    timeline.fence(np.array([1]))
    assert log.note(Access.READ, cell, np.array([6]), 1, timeline) is not None
    timeline.fence(np.array([6]))
    assert log.note(Access.READ, cell, np.array([6]), 1, timeline) is None
    race = log.note(Access.WRITE, cell, np.array([7]), 2, timeline)
    assert race is not None and (race.item, race.other_item, race.other_site) == (7, 6, 1)
