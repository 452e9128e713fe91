"""Functions that take numbers apart by their bits, or put them together: frexp, ldexp, modf."""

from __future__ import annotations

from typing import Any

import lapilli as lp

from .formats import F32, F64, power_of_two, scaled


def frexp(x: Any, form: Any) -> Any:
    """m and e with x = m 2**e, |m| from 1/2 to below 1; zeros, infinities and NaN have e = 0."""
    real = form[0]
    bits = form[1]
    fraction = form[2]
    bias = form[3]
    is_small = abs(x) < power_of_two(1 - bias, form)
    normal = lp.select(is_small, x * real(bits(1) << (fraction + 2)), x)
    pattern = lp.bitcast(normal, bits)
    exponent = lp.i32(pattern >> fraction) & (2 * bias + 1)
    kept = pattern & ~(bits(2 * bias + 1) << fraction)
    m = lp.bitcast(kept | (bits(bias - 1) << fraction), real)
    e = exponent - (bias - 1) - lp.select(is_small, fraction + 2, 0)
    is_plain = (x != 0.0) & (abs(x) < lp.math.inf)
    return lp.select(is_plain, m, x), lp.select(is_plain, e, 0)


def frexp_f32(x: lp.f32) -> Any:
    """m and e with x = m 2**e."""
    return frexp(x, F32)


def frexp_f64(x: lp.f64) -> Any:
    """m and e with x = m 2**e."""
    return frexp(x, F64)


def ldexp_f32(x: lp.f32, k: lp.i32) -> lp.f32:
    """x 2**k: in four steps, so that no power of two need be finite."""
    bounded = min(max(k, -500), 500)
    half = bounded >> 1
    return scaled(scaled(x, half, F32), bounded - half, F32)


def ldexp_f64(x: lp.f64, k: lp.i32) -> lp.f64:
    """x 2**k"""
    bounded = min(max(k, -4000), 4000)
    half = bounded >> 1
    return scaled(scaled(x, half, F64), bounded - half, F64)


def modf(x: Any) -> Any:
    """The fraction and the whole part, both with the sign of x."""
    whole = lp.math.trunc(x)
    rest = lp.select(abs(x) < lp.math.inf, x - whole, 0.0)
    return lp.select(x != x, x, lp.math.copysign(rest, x)), whole


def modf_f32(x: lp.f32) -> Any:
    """The fraction and the whole part."""
    return modf(x)


def modf_f64(x: lp.f64) -> Any:
    """The fraction and the whole part."""
    return modf(x)
