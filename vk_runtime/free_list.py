"""Which parts of a memory block are free.  Pure bookkeeping; nothing here knows Vulkan."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")
_Piece = tuple[int, int]

MOST_FLOORS = 32
"""Sizes and alignments that a block remembers more of than that they may be anywhere."""


class FreeList:
    """First-fit allocation inside ``[0, size_bytes)``, neighbours merged when they are freed.

    Whoever takes a part notes it in the same step in which it is taken, and forgets it as it is freed: between an
    assignment and the call behind it Python runs neither signal handlers nor finalisers, so Ctrl-C leaves no hole.
    What finalisers have changed while the next state was worked out is seen by `_state` being another object; whatever
    came out then, an IndexError perhaps, is worked out anew.
    """

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self._pieces = [(0, size_bytes)]
        """(offset, size) of what is free, by offset; changed in one step each time."""
        self._state = object()
        """Another one after each change."""
        self._floors: dict[tuple[int, int], int] = {}
        """By size and alignment an offset before which no piece is large enough, so that thousands of small pieces are
        looked through once; replaced when something is freed."""
        self.used_bytes = 0
        """Bytes that are taken."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is allocated."""
        return self._pieces == [(0, self.size_bytes)]

    def allocate(self, size_bytes: int, alignment: int, make: Callable[[int], _T], taken: list[_T]) -> bool:
        """Takes `size_bytes` at a multiple of `alignment` (a power of two).

        Args:
            size_bytes: how much.
            alignment: of the offset.
            make: makes of an offset what is noted.
            taken: gets that as the memory is taken.

        Returns:
            Whether a free piece is large enough.
        """
        note = taken.append
        while True:
            pieces, floors, before, after = self._pieces, self._floors, self._state, object()
            floor = floors.get((size_bytes, alignment), 0)
            try:
                found = _first_fit(pieces, size_bytes, alignment, floor)
            except IndexError:
                if self._state is before:
                    raise
                continue
            if found is None and self._state is before:
                floors[size_bytes, alignment] = self.size_bytes
                return False
            if found is None:
                continue
            index, offset, (start, length) = found
            rest = ((start, offset - start), (offset + size_bytes, start + length - offset - size_bytes))
            left = [piece for piece in rest if piece[1]]
            changed, made = slice(index, index + 1), make(offset)
            if self._state is before:
                pieces[changed] = left
                self._state = after
                self.used_bytes += size_bytes
                note(made)
                floors[size_bytes, alignment] = offset + size_bytes
                return True

    def free(self, offset: int, size_bytes: int, forget: Callable[[], object]) -> None:
        """Gives back what `allocate` took.

        Args:
            offset: where it begins.
            size_bytes: its size.
            forget: takes it from where it was noted; a function that is not Python's.
        """
        while True:
            pieces, before, after = self._pieces, self._state, object()
            try:
                changed, begin, end = _merged(pieces, offset, offset + size_bytes)
            except (AssertionError, IndexError):
                if self._state is before:
                    raise
                continue
            left = [(begin, end - begin)]
            floors = {key: min(floor, begin) for key, floor in tuple(self._floors.items())[-MOST_FLOORS:]}
            if self._state is before:
                pieces[changed] = left
                self._state, self._floors = after, floors
                self.used_bytes -= size_bytes
                forget()
                return


def _merged(pieces: list[_Piece], begin: int, end: int) -> tuple[slice, int, int]:
    """Returns which pieces become one with what is freed, and from where to where that goes."""
    first = last = bisect_left(pieces, (begin, 0))
    if last < len(pieces):
        start, length = pieces[last]
        assert end <= start, "freed twice"
        if end == start:
            end += length
            last += 1
    if first and sum(pieces[first - 1]) == begin:
        first -= 1
        begin = pieces[first][0]
    return slice(first, last), begin, end


def _first_fit(
    pieces: list[_Piece], size_bytes: int, alignment: int, floor: int
) -> tuple[int, int, _Piece] | None:
    """Returns the first piece from `floor` on that is large enough: its index, where in it the part begins, itself."""
    for index in range(bisect_left(pieces, (floor, 0)), len(pieces)):
        start, length = pieces[index]
        offset = (start + alignment - 1) & -alignment
        if offset + size_bytes <= start + length:
            return index, offset, (start, length)
    return None
