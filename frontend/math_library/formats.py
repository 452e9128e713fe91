"""The two formats, and what every function needs: powers of two, rounding to integers, halves."""

from __future__ import annotations

from typing import Any

import lapilli as lp

from ..intrinsics import Intrinsic

F32 = (lp.f32, lp.i32, 23, 127, 12582912.0)
"""Float, integer of the same width, bits of the fraction, bias of the exponent, 1.5 * 2**23."""
F64 = (lp.f64, lp.i64, 52, 1023, 6755399441055744.0)

polynomial: Any = Intrinsic("library.polynomial")
"""``polynomial(x, (c0, c1, …))`` is c0 + c1 x + …, by Horner's rule.  A loop would give its coefficients, which are
literals, a type of their own."""
words_at: Any = Intrinsic("library.words_at")
"""``words_at(words, index, n, T)`` is words[index], … words[index + n - 1], for an index of run time that leaves so
many."""


def power_of_two(k: Any, form: Any) -> Any:
    """2**k of an i32 that is a normal exponent, or one less: then 0.

    Multiplied, not shifted: SwiftShader shifts lane by lane.
    """
    real = form[0]
    bits = form[1]
    fraction = form[2]
    bias = form[3]
    return lp.bitcast((bits(k) + bias) * (bits(1) << fraction), real)


def scaled(x: Any, k: Any, form: Any) -> Any:
    """x * 2**k, for k up to twice the range of exponents: in two steps, so that 2**k need not be finite."""
    half = k >> 1
    return x * power_of_two(half, form) * power_of_two(k - half, form)


def nearest_integer(x: Any, form: Any) -> Any:
    """x rounded half to even, as a float and as an i32; |x| below 2**22.

    Adding 1.5 * 2**23 leaves no bits for a fraction, and the integer stands in the low ones.  Subtracting it again
    would give the float as well, but NVIDIA's compiler takes (x + c) - c for x, NoContraction or not.
    """
    real = form[0]
    bits = form[1]
    large = form[4]
    shifted = x + large
    integer = lp.i32(lp.bitcast(shifted, bits) - lp.bitcast(real(large), bits))
    return real(integer), integer


def upper_half(x: Any, form: Any) -> Any:
    """x with so few bits that products of two such numbers are exact."""
    real = form[0]
    bits = form[1]
    fraction = form[2]
    return lp.bitcast(lp.bitcast(x, bits) >> (fraction // 2 + 1) << (fraction // 2 + 1), real)
