"""Every function of lp.math against higher precision, at the accuracy that docs/math.md states."""

from __future__ import annotations

import importlib.util
import math
import re
from pathlib import Path

import numpy as np
import pytest

import lapilli as lp
from tests.host_bf16 import require_host_numbers

pytestmark = pytest.mark.device

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "math.md"
WIDE = np.longdouble


def _table() -> dict[str, tuple[float, float]]:
    """Returns the stated errors in ULP (f32, f64) by function."""
    rows = re.findall(r"^\| (\w+)[^|]* \| (\d+) \| (\d+) \|$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    return {name: (float(f32), float(f64)) for name, f32, f64 in rows}


STATED = _table()


def _by_python(function):
    """Makes a function of arrays of one of Python's, whose errors become infinity or NaN."""

    def compute(*columns):
        results = np.empty(columns[0].shape, WIDE)
        for position, values in enumerate(zip(*columns, strict=True)):
            try:
                results[position] = function(*map(float, values))
            except OverflowError:
                results[position] = np.inf
            except ValueError:
                results[position] = np.nan
        return results

    return compute


def _lgamma(x: float) -> float:
    return math.inf if x <= 0 and x == math.floor(x) else math.lgamma(x)


def _gamma(x: float) -> float:
    return math.copysign(math.inf, x) if x == 0 else math.gamma(x)


UNARY = {
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "cbrt": np.cbrt,
    "erf": _by_python(math.erf), "erfc": _by_python(math.erfc), "gamma": _by_python(_gamma),
    "lgamma": _by_python(_lgamma),
}  # fmt: skip
BINARY = {
    "pow": np.power, "atan2": np.arctan2, "hypot": np.hypot, "fmod": np.fmod,
    "remainder": _by_python(math.remainder),
}  # fmt: skip
SPECIAL = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    2.0,
    -2.0,
    3.0,
    -3.0,
    0.5,
    -0.5,
    1e30,
    -1e30,
    1e-30,
    20.0,
)


def _kernel(tmp_path, dtype: str, calls: list[str]):
    """Returns the kernel ``out[j, i] = call j of x[i] and y[i]``."""
    lines = [f"    out[{position}, i] = {call}\n" for position, call in enumerate(calls)]
    path = tmp_path / f"functions_{dtype}.py"
    path.write_text(
        "import lapilli as lp\n\n@lp.kernel\n"
        f"def compute(xs: lp.In[lp.{dtype}], ys: lp.In[lp.{dtype}], out: lp.Out[lp.{dtype}, 2]):\n"
        "    i = lp.global_id(0)\n    x = xs[i]\n    y = ys[i]\n" + "".join(lines)
    )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.compute


def _run(kernel, device, x, y, count: int):
    out = lp.zeros((count, len(x)), lp.asarray(x, device=device).dtype, device=device)
    kernel[len(x)](lp.asarray(x, device=device), lp.asarray(y, device=device), out)
    return out.numpy()


def _errors(found, exact, floor: float | np.ndarray = 0.0):
    """Returns the errors in ULP of the exact results, infinite where one is NaN or infinite alone or the sign differs.

    Results below the normal range count as any of that range.  `floor`: smallest result whose ULP counts.
    """
    kind = found.dtype.type
    info = np.finfo(kind)
    with np.errstate(all="ignore"):
        rounded = exact.astype(kind)
        size = np.abs(exact)
        exponent = np.frexp(
            np.maximum(np.where(np.isfinite(size), size, 1), np.maximum(floor, info.tiny)).astype(WIDE)
        )[1]
        ulp = np.ldexp(WIDE(1), exponent - 1 - info.nmant)
        error = np.abs(found.astype(WIDE) - exact) / ulp
        is_tiny = (size < info.tiny) & (np.abs(found) <= info.tiny)
        # Where the exact result rounds to infinity, the largest number is one ULP away.
        is_huge = np.isinf(rounded) & np.isfinite(exact) & (np.abs(found) == info.max)
        is_same = (np.isnan(found) & np.isnan(exact)) | (np.isinf(found) & (found == rounded))
    return np.where(is_same | is_tiny, 0, np.where(is_huge, 1, np.where(np.isnan(error), np.inf, error)))


def _lgamma_floor(x):
    """Returns the size that lgamma's error is measured against: below zero what its parts have, which cancel out."""
    parts = _by_python(_lgamma)(1 + np.abs(x.astype(float)))
    return np.where(x < 0, np.maximum(np.where(np.isfinite(parts), parts, 1), 1), 1)


