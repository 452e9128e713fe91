"""gamma and lgamma.

Γ(1 + z) is a polynomial of z in [0, 1); the recurrence Γ(x + 1) = x Γ(x) leads there from up to 10, beyond it
Stirling's series counts, and below 0 the reflection Γ(-a) = -π / (a Γ(a) sin πa).
"""

from __future__ import annotations

from typing import Any

import lapilli as lp

from .exponential import exp_f32, exp_f64
from .formats import polynomial
from .logarithm import log_f32, log_f64
from .power import pow_f32, pow_f64
from .trigonometric import sin_f32, sin_f64

# Γ(1 + z) and log Γ(1 + z) / (z (z - 1)) over u = 2 z - 1.
GAMMA_F32 = (
    0.8862269548439631, 0.016169188918145148, 0.10370189713312218, -0.013411361346614423,
    0.009051928220979947, -0.002426463480279206, 0.0008841582222273226, -0.00028633737331813536,
    0.00013502850800003799, -4.501568433029597e-05,
)  # fmt: skip
GAMMA_F64 = (
    0.886226925452758, 0.0161691987244425, 0.10370336342207065, -0.01341185057059498, 0.009040334940473975,
    -0.0024225953844321537, 0.0009157859942678981, -0.000296890120563888, 0.00010092817306671023,
    -3.363759182230581e-05, 1.125235085741242e-05, -3.7549508241290755e-06, 1.253145449369262e-06,
    -4.179235032058876e-07, 1.3876428601225825e-07, -4.626341522760591e-08, 1.612798073885946e-08,
    -5.376342561695971e-09, 1.2668173984174721e-09, -4.222860834512988e-10, 3.619717777203195e-10,
    -1.2065795806905696e-10,
)  # fmt: skip
LGAMMA_F32 = (
    0.4831289505409809, -0.07297984829723407, 0.01572781972865774, -0.00391488031275785,
    0.0010502229394284677, -0.0002898917636782564, 8.36736962200333e-05, -3.103229500210679e-05,
    9.3293411551376e-06,
)  # fmt: skip
LGAMMA_F64 = (
    0.4831289505409809, -0.07297994795715304, 0.015727850268641097, -0.003913560937626331,
    0.001049818664454635, -0.0002945507015164312, 8.510090373634476e-05, -2.5094328700900636e-05,
    7.511391846837954e-06, -2.2742472358027586e-06, 6.948428393704062e-07, -2.138638060528023e-07,
    6.623870571642316e-08, -2.0619851263731666e-08, 6.430366506216791e-09, -2.0184741279133343e-09,
    6.5655031582108e-10, -2.075322954216366e-10, 5.030067090605482e-11, -1.5936042537298723e-11,
    1.1577613910649688e-11, -3.700571132904742e-12,
)  # fmt: skip
# x (log Γ(x) - (x - 1/2) log x + x - log √2π) over 1/x², x from 8 on.
STIRLING_F32 = (0.08333333326463777, -0.0027776985451962778, 0.0007800347189829517)
STIRLING_F64 = (
    0.08333333333333333, -0.0027777777777776747, 0.0007936507935117282, -0.0005952380234291254,
    0.0008417325268022405, -0.001914965912162907, 0.0062081367662297935, -0.020855820837463117,
)  # fmt: skip
ROOT_TWO_PI = 2.5066282746310007
LOG_ROOT_TWO_PI = 0.9189385332046728
PI = 3.141592653589793
LARGE = 10.0
"""From here on the series counts."""
DIVISOR_SCALE = 2.0**-64
"""Of one factor: keeps what divides in Γ(-a) far from the largest float wherever the quotient is not 0."""
EXP_SERIES = (
    1.0,
    1.0,
    0.5,
    0.16666666666666666,
    0.041666666666666664,
    0.008333333333333333,
    0.001388888888888889,
)


def brought_down(a: Any) -> Any:
    """z in [0, 1) and a product with Γ(a) = product * Γ(1 + z), or for a below 1, where z is a, Γ(1 + z) / a."""
    low = min(a, LARGE)
    product = 0.0 * low + 1.0
    for _ in range(9):
        is_above = low >= 2.0
        low = lp.select(is_above, low - 1.0, low)
        product = lp.select(is_above, product * low, product)
    return lp.select(a < 1.0, a, low - 1.0), product


def sine_of_pi(a: Any) -> Any:
    """The angle up to π/2 whose sine is |sin πa|."""
    part = a - lp.math.floor(a)
    return PI * min(part, 1.0 - part)


def is_odd(whole: Any) -> Any:
    """Whether a whole float is odd."""
    half = 0.5 * whole
    return lp.math.floor(half) != half


