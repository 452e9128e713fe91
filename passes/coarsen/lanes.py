"""The work-items that share an invocation."""

from __future__ import annotations

from dataclasses import dataclass

X, Y = 1, 2
"""Axes as bits: the last dimension of the range, and the one before."""

LaneKey = tuple[int, int]
"""A lane (y, x); along an axis in which a value does not vary it is 0."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """A block of work-items, or the part of it that code is written for."""

    ys: tuple[int, ...]
    xs: tuple[int, ...]

    @staticmethod
    def block(y: int, x: int) -> Lanes:
        """Returns all lanes of a block of y × x work-items."""
        return Lanes(tuple(range(y)), tuple(range(x)))

    @property
    def count(self) -> int:
        """How many work-items."""
        return len(self.ys) * len(self.xs)

    @property
    def axes(self) -> int:
        """The axes along which there is more than one."""
        return (Y if len(self.ys) > 1 else 0) | (X if len(self.xs) > 1 else 0)

    def keys(self, axes: int) -> list[LaneKey]:
        """Returns a key for each copy of a value that varies along `axes`."""
        return [(y, x) for y in (self.ys if axes & Y else (0,)) for x in (self.xs if axes & X else (0,))]

    def only(self, key: LaneKey, axes: int) -> Lanes:
        """Returns the lanes that `key` stands for, of a value that varies along `axes`."""
        return Lanes((key[0],) if axes & Y else self.ys, (key[1],) if axes & X else self.xs)

    @property
    def first(self) -> LaneKey:
        """One of the lanes."""
        return self.ys[0], self.xs[0]


def project(key: LaneKey, axes: int) -> LaneKey:
    """Returns the key of a value that varies along `axes` only."""
    return key[0] if axes & Y else 0, key[1] if axes & X else 0
