"""erf and erfc: a polynomial near zero, and e**(-x²) times a polynomial of t = 2 / (2 + |x|) beyond."""

from __future__ import annotations

from typing import Any

import lapilli as lp

from .exponential import EXP_F32, EXP_F64, LIMITS_F32, LIMITS_F64, LN2_F32, LN2_F64, exp_times_power
from .formats import F32, F64, polynomial, upper_half

TWO_OVER_ROOT_PI = 1.1283791670955126
# erf(x) / x - 2/√π over x² up to 0.766.
ERF_F32 = (
    -4.407509931420022e-12, -0.3761263882948844, 0.11283789644294585, -0.026865957700190162,
    0.005222874380414967, -0.0008517081735976835, 0.00011558815368393753, -1.0688248775681536e-05,
)  # fmt: skip
ERF_F64 = (
    -5.712630951990676e-23, -0.37612638903183754, 0.11283791670955126, -0.02686617064513117,
    0.005223977625440737, -0.0008548327023298945, 0.00012055332971479266, -1.4925649882965942e-05,
    1.6462099066746483e-06, -1.6365497150525454e-07, 1.4801633490174699e-08, -1.222909971819717e-09,
    8.972811233546852e-11, -4.709805777318569e-12,
)  # fmt: skip
# erfc(x) e**x² / t over u = (t - middle) / half, t from that of the largest x with a normal result up to 0.8165.
ERFC_F32 = (
    0.5045807286468801, 0.22044091428167015, 0.058827481812701754, 0.005245343192209692,
    -0.001879808545766358, -0.00039889773069212925, 0.0001134645667179111, 2.337103187466807e-05,
    -1.0400063115902098e-05, -8.752788156390207e-07, 8.3551094673098e-07,
)  # fmt: skip
ERFC_F64 = (
    0.4730229794723309, 0.2335727068358425, 0.07425648116173784, 0.009511144993651624,
    -0.0026979294021531896, -0.0009765263002881579, 0.0001911635319264945, 9.218177982778868e-05,
    -2.6270904384380713e-05, -7.956761390397209e-06, 4.4485435639899685e-06, 2.4965793380969065e-07,
    -6.78369353084136e-07, 1.2969085914758282e-07, 6.880497123141847e-08, -4.135159173937975e-08,
    2.0331063752265924e-09, 6.361179456653031e-09, -2.7244977192090962e-09, -8.995283150493287e-11,
    5.677520763337708e-10, -2.2556966160288845e-10, -3.129051958395046e-11, 5.897515531930679e-11,
    -1.0309061053182051e-11, -6.670021926794443e-12, 1.883397714090932e-12, 2.1099734299512331e-13,
)  # fmt: skip
T_F32 = (0.49089462809917356, 0.32560537190082645, 10.1)
"""Middle and half of the range of t, and the largest x."""
T_F64 = (0.4423796928327645, 0.3741203071672355, 27.3)
ONE_F32 = 4.0
"""From it on erf is 1, and e**(-x²) need not be computed near the least numbers, where processors are slow."""
ONE_F64 = 6.0
NEAR = 0.84375
"""Below it the polynomial of x² counts for erf."""
NEAR_ZERO = 0.46875
"""And for erfc, where a difference from 1 would cancel sooner."""


def tail(a: Any, coefficients: Any, t_range: Any, exponential: Any, form: Any) -> Any:
    """erfc(a) of a >= NEAR_ZERO; e**(-a²) is split, since the square is not exact: what is left of it is below 0.2."""
    x = min(a, t_range[2])
    t = 2.0 / (2.0 + x)
    high = upper_half(x, form)
    first = exp_times_power(-high * high, 0, exponential[0], exponential[1], exponential[2], form)
    second = (high - x) * (high + x)
    of_second = 1.0 + (second + second * second * polynomial(second, exponential[0]))
    result = t * polynomial((t - t_range[0]) / t_range[1], coefficients) * of_second * first
    return lp.select(a > t_range[2], 0.0, result)


def near(x: Any, coefficients: Any) -> Any:
    """erf(x) of |x| <= NEAR."""
    return TWO_OVER_ROOT_PI * x + x * polynomial(x * x, coefficients)


def erf(x: Any, of_tail: Any, of_near: Any) -> Any:
    """1 - erfc(|x|) with the sign of x, or the value near zero."""
    result = lp.select(abs(x) < NEAR, of_near, lp.math.copysign(1.0 - of_tail, x))
    return lp.select((x != x) | (x == 0.0), x, result)


def erfc(x: Any, of_tail: Any, of_near: Any) -> Any:
    """1 - erf(x) near zero, else the tail, or what it leaves of 2."""
    beyond = lp.select(x < 0.0, 2.0 - of_tail, of_tail)
    return lp.select(x != x, x, lp.select(abs(x) < NEAR_ZERO, 1.0 - of_near, beyond))


def tail_f32(x: lp.f32) -> lp.f32:
    """erfc(x) beyond NEAR_ZERO, of x >= 0."""
    return tail(max(x, NEAR_ZERO), ERFC_F32, T_F32, (EXP_F32, LIMITS_F32, LN2_F32), F32)


def tail_f64(x: lp.f64) -> lp.f64:
    """erfc(x) beyond NEAR_ZERO, of x >= 0."""
    return tail(max(x, NEAR_ZERO), ERFC_F64, T_F64, (EXP_F64, LIMITS_F64, LN2_F64), F64)


def erf_f32(x: lp.f32) -> lp.f32:
    """Error function."""
    return erf(x, tail_f32(min(abs(x), ONE_F32)), near(x, ERF_F32))


def erf_f64(x: lp.f64) -> lp.f64:
    """Error function."""
    return erf(x, tail_f64(min(abs(x), ONE_F64)), near(x, ERF_F64))


def erfc_f32(x: lp.f32) -> lp.f32:
    """1 minus the error function, small where that is near 1."""
    return erfc(x, tail_f32(abs(x)), near(x, ERF_F32))


def erfc_f64(x: lp.f64) -> lp.f64:
    """1 minus the error function, small where that is near 1."""
    return erfc(x, tail_f64(abs(x)), near(x, ERF_F64))