def gamma_of_positive(
    a: Any, z: Any, product: Any, power: Any, decay: Any, coefficients: Any, series: Any
) -> Any:
    """Two factors of a Γ(a) below 1, and of Γ(a) from there on: finite wherever Γ(-a) is not 0.

    `power` is a**((a - 1/2) / 2).  Near its poles Γ(-a) is not 0 long after Γ(a) has become infinite.
    """
    near = product * polynomial(2.0 * z - 1.0, coefficients)
    inverse = 1.0 / max(a, LARGE)
    correction = polynomial(inverse * polynomial(inverse * inverse, series), EXP_SERIES)
    far = (ROOT_TWO_PI * power * decay) * correction
    is_near = a < LARGE
    return lp.select(is_near, near, far), lp.select(is_near, 1.0, power)


def gamma(x: Any, a: Any, first: Any, second: Any, sine: Any) -> Any:
    """Γ(x) from what `gamma_of_positive` gives for a = |x|."""
    of_positive = first * second
    # Devices may flush the reciprocal of a divisor beyond 2**126, whose factors they may multiply first (NVIDIA's do).
    is_far = a >= LARGE
    below = PI / (sine * max(a, 1.0) * first * lp.select(is_far, second * DIVISOR_SCALE, second))
    below = lp.select(is_far, below * DIVISOR_SCALE, below)
    below = lp.select(is_odd(lp.math.floor(a)), below, -below)
    above = lp.select(a < 1.0, of_positive / a, of_positive)
    result = lp.select(x < 0.0, below, above)
    is_pole = (x < 0.0) & (lp.math.floor(x) == x)
    result = lp.select(x == 0.0, 1.0 / x, result)
    return lp.select(is_pole | (x != x), lp.math.nan, lp.select(x == lp.math.inf, x, result))


def gamma_f32(x: lp.f32) -> lp.f32:
    """Gamma function."""
    a = abs(x)
    z, product = brought_down(a)
    large = min(max(a, LARGE), 64.0)
    power = pow_f32(large, 0.5 * (large - 0.5))
    first, second = gamma_of_positive(a, z, product, power, exp_f32(-large), GAMMA_F32, STIRLING_F32)
    return gamma(x, a, first, second, sin_f32(sine_of_pi(a)))


def gamma_f64(x: lp.f64) -> lp.f64:
    """Gamma function."""
    a = abs(x)
    z, product = brought_down(a)
    large = min(max(a, LARGE), 200.0)
    power = pow_f64(large, 0.5 * (large - 0.5))
    first, second = gamma_of_positive(a, z, product, power, exp_f64(-large), GAMMA_F64, STIRLING_F64)
    return gamma(x, a, first, second, sin_f64(sine_of_pi(a)))


def lgamma_of_positive(a: Any, z: Any, log_of: Any, coefficients: Any, series: Any) -> Any:
    """log Γ(1 + a) below 1 and log Γ(a) from there on; `log_of` is the logarithm of the product, or of a."""
    near = z * (z - 1.0) * polynomial(2.0 * z - 1.0, coefficients)
    inverse = 1.0 / max(a, LARGE)
    correction = inverse * polynomial(inverse * inverse, series)
    far = (a - 0.5) * (log_of - 1.0) + (LOG_ROOT_TWO_PI - 0.5 + correction)
    return lp.select(a < LARGE, lp.select(a < 1.0, near, near + log_of), far)


def lgamma(x: Any, a: Any, of_positive: Any, log_of_a: Any, log_of_reflection: Any) -> Any:
    """log |Γ(x)| from what `lgamma_of_positive` gives for a = |x|."""
    above = lp.select(a < 1.0, of_positive - log_of_a, of_positive)
    result = lp.select(x < 0.0, log_of_reflection - of_positive, above)
    is_infinite = ((x <= 0.0) & (lp.math.floor(x) == x)) | (a == lp.math.inf)
    return lp.select(x != x, x, lp.select(is_infinite, lp.math.inf, result))


def lgamma_f32(x: lp.f32) -> lp.f32:
    """Logarithm of the absolute value of the gamma function."""
    a = abs(x)
    z, product = brought_down(a)
    log_of = log_f32(lp.select((a < 1.0) | (a >= LARGE), a, product))
    of_positive = lgamma_of_positive(a, z, log_of, LGAMMA_F32, STIRLING_F32)
    reflection = log_f32(PI / (sin_f32(sine_of_pi(a)) * max(a, 1.0)))
    return lgamma(x, a, of_positive, log_of, reflection)


def lgamma_f64(x: lp.f64) -> lp.f64:
    """Logarithm of the absolute value of the gamma function."""
    a = abs(x)
    z, product = brought_down(a)
    log_of = log_f64(lp.select((a < 1.0) | (a >= LARGE), a, product))
    of_positive = lgamma_of_positive(a, z, log_of, LGAMMA_F64, STIRLING_F64)
    reflection = log_f64(PI / (sin_f64(sine_of_pi(a)) * max(a, 1.0)))
    return lgamma(x, a, of_positive, log_of, reflection)
