"""Parts of a block never overlap, are aligned, and merge to the whole block again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lapilli.vk_runtime.free_list import FreeList


def test_first_fit_aligns_and_refuses_what_does_not_fit():
    free_list = FreeList(1024)
    assert free_list.allocate(10, 1) == 0
    assert free_list.allocate(100, 256) == 256
    assert free_list.allocate(246, 1) == 10  # the gap that alignment left
    assert free_list.allocate(1024, 1) is None
    assert free_list.free_bytes == 1024 - 10 - 100 - 246


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
            free_list.free(*taken.pop(size % len(taken)))
        offset = free_list.allocate(size, alignment)
        if offset is not None:
            assert offset % alignment == 0 and offset + size <= 4096
            assert all(offset + size <= o or o + s <= offset for o, s in taken)
            taken.append((offset, size))
        assert free_list.free_bytes == 4096 - sum(s for _, s in taken)
    for part in taken:
        free_list.free(*part)
    assert free_list.is_empty
