"""Helper functions, captured values, conversions and lp.math, on every device."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

GAIN = 3
HALF = np.float32(0.5)
TAU = math.tau


def clamp_to(v, low=0.0, high=1.0):
    if v < low:
        return low
    if v > high:
        return high
    return v


def divide(a: lp.i32, b: lp.i32):
    return a // b, a % b


def read(x, i):
    return x[i] * GAIN


@lp.kernel
def use_helpers(x: lp.In[lp.f32], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    q, r = divide(lp.i32(x[i]), 4)
    out[i, 0] = clamp_to(x[i], high=2.0)
    out[i, 1] = lp.f32(q)
    out[i, 2] = lp.f32(r)
    out[i, 3] = read(x, i) * HALF + lp.f32(TAU)


@lp.kernel
def convert(x: lp.In[lp.f32], as_i32: lp.Out[lp.i32], as_u32: lp.Out[lp.u32], as_bool: lp.Out[lp.i32]):
    i = lp.global_id(0)
    as_i32[i] = lp.i32(x[i])
    as_u32[i] = lp.u32(x[i])
    as_bool[i] = 1 if x[i] else 0


def test_helpers_take_defaults_keywords_arrays_and_return_tuples(device):
    values = np.float32([-5, 0.25, 1.5, 9, -8])
    out = lp.zeros((5, 4), device=device)
    use_helpers[5](lp.asarray(values, device=device), out)
    whole = values.astype(np.int32)
    expected = np.stack(
        [np.clip(values, 0, 2), whole // 4, whole % 4, values * 3 * np.float32(0.5) + np.float32(math.tau)],
        axis=1,
    ).astype(np.float32)
    np.testing.assert_allclose(out.numpy(), expected, rtol=3e-7)


def test_float_to_integer_truncates_saturates_and_nan_is_zero(device):
    values = np.float32([0.9, -0.9, 1e20, -1e20, np.nan, np.inf, -np.inf, 2147483648.0, 4294967040.0, -3.7])
    arrays = [lp.zeros(len(values), t, device=device) for t in (lp.i32, lp.u32, lp.i32)]
    convert[len(values)](lp.asarray(values, device=device), *arrays)
    as_i32, as_u32, as_bool = (a.numpy().tolist() for a in arrays)
    top = 2**31 - 1
    assert as_i32 == [0, 0, top, -(2**31), 0, top, -(2**31), top, top, -3]
    assert as_u32 == [0, 0, 2**32 - 1, 0, 0, 2**32 - 1, 0, 2**31, 4294967040, 0]
    assert as_bool == [1] * len(values)


@lp.kernel
def unary_functions(x: lp.In[lp.f32], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    v = x[i]
    out[0, i] = lp.math.sqrt(v)
    out[1, i] = lp.math.exp(v)
    out[2, i] = lp.math.log(v)
    out[3, i] = lp.math.sin(v)
    out[4, i] = lp.math.cos(v)
    out[5, i] = lp.math.tanh(v)
    out[6, i] = lp.math.floor(v)
    out[7, i] = lp.math.ceil(v)
    out[8, i] = lp.math.trunc(v)
    out[9, i] = lp.math.rsqrt(v)
    out[10, i] = lp.math.atan(v)
    out[11, i] = lp.math.fabs(v)
    out[12, i] = lp.math.pow(v, 2.5)
    out[13, i] = lp.math.fma(v, v, 1.0)
    out[14, i] = v**3
    out[15, i] = lp.math.log2(v)


def test_math_functions_match_numpy(device):
    x = np.linspace(0.05, 3.0, 61, dtype=np.float32)
    out = lp.zeros((16, len(x)), device=device)
    unary_functions[len(x)](lp.asarray(x, device=device), out)
    v = x.astype(np.float64)
    expected = [
        np.sqrt(v), np.exp(v), np.log(v), np.sin(v), np.cos(v), np.tanh(v), np.floor(v), np.ceil(v), np.trunc(v),
        1 / np.sqrt(v), np.arctan(v), np.abs(v), v**2.5, v * v + 1, v**3, np.log2(v),
    ]  # fmt: skip
    # Vulkan allows sin and cos an absolute error of 2**-11 and exp 3 + 2|x| ulp; the rest is far below.
    np.testing.assert_allclose(out.numpy(), np.array(expected), rtol=2e-5, atol=6e-4)
    for row in (6, 7, 8, 11):
        np.testing.assert_array_equal(out.numpy()[row], expected[row].astype(np.float32))


@lp.kernel
def scalar_arguments(a: lp.i32, b: lp.u32, c: lp.f32, d: lp.bool_, out: lp.Out[lp.f32]):
    out[0] = lp.f32(a)
    out[1] = lp.f32(b)
    out[2] = c
    out[3] = 1.0 if d else 0.0


def test_scalar_arguments_of_every_kind(device):
    out = lp.zeros(4, device=device)
    scalar_arguments[1](-7, 2**31, 0.125, True, out)
    assert out.numpy().tolist() == [-7, 2.0**31, 0.125, 1]
    scalar_arguments[1](np.int32(5), np.uint32(6), np.float32(7), np.bool_(False), out)
    assert out.numpy().tolist() == [5, 6, 7, 0]


FACTOR = 2
SHIFT = 1.0


def shifted(v):
    return v + SHIFT


@lp.kernel
def captured_values(out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    out[i] = shifted(lp.f32(FACTOR))


def test_changed_capture_compiles_again_and_an_equal_one_does_not(device, monkeypatch):
    out = lp.zeros(1, device=device)
    captured_values[1](out)
    assert out.numpy().tolist() == [3]
    monkeypatch.setitem(globals(), "FACTOR", 5)
    captured_values[1](out)
    assert out.numpy().tolist() == [6]
    monkeypatch.setitem(globals(), "SHIFT", 10.0)
    captured_values[1](out)
    assert out.numpy().tolist() == [15]
    monkeypatch.setitem(globals(), "SHIFT", float("10"))
    with lp.trace() as trace:
        captured_values[1](out)
    assert trace.count("compile") == 0


class Tuning:
    steps = 3
    names = None


class Special(Tuning):
    pass


@lp.kernel
def captured_attribute(out: lp.Out[lp.i32]):
    out[lp.global_id(0)] = Special.steps


def test_changed_class_attribute_compiles_again(device, monkeypatch):
    out = lp.zeros(1, lp.i32, device=device)
    captured_attribute[1](out)
    assert out.numpy().tolist() == [3]
    monkeypatch.setattr(Tuning, "steps", 4)
    captured_attribute[1](out)
    assert out.numpy().tolist() == [4]
    monkeypatch.setattr(Special, "steps", 5, raising=False)
    captured_attribute[1](out)
    assert out.numpy().tolist() == [5]
    with lp.trace() as trace:
        captured_attribute[1](out)
    assert trace.count("compile") == 0


@lp.kernel
def integer_powers(base: lp.In[lp.i32], exponent: lp.In[lp.i32], out: lp.Out[lp.i32]):
    i = lp.global_id(0)
    out[i] = base[i] ** exponent[i]


def test_integers_to_negative_powers_known_at_run_time(device):
    base, exponent = np.int32([1, -1, -1, 2, 0, -2, 3, 0, -3]), np.int32([-3, -3, -2, -1, -1, -1, 5, 0, 3])
    out = lp.empty(len(base), lp.i32, device=device)
    integer_powers[len(base)](lp.asarray(base, device=device), lp.asarray(exponent, device=device), out)
    assert out.numpy().tolist() == [1, -1, 1, 0, 0, 0, 243, 1, -27]


def _weighted(v, k):
    if v < 0.0:
        return v
    return v * k


@lp.kernel
def called_before_its_argument_has_a_type(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    depth = 0
    total = 0.0
    while depth < 4:
        total += _weighted(x[i], depth)
        depth += 1
    x[i] = total


def test_a_call_that_inference_tries_again_is_no_recursion(device):
    x = lp.asarray(np.float32([-1, 2, 3]), device=device)
    called_before_its_argument_has_a_type[3](x)
    assert x.numpy().tolist() == [-4, 12, 18]


def own_rounds(n, of):
    return range(1, n * of), enumerate((n, 2 * n))


@lp.kernel
def loops_over_results(n: lp.i32, out: lp.Array[lp.i32]):
    for k in own_rounds(n, 2)[0]:
        out[0] += k
    for i, v in own_rounds(n + out[1], 2)[1]:
        out[2] += (i + 1) * v


def test_helpers_return_what_loops_run_over(device):
    out = lp.zeros(3, lp.i32, device=device)
    loops_over_results[1](4, out)
    assert out.numpy().tolist() == [28, 0, 20]


@lp.kernel
def in_order(x: lp.In[lp.f32], y: lp.In[lp.f32], z: lp.In[lp.f32], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    out[0, i] = (x[i] * 1e30) * 1e-30
    out[1, i] = x[i] / (y[i] / z[i])
    out[2, i] = 3.0 / y[i] / z[i] * x[i]
    out[3, i] = (x[i] * y[i]) / z[i]
    out[4, i] = (x[i] + y[i]) - y[i]
    out[5, i] = y[i] + (x[i] - y[i])
    out[6, i] = (z[i] + 3e10) - 3e10


def test_floats_are_computed_in_the_order_of_the_source(device):
    x, y, z = np.float32([[1e20, 2.0**-100, 1], [1.5, 2.0**-120, 2.0**80], [4, 2.0**-28, 2.0**47]])
    out = lp.zeros((7, 3), device=device)
    in_order[3](*(lp.asarray(column, device=device) for column in (x, y, z)), out)
    large, far = np.float32(1e30), np.float32(3e10)
    with np.errstate(over="ignore"):
        expected = [x * large * np.float32(1e-30), x / (y / z), 3 / y / z * x, x * y / z, (x + y) - y,
                    y + (x - y), (z + far) - far]  # fmt: skip
    # Vulkan: 2.5 ULP a division; what is subnormal may be flushed.
    np.testing.assert_allclose(out.numpy(), expected, rtol=8e-7, atol=2.0**-126)


@lp.kernel
def chained(x: lp.In[lp.f32], y: lp.In[lp.f32], z: lp.In[lp.f32], out: lp.Out[lp.f32]):
    out[0] = (x[0] * y[0]) * z[0]
    out[1] = x[0] * (y[0] * z[0])
    out[2] = ((x[0] * x[0]) * x[0]) * z[0]


def test_chains_of_products_are_computed_in_the_order_of_the_source(device):
    out = lp.zeros(3, device=device)
    chained[1](*(lp.full(1, value, device=device) for value in (1e30, 1e30, 1e-30)), out)
    np.testing.assert_allclose(out.numpy(), [np.inf, 1e30, np.inf], rtol=1e-6)


@lp.kernel
def compensated(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
    total = 0.0
    lost = 0.0
    for i in range(x.size):
        part = x[i] - lost
        longer = total + part
        lost = (longer - total) - part
        total = longer
    out[0] = total


def test_what_sums_lose_can_be_added_again(device):
    x = np.full(10001, 2.0**-25, np.float32)
    x[0] = 1
    out = lp.zeros(1, device=device)
    compensated[1](lp.asarray(x, device=device), out)
    assert out.numpy()[0] == np.float32(x.astype(np.float64).sum())


@lp.kernel
def with_truth_values(
    x: lp.In[lp.u32], y: lp.In[lp.i32], u: lp.Array[lp.u32], s: lp.Array[lp.i32], f: lp.Array[lp.f32]
):
    i = lp.global_id(0)
    b = x[i] > 3
    c = x[i] > 4
    u[4 * i] = max(x[i], b)
    u[4 * i + 1] = min(b, x[i])
    u[4 * i + 2] = lp.math.clamp(x[i], b, True)
    u[4 * i + 3] = max(b, x[i], 2)
    s[4 * i] = max(b, c)
    s[4 * i + 1] = min(y[i], b)
    s[4 * i + 2] = lp.math.clamp(b, -1, y[i])
    s[4 * i + 3] = max(b, c, False)
    f[2 * i] = max(lp.f32(y[i]), b)
    f[2 * i + 1] = min(b, 0.5)


def test_extrema_of_truth_values_and_numbers(device):
    x, y = np.uint32([0, 1, 4, 2**32 - 1]), np.int32([-3, 0, 1, 5])
    u, s = lp.zeros(16, lp.u32, device=device), lp.zeros(16, lp.i32, device=device)
    f = lp.zeros(8, device=device)
    with_truth_values[4](lp.asarray(x, device=device), lp.asarray(y, device=device), u, s, f)
    unsigned, signed, floats = [], [], []
    for p, q in zip(x.tolist(), y.tolist(), strict=True):
        b, c = p > 3, p > 4
        unsigned += [max(p, b), min(b, p), min(max(p, b), True), max(b, p, 2)]
        signed += [max(b, c), min(q, b), min(max(b, -1), q), max(b, c, False)]
        floats += [max(q, b), min(b, 0.5)]
    assert (u.numpy().tolist(), s.numpy().tolist(), f.numpy().tolist()) == (unsigned, signed, floats)


@pytest.mark.parametrize("name", ["f16", "f32", "f64"])
def test_the_sign_of_literal_zeros(device, name):
    """Mesa 22.3 folds the magnitude of -0.0 to -0.0."""
    aspect = {"f16": lp.Aspect.FP16, "f64": lp.Aspect.FP64}.get(name)
    if aspect is not None and not device.has(aspect):
        pytest.skip(f"the device has no {name}")
    source = """
@lp.kernel
def signs(x: lp.In[lp.T], out: lp.Out[lp.T]):
    i = lp.global_id(0)
    out[i] = lp.math.copysign(lp.T(-0.0), x[i])
"""
    x = np.array([1.0, -1.0, 0.0, -0.0], f"float{name[1:]}")
    out = lp.empty(4, getattr(lp, name), device=device)
    lp.kernel_from_source(source.replace("lp.T", f"lp.{name}"))[4](lp.asarray(x, device=device), out)
    np.testing.assert_array_equal(np.signbit(out.numpy()), np.signbit(x))
