"""Items: the tuple behind attributes whose method, `get_devices` beside `devices`, returns a list.

SYCL's methods return vectors, which are lists here; the attribute is the same thing, and so the two must be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from functools import partial
from typing import Any, SupportsIndex, TypeVar

T = TypeVar("T")


class _Items(tuple[object, ...]):
    """A tuple that also equals a list of the same items."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return super().__eq__(tuple(other) if isinstance(other, list) else other)  # pyright: ignore[reportUnknownArgumentType]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return super().__hash__()


def items(values: Iterable[T]) -> tuple[T, ...]:
    """Returns the values as a tuple that also equals a list of them."""
    return _Items(values)  # pyright: ignore[reportReturnType] - it holds the values


class _NoItems(_Items):
    """An empty tuple that says why there is nothing to whoever takes the first item."""

    why: Callable[[], Exception]

    def __getitem__(self, key: SupportsIndex | slice) -> tuple[object, ...]:
        if isinstance(key, slice):
            return ()
        raise self.why()

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return _no_items_for, (self.why(),)


def _no_items_for(error: Exception) -> tuple[Any, ...]:
    return no_items(partial(copy, error))


def no_items(why: Callable[[], Exception]) -> tuple[Any, ...]:
    """Returns an empty tuple.

    Args:
        why: returns what ``[0]`` raises.
    """
    made = _NoItems()
    made.why = why
    return made
