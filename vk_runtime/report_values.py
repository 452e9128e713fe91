"""The values of checks and prints, from the words in which a kernel has left them; see `kernel_info.ReportWord`."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import numpy as np

from ..ir.kernel_info import Site
from ..ir.site_text import ShortFloat, shown

_CODES = {
    "bool": "I", "i8": "b3x", "i16": "h2x", "i32": "i", "u8": "B3x", "u16": "H2x", "u32": "I",
    "f16": "f", "f32": "f", "i64": "q", "u64": "Q", "f64": "d",
}  # fmt: skip
"""How a value lies in its one or two words, as `struct` spells it."""

_SHOWN: dict[str, Callable[[float], object]] = {
    "bool": bool,
    "f16": lambda number: shown(np.float32(number), "f16"),
    "f32": lambda number: ShortFloat(np.float32(number)),
}
"""What makes a number print as Python prints it; the others are Python's own."""


class SiteValues:
    """Reads what one site has left.

    Args:
        site: a check or print.
    """

    def __init__(self, site: Site) -> None:
        self._layout = struct.Struct("=" + "".join(_CODES[dtype] for dtype in site.dtypes))
        self._shown = [_SHOWN.get(dtype) for dtype in site.dtypes]
        self._is_shown_as_is = not any(self._shown)
        self.word_count = self._layout.size // 4
        """Words that the values take together."""

    def read(self, words: memoryview, position: int) -> Sequence[object]:
        """Returns the values as Python numbers that print as Python prints them.

        Args:
            words: of 32 bits; `word_count` of them from `position` on are there.
            position: where the first value begins.
        """
        numbers = self._layout.unpack_from(words, 4 * position)
        if self._is_shown_as_is:
            return numbers
        return [
            number if show is None else show(number)
            for number, show in zip(numbers, self._shown, strict=True)
        ]