def _arguments(kind, seed: int):
    """Returns pairs of normal numbers of every size, most of them where functions bend."""
    random = np.random.default_rng(seed)
    largest = math.log(float(np.finfo(kind).max)) * 0.999
    columns = []
    for count, low, high in (
        (1500, -1, 1),
        (1500, -4, 4),
        (1500, -40, 40),
        (1000, -750, 750),
        (500, -1e5, 1e5),
    ):
        columns.append(random.uniform(low, high, (2, count)))
    logarithmic = np.exp(random.uniform(-largest, largest, (2, 3000)))
    columns.append(logarithmic * random.choice([-1, 1], (2, 3000)))
    columns.append(random.integers(-30, 30, (2, 500)).astype(float))
    # Powers of numbers about 1 that are near the largest or smallest float, and numbers beside the poles of gamma.
    base = np.exp(random.uniform(-0.37, 0.37, 2000)).astype(kind).astype(float)
    columns.append([base, random.uniform(-0.98, 0.98, 2000) * largest / np.log(base)])
    pole = -random.integers(0, 180, 1000) + random.normal(size=1000) * 10 ** random.uniform(-6, -1, 1000)
    columns.append([pole, random.permutation(pole)])
    x, y = np.concatenate(columns, axis=1).astype(kind)
    tiny = 4 * np.finfo(kind).tiny  # half of a divisor is normal too
    is_normal = (np.abs(x) >= tiny) & (np.abs(y) >= tiny)  # others may be flushed
    return x[is_normal], y[is_normal]


def _require(device, dtype: str) -> None:
    needed = {
        "f16": (lp.Aspect.FP16,),
        "bf16": (lp.Aspect.VK_INT16, lp.Aspect.VK_STORAGE_16BIT),
        "f64": (lp.Aspect.FP64, lp.Aspect.VK_INT64),
        "f32": (),
    }[dtype]
    missing = [aspect.spelling for aspect in needed if not device.has(aspect)]
    if missing:
        pytest.skip(f"the device lacks {', '.join(missing)}")


def test_the_document_states_every_function():
    assert set(STATED) == {*UNARY, *BINARY}


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_errors_are_as_documented(device, tmp_path, dtype):
    _require(device, dtype)
    kind = np.dtype(dtype.replace("f", "float")).type
    calls = [*(f"lp.math.{name}(x)" for name in UNARY), *(f"lp.math.{name}(x, y)" for name in BINARY)]
    kernel = _kernel(tmp_path, dtype, calls)
    x, y = _arguments(kind, seed=3)
    pairs = np.array([(a, b) for a in SPECIAL for b in SPECIAL], kind)
    x, y = np.concatenate([x, pairs[:, 0]]), np.concatenate([y, pairs[:, 1]])
    found = _run(kernel, device, x, y, len(calls))
    worse = {}
    for row, (name, exact) in enumerate((*UNARY.items(), *BINARY.items())):
        with np.errstate(all="ignore"):
            columns = (x.astype(WIDE), y.astype(WIDE))[: 1 if name in UNARY else 2]
            expected = exact(*columns)
        errors = _errors(found[row], expected, _lgamma_floor(x) if name == "lgamma" else 0.0)
        worst = int(np.argmax(errors))
        if errors[worst] > STATED[name][dtype == "f64"]:
            worse[name] = (errors[worst], x[worst], y[worst], found[row][worst], expected[worst])
    assert not worse, worse


def test_functions_of_literals_are_literals(device, tmp_path):
    """They take the type of what they meet, and are not f32 before."""
    _require(device, "f64")
    values = {
        "radians(1.0)": math.radians(1), "degrees(0.1)": math.degrees(0.1), "floor(1e30)": 1e30, "ceil(-1e30)": -1e30,
        "trunc(1e30)": 1e30, "rsqrt(3.0)": 1 / math.sqrt(3), "fract(0.1)": 0.1, "fabs(-0.1)": 0.1,
        "atan2(1.0, 3.0)": math.atan2(1, 3), "hypot(0.1, 0.2)": math.hypot(0.1, 0.2),
        "fmod(0.7, 0.2)": math.fmod(0.7, 0.2),
        "copysign(0.1, -1.0)": -0.1, "remainder(0.7, 0.2)": math.remainder(0.7, 0.2), "ceil(-0.5)": -0.0,
    }  # fmt: skip
    kernel = _kernel(tmp_path, "f64", [f"x * lp.math.{call}" for call in values])
    found = _run(kernel, device, np.ones(1), np.ones(1), len(values))[:, 0]
    np.testing.assert_allclose(found, list(values.values()), rtol=1e-15)
    assert np.signbit(found[-1])


