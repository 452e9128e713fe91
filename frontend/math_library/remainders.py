"""fmod, remainder, and `//` and `%` of numbers far apart: exact, by long division of the significands as integers."""

from __future__ import annotations

from typing import Any

import lapilli as lp

from .formats import F32, F64, power_of_two, scaled


def significand(x: Any, bits: Any, form: Any) -> Any:
    """A positive number as an integer below 2**24 (2**53) and a power of two."""
    one = bits(1) << form[2]
    pattern = lp.bitcast(x, bits)
    exponent = lp.i32(pattern >> form[2])
    value = pattern & (one - 1)
    value = lp.select(exponent > 0, value | one, value)
    return value, max(exponent, 1)


def fmod(x: Any, y: Any, bits: Any, step: Any, form: Any) -> Any:
    """x - n y with n truncated; `step` bits of the quotient at a time."""
    real = form[0]
    a = abs(x)
    b = abs(y)
    is_defined = (a < lp.math.inf) & (b > 0.0)
    is_smaller = (a < b) | (b == lp.math.inf)
    dividend, power = significand(lp.select(is_defined, a, real(0.0)), bits, form)
    divisor, divisor_power = significand(lp.select(is_defined & (b < lp.math.inf), b, real(1.0)), bits, form)
    divisor = max(divisor, bits(1))
    distance = lp.select(is_defined & (a >= b), power - divisor_power, 0)
    dividend = lp.select(is_smaller, bits(0), dividend) % divisor
    while distance > 0:
        count = min(distance, step)
        dividend = (dividend << bits(count)) % divisor
        distance -= count
    rest = scaled(real(dividend), divisor_power - (form[3] + form[2]), form)
    rest = lp.math.copysign(lp.select(is_smaller, a, rest), x)
    return lp.select(is_defined & (y == y), rest, lp.math.nan)


def fmod_f32(x: lp.f32, y: lp.f32) -> lp.f32:
    """x - n y with n truncated."""
    return fmod(x, y, lp.u32, 8, F32)


def fmod_f64(x: lp.f64, y: lp.f64) -> lp.f64:
    """x - n y with n truncated."""
    return fmod(x, y, lp.u64, 11, F64)


def remainder(x: Any, y: Any, rest: Any) -> Any:
    """x - n y with n rounded half to even, from the rest of |x| divided by 2 |y|."""
    size = abs(y)
    half = 0.5 * size
    once = lp.select(rest > half, rest - size, rest)
    twice = lp.select((rest > half) & (once >= half), once - size, once)
    return lp.select(lp.math.copysign(1.0 + 0.0 * rest, x) < 0.0, -twice, twice)


def remainder_f32(x: lp.f32, y: lp.f32) -> lp.f32:
    """x - n y with n rounded half to even."""
    return remainder(x, y, fmod_f32(abs(x), 2.0 * abs(y)))


def remainder_f64(x: lp.f64, y: lp.f64) -> lp.f64:
    """x - n y with n rounded half to even."""
    return remainder(x, y, fmod_f64(abs(x), 2.0 * abs(y)))


def exact_division(
    x: Any, y: Any, quotient: Any, number: Any, rest: Any, bits: Any, step: Any, form: Any
) -> Any:
    """An integer n and x - n y: `number` and `rest` as they are, or those of fmod where they may be wrong.

    `quotient` is x / y.  They are wrong where it is large, and where products overflow or parts of y underflow.
    """
    real = form[0]
    fraction = form[2]
    bias = form[3]
    is_near = abs(quotient) < real(bits(1) << (fraction - 2))
    is_in_range = (abs(x) < power_of_two(bias - 1, form)) & (abs(y) > power_of_two(fraction + 8 - bias, form))
    if not (is_near & is_in_range):
        rest = fmod(x, y, bits, step, form)
        # Devices may flush the reciprocal of a divisor beyond 2**126 (NVIDIA's do).
        scale = lp.select(abs(y) > 1.0, real(0.00390625), real(1.0))
        exact = (x - rest) * scale / (y * scale)  # but for two roundings, which may leave it just below
        whole = lp.math.floor(exact)
        whole = lp.select(exact - whole > 0.5, whole + 1.0, whole)
        number = lp.select(whole == 0.0, lp.math.copysign(0.0, quotient), whole)
    return number, rest


def exact_division_f32(x: lp.f32, y: lp.f32, quotient: lp.f32, number: lp.f32, rest: lp.f32) -> Any:
    """n and x - n y."""
    return exact_division(x, y, quotient, number, rest, lp.u32, 8, F32)


def exact_division_f64(x: lp.f64, y: lp.f64, quotient: lp.f64, number: lp.f64, rest: lp.f64) -> Any:
    """n and x - n y."""
    return exact_division(x, y, quotient, number, rest, lp.u64, 11, F64)
