"""Which parts of a memory block are free.  Pure bookkeeping; nothing here knows Vulkan."""

from __future__ import annotations

from bisect import bisect_left


class FreeList:
    """First-fit allocation inside ``[0, size_bytes)``, neighbours merged when they are freed.

    Each change is one assignment, so that Ctrl-C between two of them leaves no half-changed list.
    """

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self._pieces = [(0, size_bytes)]
        """(offset, size) of what is free, by offset."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is allocated."""
        return self._pieces == [(0, self.size_bytes)]

    @property
    def free_bytes(self) -> int:
        """Bytes that are free, in any number of pieces."""
        return sum(size for _, size in self._pieces)

    def allocate(self, size_bytes: int, alignment: int) -> int | None:
        """Takes `size_bytes` at a multiple of `alignment` (a power of two).

        Returns:
            The offset, or None where no free piece is large enough.
        """
        for index, (start, length) in enumerate(self._pieces):
            offset = (start + alignment - 1) & -alignment
            stop, end = offset + size_bytes, start + length
            if stop <= end:
                rest = ((start, offset - start), (stop, end - stop))
                self._pieces[index : index + 1] = [piece for piece in rest if piece[1]]
                return offset
        return None

    def free(self, offset: int, size_bytes: int) -> None:
        """Gives back what `allocate` returned."""
        pieces = self._pieces
        index = bisect_left(pieces, (offset, 0))
        begin, end = offset, offset + size_bytes
        first = last = index
        if last < len(pieces):
            assert end <= pieces[last][0], "freed twice"
            if end == pieces[last][0]:
                end += pieces[last][1]
                last += 1
        if first and sum(pieces[first - 1]) == begin:
            first -= 1
            begin = pieces[first][0]
        pieces[first:last] = [(begin, end - begin)]
