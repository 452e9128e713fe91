"""Parts of a block never overlap, are aligned, and merge to the whole block again."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lapilli.vk_runtime.free_list import FreeList


def allocate(free_list, size, alignment):
    """Returns where there was room, None where there was none."""
    taken: list[int] = []
    assert free_list.allocate(size, alignment, int, taken) == bool(taken)
    return taken[0] if taken else None


def test_first_fit_aligns_and_refuses_what_does_not_fit():
    free_list = FreeList(1024)
    assert allocate(free_list, 10, 1) == 0
    assert allocate(free_list, 100, 256) == 256
    assert allocate(free_list, 246, 1) == 10  # the gap that alignment left
    assert allocate(free_list, 1024, 1) is None
    assert free_list.used_bytes == 10 + 100 + 246


@given(
    st.lists(
        st.tuples(st.integers(1, 300), st.sampled_from([1, 4, 16, 256]), st.booleans()),
        min_size=1,
        max_size=60,
    )
)
def test_parts_are_disjoint_and_come_back(steps):
    free_list = FreeList(4096)
    taken: list[tuple[int, int]] = []
    for size, alignment, gives_back in steps:
        if gives_back and taken:
            free_list.free(*taken[-1], taken.pop)
        offset = allocate(free_list, size, alignment)
        if offset is not None:
            assert offset % alignment == 0 and offset + size <= 4096
            assert all(offset + size <= o or o + s <= offset for o, s in taken)
            taken.insert(size % (len(taken) + 1), (offset, size))
        assert free_list.used_bytes == sum(s for _, s in taken)
    while taken:
        free_list.free(*taken[-1], taken.pop)
    assert free_list.is_empty and free_list.used_bytes == 0


def test_what_a_finaliser_takes_and_gives_back_meanwhile_is_seen():
    """It may run where the next state is worked out."""
    free_list, theirs, ours = FreeList(1024), [], []

    def make(offset):
        if not theirs:
            free_list.allocate(100, 1, lambda theirs: theirs, theirs)
            free_list.allocate(100, 1, lambda theirs: theirs, theirs)
            free_list.free(0, 100, theirs.reverse)
        return offset

    assert free_list.allocate(200, 1, make, ours)
    assert (ours, free_list.used_bytes) == ([200], 300)


class _Counted(list):
    """Counts how many pieces are looked at."""

    looks = 0

    def __getitem__(self, index):
        if isinstance(index, int):
            _Counted.looks += 1
        return super().__getitem__(index)


def test_many_small_pieces_are_looked_through_once():
    """Half of thousands of small parts have gone: what needs more room does not look at each hole each time."""
    free_list, count = FreeList(1 << 20), 4000
    for number in range(count):
        assert allocate(free_list, 64, 64) == 64 * number
    for number in range(0, count, 2):
        free_list.free(64 * number, 64, int)
    free_list._pieces = _Counted(free_list._pieces)
    assert allocate(free_list, 128, 64) == 64 * count
    assert _Counted.looks > count // 2
    for number in range(1, 10):
        _Counted.looks, free_list._pieces = 0, _Counted(free_list._pieces)
        assert allocate(free_list, 128, 64) == 64 * count + 128 * number
        assert _Counted.looks < 50  # a search by halves
    free_list.free(64, 64, int)  # with both neighbours
    assert allocate(free_list, 128, 64) == 0
    assert allocate(free_list, 64, 64) == 128
    assert allocate(free_list, 64, 64) == 256


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 300), st.booleans()), min_size=1, max_size=40))
def test_finalisers_may_come_while_pieces_are_looked_at(steps):
    """Each look at a piece may let a finaliser take and give back others."""
    free_list, taken, left = FreeList(4096), [], []

    class Interrupted(list):
        def __getitem__(self, index):
            found = super().__getitem__(index)
            if left:
                size, gives_back = left.pop()
                if gives_back and taken:
                    free_list.free(*taken.pop(0), int)
                free_list.allocate(size, 1, lambda offset: (offset, size), taken)
            return found

    free_list._pieces = Interrupted(free_list._pieces)
    for count, size, gives_back in steps:
        left += [(1 + 7 * count % 97, count % 2 == 1)] * (count % 4)
        if gives_back and len(taken) > 4:
            part = taken.pop()
            free_list.free(*part, int)
        else:
            free_list.allocate(size, 16, lambda offset, size=size: (offset, size), taken)
        left.clear()
        parts = sorted(taken)
        assert all(a + n <= b for (a, n), (b, _) in pairwise(parts))
        assert free_list.used_bytes == sum(n for _, n in parts)
    while taken:
        free_list.free(*taken[-1], taken.pop)
    assert free_list.is_empty