def test_signs_of_zeros(device, tmp_path):
    names = [
        "sin",
        "tan",
        "asin",
        "atan",
        "sinh",
        "tanh",
        "asinh",
        "atanh",
        "expm1",
        "log1p",
        "cbrt",
        "erf",
        "sqrt",
    ]
    kernel = _kernel(tmp_path, "f32", [f"lp.math.{name}(x)" for name in names])
    x = np.float32([0.0, -0.0])
    found = _run(kernel, device, x, x, len(names))
    np.testing.assert_array_equal(found, np.tile(x, (len(names), 1)))
    np.testing.assert_array_equal(np.signbit(found), np.tile(np.signbit(x), (len(names), 1)), names)


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
def test_the_sign_of_a_zero_is_that_zero_and_of_nan_0(device, tmp_path, dtype):
    if dtype != "f32" and not device.has({"f16": lp.Aspect.FP16, "f64": lp.Aspect.FP64}[dtype]):
        pytest.skip(f"the device lacks {dtype}")
    x = np.array([0.0, -0.0, 3.5, -3.5, np.inf, -np.inf, np.nan], dtype.replace("f", "float"))
    (found,) = _run(_kernel(tmp_path, dtype, ["lp.math.sign(x)"]), device, x, x, 1)
    np.testing.assert_array_equal(found, [0, 0, 1, -1, 1, -1, 0])
    np.testing.assert_array_equal(np.signbit(found[:6]), np.signbit(x[:6]))


@pytest.mark.behaviour("DT-06")
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_every_number_of_16_bits_is_computed_in_f32_and_rounded(device, tmp_path, dtype):
    _require(device, dtype)
    require_host_numbers(dtype)
    kernel = _kernel(tmp_path, dtype, [f"lp.math.{name}(x)" for name in UNARY])
    kind = np.dtype(getattr(lp, dtype).dtype)
    x = np.arange(65536, dtype=np.uint16).view(kind)
    with np.errstate(invalid="ignore"):
        size = np.abs(x.astype(np.float32))
        x = x[(size == 0) | np.isnan(size) | (size >= np.float32(1.2e-38))]
    found = _run(kernel, device, x, x, len(UNARY)).astype(np.float64)
    smallest = 2.0**-14 if dtype == "f16" else 2.0**-126
    bits = 10 if dtype == "f16" else 7
    for row, (name, exact) in enumerate(UNARY.items()):
        with np.errstate(all="ignore"):
            expected = exact(x.astype(np.float64))
            rounded = expected.astype(kind).astype(np.float64)
            size = np.maximum(np.abs(np.where(np.isfinite(rounded), expected, 1)), smallest)
            ulp = np.ldexp(1.0, np.frexp(size.astype(np.float64))[1] - 1 - bits)
            error = np.abs(found[row] - expected.astype(np.float64)) / ulp
        is_same = (np.isnan(found[row]) & np.isnan(rounded)) | (found[row] == rounded)
        # An ULP where f32's own error tips the rounding; below the normal range the device may flush.
        is_close = is_same | (error <= 1.0) | (np.abs(expected) < smallest)
        assert is_close.all(), (name, x[~is_close][:4], found[row][~is_close][:4], rounded[~is_close][:4])


