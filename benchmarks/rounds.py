"""Measuring several sides of one comparison in interleaved rounds, and the numbers that come out.

The machine's speed drifts, and other programs disturb it: sides that are measured one right after the other
share most of that, so the ratio within a round means more than two figures from different minutes.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Smallest, middle and largest of a series."""

    min: float
    median: float
    max: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """Returns the spread of at least one value."""
        return Spread(min=min(values), median=statistics.median(values), max=max(values))

    def as_dict(self) -> dict[str, float]:
        """Returns the fields by name, for JSON."""
        return asdict(self)


def interleave(sides: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Measures every side once a round, in an order that turns around every round: A B, B A, A B, …

    Args:
        sides: each measures itself once and returns a time.
        rounds: at least 1.

    Returns:
        One time a round, for each side.
    """
    times: dict[str, list[float]] = {name: [] for name in sides}
    order = list(sides.items())
    for _ in range(rounds):
        for name, measure in order:
            times[name].append(measure())
        order.reverse()
    return times


def ratios(numerators: Sequence[float], denominators: Sequence[float]) -> Spread:
    """Returns the spread of the ratios within the rounds."""
    return Spread.of([n / d for n, d in zip(numerators, denominators, strict=True)])
