"""`%`, `//`, fmod and remainder of every class of operands, on every device and in the interpreter: exact."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.coarse_record import CoarseRecord
from lapilli.vk_runtime.constants import VK_DRIVER_ID_GOOGLE_SWIFTSHADER, VK_DRIVER_ID_MESA_LLVMPIPE

pytestmark = pytest.mark.device

SCALARS = """
@lp.kernel
def divide(x: lp.In[lp.{t}], y: lp.In[lp.{t}], out: lp.Out[lp.{t}, 2]):
    i = lp.global_id(0)
    out[0, i] = x[i] % y[i]
    out[1, i] = x[i] // y[i]
    out[2, i] = lp.math.fmod(x[i], y[i])
    out[3, i] = lp.math.remainder(x[i], y[i])
"""
VECTORS = """
@lp.kernel
def divide(x: lp.In[lp.{t}x4], y: lp.In[lp.{t}x4], out: lp.Out[lp.{t}x4, 2]):
    i = lp.global_id(0)
    out[0, i] = x[i] % y[i]
    out[1, i] = x[i] // y[i]
    out[2, i] = lp.math.fmod(x[i], y[i])
    out[3, i] = lp.math.remainder(x[i], y[i])
"""
ASPECTS = {"f16": lp.Aspect.FP16, "f64": lp.Aspect.FP64}
EXACT_QUOTIENT = {"f16": 2**21, "f32": 2**21, "f64": 2**50}
EACH = 3000


def is_llvmpipe(device: lp.Device) -> bool:
    """Whether the device keeps subnormal numbers, which others may flush to zero."""
    return device.physical.driver_id == VK_DRIVER_ID_MESA_LLVMPIPE


def operands(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Returns dividends and divisors: special ones with each other, bit patterns, neighbours of multiples."""
    rng = np.random.default_rng(5)
    about = np.finfo(dtype)
    sizes = [0.0, 1.0, 3.0, 0.1, 2.0**10, about.max, about.tiny, about.smallest_subnormal, np.inf, np.nan]
    sizes += [
        np.nextafter(about.tiny, dtype.type(0)),
        np.nextafter(dtype.type(1), dtype.type(2)),
        about.max / 3,
    ]
    special = np.array([*sizes, *(-size for size in sizes)], dtype)
    x, y = (m.ravel() for m in np.meshgrid(special, special))
    unsigned = np.dtype(f"u{dtype.itemsize}")
    patterns = [rng.integers(0, np.iinfo(unsigned).max, EACH, unsigned, endpoint=True) for _ in range(4)]
    fraction = unsigned.type((1 << about.nmant) - 1)
    near = patterns[0] & ~fraction | patterns[1] & fraction  # of one exponent
    of_patterns = [patterns[0], patterns[2], patterns[0]], [patterns[1], patterns[3] & fraction, near]
    whole = rng.integers(1, 2**7, EACH).astype(dtype)
    divisors = rng.uniform(0.5, 2, EACH).astype(dtype)
    multiples = whole * divisors
    xs = [x, *(v.view(dtype) for v in of_patterns[0]), multiples, np.nextafter(multiples, dtype.type(0))]
    ys = [y, *(v.view(dtype) for v in of_patterns[1]), divisors, divisors]
    length = sum(map(len, xs)) // 4 * 4
    return np.concatenate(xs)[:length], np.concatenate(ys)[:length]


def ieee_remainder(x: float, y: float) -> float:
    """Returns x - n y with n rounded half to even, exactly; NaN where Python raises."""
    try:
        return math.remainder(x, y)
    except ValueError:
        return math.nan


def python_modulo(x: float, y: float) -> float:
    return x % y if y and math.isfinite(x) else math.nan