@lp.kernel(math_accuracy={"exp": "low", "pow": "low"})
def by_the_device(x: lp.In[lp.f32], out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    out[0, i] = lp.math.exp(x[i])
    out[1, i] = x[i] ** x[i]
    out[2, i] = lp.math.log(x[i])


def test_low_accuracy_is_the_devices_instruction_of_that_function_alone(device):
    text = by_the_device.inspect("spirv")
    assert " Exp " in text and " Pow " in text
    assert " Log " not in text
    x = np.linspace(0.5, 3, 50, dtype=np.float32)
    out = lp.zeros((3, len(x)), device=device)
    by_the_device[len(x)](lp.asarray(x, device=device), out)
    np.testing.assert_allclose(out.numpy(), [np.exp(x), x**x, np.log(x)], rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("value", [{"sine": "low"}, {"sin": "fast"}, {"sin": 3}, 5])
def test_unknown_accuracies_are_refused(value):
    with pytest.raises(lp.InvalidError, match="math_accuracy"):
        lp.kernel(math_accuracy=value)


@lp.kernel
def parts(x: lp.In[lp.f32], n: lp.In[lp.i32], out: lp.Out[lp.f32, 2], exponents: lp.Out[lp.i32]):
    i = lp.global_id(0)
    m, e = lp.math.frexp(x[i])
    fraction, whole = lp.math.modf(x[i])
    out[0, i] = m
    exponents[i] = e
    out[1, i] = fraction
    out[2, i] = whole
    out[3, i] = lp.math.ldexp(x[i], n[i])
    out[4, i] = lp.math.nextafter(x[i], 2.0)
    out[5, i] = lp.math.ulp(x[i])


def test_numbers_are_taken_apart_exactly(device):
    x = np.float32([1, -1, 0.75, -3.5, 1e30, -1e-30, 0.0, -0.0, np.inf, -np.inf, np.nan, 2, 1e38, 123456.75])
    n = np.int32([0, 1, -1, 5, -200, 200, 7, -7, 3, 3, 3, -126, 10, 2**31 - 1])
    out, e = lp.zeros((6, len(x)), device=device), lp.zeros(len(x), lp.i32, device=device)
    parts[len(x)](lp.asarray(x, device=device), lp.asarray(n, device=device), out, e)
    mantissas, exponents = np.frexp(x)
    exponents = np.where(np.isfinite(x), exponents, 0)
    fractions, wholes = np.modf(x)
    with np.errstate(over="ignore"):
        scaled = np.ldexp(x, n)
    expected = np.stack([mantissas, fractions, wholes, scaled, np.nextafter(x, np.float32(2))])
    found = out.numpy()
    np.testing.assert_array_equal(e.numpy(), exponents)
    tiny = np.abs(expected) < np.finfo(np.float32).tiny
    np.testing.assert_array_equal(np.where(tiny, 0, found[:5]), np.where(tiny, 0, expected))
    ordinary = np.abs(x) > 1e-20
    np.testing.assert_array_equal(
        found[5][ordinary & np.isfinite(x)], np.spacing(np.abs(x))[ordinary & np.isfinite(x)]
    )
    np.testing.assert_array_equal(np.signbit(found[:3, :8]), np.signbit(expected[:3, :8]))


def test_functions_that_split_numbers_are_not_fused_where_they_are_inlined():
    kernel = lp.kernel_from_source(
        "@lp.kernel\ndef k(x: lp.Array[lp.f32]):\n"
        "    i = lp.global_id(0)\n    x[i] = lp.math.log2(x[i]) * x[i] + 1.0\n"
    )
    text = kernel.inspect("spirv")
    exact = set(re.findall(r"OpDecorate (%\S+) NoContraction", text))
    made = re.findall(r"(%\S+) = Op(?:FAdd|FSub|FMul) ", text)
    assert len(made) - len(exact & set(made)) == 2  # the product and the sum of the kernel itself


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
@pytest.mark.parametrize("call", ["copysign(x, y)", "modf(x)[0]", "asin(x)", "atan2(x, y)"])
def test_signs_need_no_integers_of_the_width(device, tmp_path, dtype, call):
    """A kernel that does nothing else asks for the aspects of its floats only: other integers may be missing."""
    if dtype != "f32" and not device.has({"f16": lp.Aspect.FP16, "f64": lp.Aspect.FP64}[dtype]):
        pytest.skip(f"the device lacks {dtype}")
    kernel = _kernel(tmp_path, dtype, [f"lp.math.{call}"])
    kind = np.dtype(dtype.replace("f", "float")).type
    edges = np.array([0.0, -0.0, 0.75, -0.75, 1e-7, -1e-7, 0.5, -1.0], kind)
    x, y = (part.ravel() for part in np.meshgrid(edges, [*edges, kind(np.inf), kind(-np.inf)]))
    (found,) = _run(kernel, device, x, y, 1)
    function = {"copysign(x, y)": np.copysign, "modf(x)[0]": lambda x, _: np.modf(x)[0],
                "asin(x)": lambda x, _: np.arcsin(x), "atan2(x, y)": np.arctan2}[call]  # fmt: skip
    expected = function(x.astype(np.float64), y.astype(np.float64)).astype(kind)
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(kind).eps, atol=np.finfo(kind).tiny)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
