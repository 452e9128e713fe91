"""Which parts of a memory block are free.  Pure bookkeeping; nothing here knows Vulkan."""

from __future__ import annotations

from bisect import bisect_left


class FreeList:
    """First-fit allocation inside ``[0, size_bytes)``, neighbours merged when they are freed."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self._offsets = [0]
        self._sizes = [size_bytes]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is allocated."""
        return self._sizes == [self.size_bytes]

    @property
    def free_bytes(self) -> int:
        """Bytes that are free, in any number of pieces."""
        return sum(self._sizes)

    def allocate(self, size_bytes: int, alignment: int) -> int | None:
        """Takes `size_bytes` at a multiple of `alignment` (a power of two).

        Returns:
            The offset, or None where no free piece is large enough.
        """
        for index, (start, length) in enumerate(zip(self._offsets, self._sizes, strict=True)):
            offset = (start + alignment - 1) & -alignment
            end = start + length
            if offset + size_bytes <= end:
                self._cut(index, offset, offset + size_bytes)
                return offset
        return None

    def _cut(self, index: int, begin: int, stop: int) -> None:
        start, end = self._offsets[index], self._offsets[index] + self._sizes[index]
        rest = [(a, b - a) for a, b in ((start, begin), (stop, end)) if b > a]
        self._offsets[index : index + 1] = [offset for offset, _ in rest]
        self._sizes[index : index + 1] = [size for _, size in rest]

    def free(self, offset: int, size_bytes: int) -> None:
        """Gives back what `allocate` returned."""
        index = bisect_left(self._offsets, offset)
        assert index == len(self._offsets) or offset + size_bytes <= self._offsets[index], "freed twice"
        self._offsets.insert(index, offset)
        self._sizes.insert(index, size_bytes)
        self._merge(index)
        if index:
            self._merge(index - 1)

    def _merge(self, index: int) -> None:
        if index + 1 == len(self._offsets):
            return
        if self._offsets[index] + self._sizes[index] == self._offsets[index + 1]:
            self._sizes[index] += self._sizes.pop(index + 1)
            del self._offsets[index + 1]
