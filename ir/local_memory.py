"""`LocalMemory`: the argument of an array in the memory of a work-group.

Apart from `kernel_info`, which programs that only define kernels need not load.  Standard library only.
"""

from __future__ import annotations

import operator
from typing import cast

from .errors import InvalidError

MAX_ARRAY_DIMENSIONS = 8
"""Dimensions of arrays, in the memory of the device and of a work-group; launch ranges have three at most."""


class LocalMemory:
    """The shape of an array in the memory of a work-group, for one launch: what ``lp.local(shape)`` makes.

    Args:
        shape: an integer, or 1 to 8 of them, slowest dimension first; each at least 1 and below 2**31.

    Raises:
        InvalidError: a shape that cannot be.
    """

    __slots__ = ("shape",)

    def __init__(self, shape: object) -> None:
        parts = tuple(cast("tuple[object, ...]", shape)) if isinstance(shape, tuple | list) else (shape,)
        try:
            lengths = tuple(operator.index(cast(int, part)) for part in parts)
        except TypeError:
            lengths = ()
        if not 1 <= len(lengths) <= MAX_ARRAY_DIMENSIONS or any(isinstance(part, bool) for part in parts):
            raise InvalidError(
                f"lp.local(shape): expected an integer or a tuple of 1 to {MAX_ARRAY_DIMENSIONS} of them, found "
                f"{shape!r}"
            )
        if not all(1 <= length < 1 << 31 for length in lengths):
            raise InvalidError(f"lp.local(shape): each length is at least 1 and below 2**31, found {shape!r}")
        self.shape: tuple[int, ...] = lengths

    def __repr__(self) -> str:
        return f"lp.local({self.shape[0] if len(self.shape) == 1 else self.shape})"
