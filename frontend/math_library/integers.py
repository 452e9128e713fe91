"""Functions of integers that no instruction computes: gcd, lcm, isqrt, and the upper half of 64-bit products."""

from __future__ import annotations

from typing import Any

import lapilli as lp


def gcd(a: Any, b: Any) -> Any:
    """Greatest common divisor, not negative; gcd(0, 0) is 0."""
    large = abs(a)
    small = abs(b)
    while small != 0:
        rest = large % small
        large = small
        small = rest
    return abs(large)  # the least integer has no absolute value, and leaves negative rests


def lcm(a: Any, b: Any) -> Any:
    """Least common multiple, not negative; 0 where one is 0."""
    return abs(a) // gcd(a, b) * abs(b)


def isqrt(n: Any) -> Any:
    """The largest integer whose square is not above n, digit by digit; 0 below 0."""
    rest = max(n, 0)
    root = rest - rest
    bit = root + 1
    while bit <= rest >> 2:
        bit = bit << 2
    while bit != 0:
        if rest >= root + bit:
            rest -= root + bit
            root = (root >> 1) + bit
        else:
            root = root >> 1
        bit = bit >> 2
    return root


def mul_hi_u64(a: lp.u64, b: lp.u64) -> lp.u64:
    """The upper 64 bits of the product, from four products of halves."""
    a_low = a & 0xFFFFFFFF
    a_high = a >> 32
    b_low = b & 0xFFFFFFFF
    b_high = b >> 32
    middle = a_high * b_low + (a_low * b_low >> 32)
    other = a_low * b_high + (middle & 0xFFFFFFFF)
    return a_high * b_high + (middle >> 32) + (other >> 32)


def mul_hi_i64(a: lp.i64, b: lp.i64) -> lp.i64:
    """The upper 64 bits of the signed product."""
    product = lp.i64(mul_hi_u64(lp.u64(a), lp.u64(b)))
    return product - lp.select(a < 0, b, 0) - lp.select(b < 0, a, 0)
