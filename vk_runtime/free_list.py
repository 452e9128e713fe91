"""Which parts of a memory block are free.  Pure bookkeeping; nothing here knows Vulkan."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


class FreeList:
    """First-fit allocation inside ``[0, size_bytes)``, neighbours merged when they are freed.

    Whoever takes a part notes it in the same step in which it is taken, and forgets it as it is freed: between an
    assignment and the call behind it Python runs neither signal handlers nor finalisers, so Ctrl-C leaves no hole.
    What finalisers have changed while the next state was worked out is seen by it being another list.
    """

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self._pieces = [(0, size_bytes)]
        """(offset, size) of what is free, by offset; never changed, but replaced."""
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
            pieces = self._pieces
            found = _first_fit(pieces, size_bytes, alignment)
            if found is None:
                return False
            index, offset = found
            start, length = pieces[index]
            rest = ((start, offset - start), (offset + size_bytes, start + length - offset - size_bytes))
            left = [*pieces[:index], *[piece for piece in rest if piece[1]], *pieces[index + 1 :]]
            made = make(offset)
            if self._pieces is pieces:
                self._pieces = left
                self.used_bytes += size_bytes
                note(made)
                return True

    def free(self, offset: int, size_bytes: int, forget: Callable[[], object]) -> None:
        """Gives back what `allocate` took.

        Args:
            offset: where it begins.
            size_bytes: its size.
            forget: takes it from where it was noted; a function that is not Python's.
        """
        while True:
            pieces = self._pieces
            first = last = bisect_left(pieces, (offset, 0))
            begin, end = offset, offset + size_bytes
            if last < len(pieces):
                assert end <= pieces[last][0], "freed twice"
                if end == pieces[last][0]:
                    end += pieces[last][1]
                    last += 1
            if first and sum(pieces[first - 1]) == begin:
                first -= 1
                begin = pieces[first][0]
            left = [*pieces[:first], (begin, end - begin), *pieces[last:]]
            if self._pieces is pieces:
                self._pieces = left
                self.used_bytes -= size_bytes
                forget()
                return


def _first_fit(pieces: list[tuple[int, int]], size_bytes: int, alignment: int) -> tuple[int, int] | None:
    """Returns the first piece that is large enough, and where in it the part begins."""
    for index, (start, length) in enumerate(pieces):
        offset = (start + alignment - 1) & -alignment
        if offset + size_bytes <= start + length:
            return index, offset
    return None
