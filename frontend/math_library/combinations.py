"""Products of consecutive integers: factorial, perm and comb, modulo two to the width of their type."""

from __future__ import annotations

from typing import Any

import lapilli as lp

_ALL_ZEROS = 68
"""A product of so many consecutive integers is a multiple of 68!, which ends in 66 zeros: it is 0 in 64 bits."""


def factorial(n: Any) -> Any:
    """1 · 2 · … · n; 0 below 0, for which there is none."""
    product = n - n + 1
    factor = product
    while factor < min(n, _ALL_ZEROS):
        factor += 1
        product *= factor
    return lp.select(n < 0, 0, product)


def perm(n: Any, k: Any) -> Any:
    """n · (n - 1) · … of k factors; 0 where k is above n, or one is below 0."""
    product = n - n + 1
    done = n - n
    while done < min(k, _ALL_ZEROS):
        product *= n - done
        done += 1
    return lp.select((k > n) | (k < 0), 0, product)


def comb(n: Any, k: Any) -> Any:
    """The ways to choose k of n; 0 where k is above n, or one is below 0.

    What is above the line and what is below are multiplied without their factors of two, which are counted: odd
    numbers have an inverse modulo a power of two, so nothing needs to be divided, nor to fit on the way.
    """
    above = n - n + 1
    below = above
    twos = n - n
    rest = lp.select((k > n) | (k < 0), 0, min(k, n - k))
    done = twos
    while done < rest:
        factor = n - done
        done += 1
        above *= factor >> lp.ctz(factor)
        below *= done >> lp.ctz(done)
        twos += lp.ctz(factor) - lp.ctz(done)
    inverse = below  # in the lowest three bits, and each step doubles how many
    for _ in lp.static_range(5):
        inverse *= 2 - below * inverse
    return lp.select((k > n) | (k < 0), 0, above * inverse << twos)
