"""Launch ranges: what ``k[…]`` takes, and its checks.

Dimension 0 is the slowest, as everywhere.  A range is checked when the kernel is called, after arguments and
build, so `Range` and `NdRange` only hold what they are given (as SYCL's do).  Standard library only.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsIndex, cast

from ..ir.errors import NdRangeError

MAX_DIMENSIONS = 3
"""Dimensions that Vulkan's dispatch has."""

INDEX_LIMIT = 2**31
"""First number of work-items that signed 32-bit indices do not reach."""

WIDE_INDEX_LIMIT = 2**63
"""The same of 64-bit ones, ``@lp.kernel(index=lp.i64)``: the most that any kernel takes."""


class Range(tuple[int, ...]):
    """A number of work-items in each dimension: ``lp.Range(rows, columns)``; a tuple."""

    __slots__ = ()

    def __new__(cls, *extents: int) -> Range:
        return super().__new__(cls, extents)

    @property
    def size(self) -> int:
        """Number of work-items."""
        return math.prod(self)

    def __getnewargs__(self) -> tuple[int, ...]:
        return tuple(self)  # what copy and pickle call __new__ with: a tuple's is one argument

    @property
    def __lapilli_key__(self) -> object:
        return exact_key(tuple(self))

    def get(self, dimension: int) -> int:
        """Returns the extent of `dimension`, 0 the slowest."""
        return self[dimension]

    def __repr__(self) -> str:
        return f"lp.Range({', '.join(map(repr, self))})"


