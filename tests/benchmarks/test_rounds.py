"""The arithmetic of the benchmark harness: order of the rounds, ratios, spreads."""

from __future__ import annotations

import pytest

from lapilli.tools.bench import load

rounds = load("rounds")


def test_interleave_turns_the_order_around_every_round() -> None:
    calls: list[str] = []

    def side(name: str, time: float):
        def measure() -> float:
            calls.append(name)
            return time

        return measure

    times = rounds.interleave({"a": side("a", 1.0), "b": side("b", 2.0)}, 3)
    assert "".join(calls) == "abbaab"
    assert times == {"a": [1.0] * 3, "b": [2.0] * 3}


def test_ratios_are_taken_within_each_round() -> None:
    # The machine is ten times slower in the second round; the ratio does not see it.
    spread = rounds.ratios([2.0, 20.0, 3.0], [4.0, 40.0, 3.0])
    assert (spread.min, spread.median, spread.max) == pytest.approx((0.5, 0.5, 1.0))