def expected(x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    pairs = list(zip(x.tolist(), y.tolist(), strict=True))
    with np.errstate(all="ignore"):
        modulo = x % y
        if x.dtype == np.float64:
            np.testing.assert_array_equal(modulo, [python_modulo(*pair) for pair in pairs])
        remainders = np.array([ieee_remainder(*pair) for pair in pairs]).astype(x.dtype)
        return [modulo, x // y, np.fmod(x, y), remainders]


def is_subnormal(values: np.ndarray) -> np.ndarray:
    return (np.abs(values) < np.finfo(values.dtype).tiny) & (values != 0)


def check(x: np.ndarray, y: np.ndarray, found: np.ndarray, *, keeps_subnormals: bool) -> None:
    wanted = expected(x, y)
    anywhere = np.ones_like(x, bool)
    if not keeps_subnormals:
        anywhere = ~(is_subnormal(x) | is_subnormal(y) | is_subnormal(wanted[2]) | is_subnormal(wanted[3]))
    with np.errstate(all="ignore"):
        size = np.abs(x.astype(np.longdouble) / y)
    is_exact = ~((size > EXACT_QUOTIENT[f"f{8 * x.itemsize}"]) & np.isfinite(size))
    eps = np.finfo(x.dtype).eps
    for number, (result, want) in enumerate(zip(found, wanted, strict=True)):
        at = anywhere & is_exact if number == 1 else anywhere
        wrong = at & ~((result == want) | (np.isnan(result) & np.isnan(want)))
        wrong |= at & (result == 0) & (np.signbit(result) != np.signbit(want))
        assert not wrong.any(), (number, x[wrong][:5], y[wrong][:5], result[wrong][:5], want[wrong][:5])
        np.testing.assert_allclose(result[anywhere], want[anywhere], rtol=4 * eps)


@pytest.mark.parametrize("name", ["f16", "f32", "f64"])
@pytest.mark.parametrize("source", [SCALARS, VECTORS], ids=["scalars", "vectors"])
@pytest.mark.parametrize("interprets", [False, True], ids=["device", "interpreter"])
def test_every_class_of_operands(device, name, source, interprets):
    if name in ASPECTS and not device.has(ASPECTS[name]):
        pytest.skip(f"the device has no {name}")
    x, y = operands(np.dtype(f"float{name[1:]}"))
    width = 4 if source is VECTORS else 1
    element = getattr(lp, f"{name}x4" if width > 1 else name)
    out = lp.empty((4, len(x) // width), element, device=device)
    arrays = [
        lp.asarray(v.reshape(-1, width) if width > 1 else v, dtype=element, device=device) for v in (x, y)
    ]
    with lp.config.override(interpret=interprets):
        lp.kernel_from_source(source.format(t=name))[len(x) // width](*arrays, out)
        found = out.numpy().reshape(4, -1)
    check(x, y, found, keeps_subnormals=interprets or is_llvmpipe(device))


DIVISORS = [0.5, -2.0, 1.0, 2 * math.pi, 0.1, -3.0, 1e-40, 3e38, math.inf]


@pytest.mark.parametrize("divisor", DIVISORS)
def test_literal_divisors(device, divisor):
    source = SCALARS.format(t="f32").replace(
        "y[i]", f"lp.f32({divisor})".replace("lp.f32(inf)", "lp.math.inf")
    )
    x, _ = operands(np.dtype(np.float32))
    out = lp.empty((4, len(x)), device=device)
    array = lp.asarray(x, device=device)
    lp.kernel_from_source(source)[len(x)](array, array, out)
    check(x, np.full_like(x, divisor), out.numpy(), keeps_subnormals=is_llvmpipe(device))


@pytest.mark.native_only("the interpreter runs each work-item by itself")
def test_neighbours_share_the_loop(device):
    """A launch that is large enough for several work-items in an invocation, of numbers that take different rounds."""
    rng = np.random.default_rng(2)
    count = 1 << 18
    x = (rng.normal(size=count) * 10.0 ** rng.uniform(-20, 30, count)).astype(np.float32)
    y = rng.normal(size=count).astype(np.float32)

    @lp.kernel
    def modulo(x: lp.In[lp.f32], y: lp.In[lp.f32], out: lp.Out[lp.f32]):
        i = lp.global_id(0)
        out[i] = x[i] % y[i]

    out = lp.empty(count, device=device)
    modulo[count](lp.asarray(x, device=device), lp.asarray(y, device=device), out)
    np.testing.assert_array_equal(out.numpy(), x % y)
    records = [prepared.record for prepared in modulo.records.values()]
    is_software = device.physical.driver_id in (
        VK_DRIVER_ID_MESA_LLVMPIPE,
        VK_DRIVER_ID_GOOGLE_SWIFTSHADER,
    )
    assert not is_software or any(
        isinstance(record, CoarseRecord) or record.kernel.lanes for record in records
    )


def test_in_a_loop_of_many_rounds(device):
    """Each `%` takes a round of the 65,535 that lavapipe has; the loop itself takes another."""

    @lp.kernel
    def repeat(n: lp.i32, step: lp.f32, out: lp.Out[lp.f32]):
        angle = lp.f32(0.0)
        for _ in range(n):
            angle = (angle + step) % 1.7
        out[0] = angle

    want = np.float32(0)
    for _ in range(20000):
        want = (want + np.float32(0.9)) % np.float32(1.7)
    out = lp.zeros(1, device=device)
    repeat[1](20000, 0.9, out)
    assert out.numpy()[0] == want