@dataclass(frozen=True, slots=True, init=False)
class NdRange:
    """Work-items and their grouping: ``k[lp.NdRange(1024, 64)]``, ``k[lp.NdRange((64, 64), (8, 8))]``."""

    global_: int | tuple[int, ...]
    """Total number of work-items in each dimension."""
    local_: int | tuple[int, ...]
    """Number of work-items of a work-group in each dimension; divides `global_`."""

    if TYPE_CHECKING:

        def __init__(self, global_: int | tuple[int, ...], local_: int | tuple[int, ...]) -> None: ...

    else:

        def __init__(self, global_, local_=None, *others):
            if others:
                raise NdRangeError(
                    f"lp.NdRange(global_, local_) takes two ranges, found {2 + len(others)}; "
                    "a range of several dimensions is a tuple, lp.NdRange((64, 64), (8, 8)), and none has an offset"
                )
            if local_ is None:
                raise NdRangeError(
                    f"lp.NdRange(global_, local_): expected the size of a work-group too, lp.NdRange({global_!r}, 64); "
                    f"without one the range is the number of work-items alone, kernel[{global_!r}](…)"
                )
            object.__setattr__(self, "global_", global_)
            object.__setattr__(self, "local_", local_)

    def get_global_range(self) -> Range:
        """Returns the number of work-items in each dimension; `global_range` is the same.

        Raises:
            NdRangeError: it is none: not 1 to 3 integers of at least 0.
        """
        return Range(*normalise_range(self.global_, what="global range", limit=WIDE_INDEX_LIMIT))

    def get_local_range(self) -> Range:
        """Returns the number of work-items of a work-group in each dimension; `local_range` is the same.

        Raises:
            NdRangeError: it is none: not 1 to 3 integers of at least 1.
        """
        return Range(*normalise_local_size(self.local_))

    def get_group_range(self) -> Range:
        """Returns the number of work-groups in each dimension; `group_range` is the same.

        Raises:
            NdRangeError: the range is none of whole work-groups.
        """
        checked = launch_range(self, limit=WIDE_INDEX_LIMIT)
        assert checked.local is not None, "an NdRange has a local size"
        return Range(*(n // m for n, m in zip(checked.extents, checked.local, strict=True)))

    global_range = property(get_global_range)
    local_range = property(get_local_range)
    group_range = property(get_group_range)

    @property
    def __lapilli_key__(self) -> object:
        global_, local = exact_key(self.global_), exact_key(self.local_)
        return None if global_ is None or local is None else (NdRange, global_, local)


@dataclass(frozen=True, slots=True)
class LaunchRange:
    """A checked launch range."""

    extents: tuple[int, ...]
    """Work-items, 1 to 3 dimensions, slowest first."""
    local: tuple[int, ...] | None = None
    """Work-group size of the same rank, where the range gives one."""


def exact_key(value: object) -> object:
    """Returns a range as a dictionary key, None where its parts are not plain ints: True and 1.0 equal 1."""
    if type(value) is int:
        return value
    if type(value) is tuple:
        parts = cast("tuple[object, ...]", value)
        return parts if all(type(part) is int for part in parts) else None
    return getattr(value, "__lapilli_key__", None)


def launch_range(value: object, *, limit: int = INDEX_LIMIT) -> LaunchRange:
    """Checks what was given as ``k[value]``.

    Raises:
        NdRangeError: it is no range; the message says what was expected and found.
    """
    if not isinstance(value, NdRange):
        return LaunchRange(normalise_range(value, limit=limit))
    extents = normalise_range(value.global_, what="global range", limit=limit)
    local = normalise_local_size(value.local_)
    if len(local) != len(extents):
        raise NdRangeError(
            f"lp.NdRange: global range {extents} has {len(extents)} dimensions, local range {local} has "
            f"{len(local)}; expected as many"
        )
    check_multiple(extents, local)
    return LaunchRange(extents, local)


def dimensions_of(value: object) -> int:
    """Returns the number of dimensions of what was given as ``k[value]``: kernels are built for one, and then the range
    is checked.

    Raises:
        NdRangeError: it is no integers, so that no build could be for it.
    """
    if isinstance(value, NdRange):
        return len(_integers(value.global_, "global range"))
    return len(_integers(value, "range"))


def normalise_range(value: object, *, what: str = "range", limit: int = INDEX_LIMIT) -> tuple[int, ...]:
    """Returns a range as a tuple of 1 to 3 Python ints.

    Args:
        value: an integer or a sequence of 1 to 3 integers.
        what: the thing, for messages.
        limit: the first total that indices do not reach.

    Raises:
        NdRangeError: anything else, a negative extent, or `limit` work-items or more.
    """
    extents = _integers(value, what)
    for dimension, extent in enumerate(extents):
        if extent < 0:
            raise NdRangeError(
                f"{what} {_shown(extents)}: expected 0 or more, found {extent} in dimension {dimension}"
            )
    if max(*extents, math.prod(extents)) >= limit:
        wide = ", or declare @lp.kernel(index=lp.i64)" if limit == INDEX_LIMIT else ""
        raise NdRangeError(
            f"{what} {_shown(extents)}: expected fewer than 2**{limit.bit_length() - 1} work-items, "
            f"found {max(*extents, math.prod(extents))}; launch it in parts{wide}"
        )
    return extents


def normalise_local_size(value: object, *, what: str = "local range") -> tuple[int, ...]:
    """Returns a work-group size as a tuple of 1 to 3 Python ints of at least 1.

    Raises:
        NdRangeError: anything else.
    """
    sizes = _integers(value, what)
    for dimension, size in enumerate(sizes):
        if size < 1:
            raise NdRangeError(
                f"{what} {_shown(sizes)}: expected 1 or more, found {size} in dimension {dimension}"
            )
    return sizes


def check_multiple(extents: Sequence[int], local: Sequence[int]) -> None:
    """Checks that work-groups of size `local` fill `extents`.

    Raises:
        NdRangeError: they do not; the message names the range rounded up.
    """
    if any(extent % size for extent, size in zip(extents, local, strict=True)):
        rounded = tuple(-(-extent // size) * size for extent, size in zip(extents, local, strict=True))
        is_less = any(extent < size for extent, size in zip(extents, local, strict=True))
        raise NdRangeError(
            f"range {_shown(extents)} is no multiple of the local size {_shown(local)}; "
            f"rounded up it is {_shown(rounded)}"
            + ("; a range counts work-items, not work-groups" if is_less else "")
        )


def _integers(value: object, what: str) -> tuple[int, ...]:
    if isinstance(value, range):  # a sequence too, and range(3) is not (0, 1, 2) here
        is_plain = (value.start, value.step) == (0, 1)  # len(value) is not for ranges of any length
        size = str(max(value.stop, 0)) if is_plain else "n, from which kernels compute"
        raise NdRangeError(
            f"{what} {value!r}: expected the number of work-items, found a range; write {size}"
        )
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        whole = cast("Sequence[object]", value)
        parts = tuple(whole)
        if not 1 <= len(parts) <= MAX_DIMENSIONS:
            raise NdRangeError(
                f"{what} {parts!r}: expected 1 to {MAX_DIMENSIONS} dimensions, found {len(parts)}"
            )
        if len(parts) == 2 and all(isinstance(part, tuple) for part in parts):  # CuPy's (blocks), (threads)
            raise NdRangeError(
                f"{what} {parts!r}: expected 1 to {MAX_DIMENSIONS} integers, found two tuples; work-items in all and "
                "of a work-group are lp.NdRange(global_, local_)"
            )
        return tuple(_integer(part, what, whole) for part in parts)
    return (_integer(value, what, value),)


def _integer(part: object, what: str, whole: object) -> int:
    """Returns `part` as an int.  NumPy's integers are integers; a bool is more likely a mistake than a 1."""
    if type(part) is int:
        return part
    if not isinstance(part, bool) and type(part).__name__ not in ("bool", "bool_"):
        try:
            return operator.index(cast(SupportsIndex, part))
        except TypeError:  # said below, with what was found
            pass
    raise NdRangeError(
        f"{what} {whole!r}: expected an integer or a tuple of 1 to {MAX_DIMENSIONS} integers, "
        f"found {part!r} of type {type(part).__name__}{_instead(part)}"
    )


def _instead(part: object) -> str:
    """Returns what to write for something that is no integer; "" where nobody knows."""
    if not isinstance(part, bool) and isinstance(part, numbers.Real):
        return "; // divides to an integer, int(x) makes one"
    shape = getattr(part, "shape", None)
    if isinstance(shape, tuple) and shape:
        return "; a work-item for each element is x.size, or x.shape"
    return "; a range starts at 0 and has no steps: write its length" if isinstance(part, slice) else ""


def _shown(extents: Sequence[int]) -> str:
    return str(extents[0]) if len(extents) == 1 else str(tuple(extents))
