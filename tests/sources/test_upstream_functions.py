"""Every function of `math`, on numbers and on vectors, and vectors of other widths, of kernels written for MLIR."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

Built = Callable[..., lp.KernelBundle]
ONE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "absf": np.abs, "acos": np.arccos, "acosh": lambda v: np.arccosh(1 + v), "asin": np.arcsin,
    "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh, "cbrt": np.cbrt, "ceil": np.ceil, "cos": np.cos,
    "cosh": np.cosh, "erf": np.vectorize(math.erf), "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "floor": np.floor, "log": np.log, "log10": np.log10, "log1p": np.log1p, "log2": np.log2,
    "round": lambda v: np.trunc(v + np.copysign(0.5, v)), "roundeven": np.round, "rsqrt": lambda v: 1 / np.sqrt(v),
    "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh, "trunc": np.trunc,
}  # fmt: skip
TWO: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "atan2": np.arctan2,
    "copysign": np.copysign,
    "powf": np.power,
}
X = np.array([0.25, 0.5, 0.875, 0.125], np.float32)


def _functions() -> str:
    rows = [
        "%v = vector.load %x[%c0] : memref<?xf32>, vector<4xf32>",
        "%one = arith.constant dense<1.0> : vector<4xf32>",
    ]
    rows += ["%more = arith.addf %v, %one : vector<4xf32>", "%less = arith.subf %v, %one : vector<4xf32>"]
    rows += [f"%a{k} = math.{name} {'%more' if name == 'acosh' else '%v'} fastmath<contract> : vector<4xf32>"
             for k, name in enumerate(ONE)]  # fmt: skip
    rows += [f"%b{k} = math.{name} %v, %less : vector<4xf32>" for k, name in enumerate(TWO)]
    rows += ["%f = math.fma %v, %less, %more : vector<4xf32>"]
    rows += ["%three = arith.constant 3 : i32", "%threes = vector.splat %three : vector<4xi32>"]
    rows += ["%p = math.fpowi %less, %threes : vector<4xf32>, vector<4xi32>"]
    values = [*(f"%a{k}" for k in range(len(ONE))), *(f"%b{k}" for k in range(len(TWO))), "%f", "%p"]
    rows += [
        f"%k{k} = arith.constant {k} : index\nvector.store {value}, %y[%k{k}, %c0] : memref<?x?xf32>, vector<4xf32>"
        for k, value in enumerate(values)
    ]
    return (
        "gpu.module @m { gpu.func @functions(%x: memref<?xf32>, %y: memref<?x?xf32>) kernel {\n"
        "%c0 = arith.constant 0 : index\n%i = gpu.global_id x\n" + "\n".join(rows) + "\ngpu.return } }"
    )


def test_functions_of_vectors(device: lp.Device, queue: lp.Queue, built: Built):
    kernel = built(lp.SourceLanguage.MLIR, _functions()).ext_oneapi_get_kernel("functions")
    y = lp.zeros((len(ONE) + len(TWO) + 2, 4), device=device)
    queue.parallel_for(lp.NdRange(1, 1), kernel, lp.asarray(X, device=device), y)
    v = X.astype(np.float64)
    expected = [function(v) for function in ONE.values()] + [function(v, v - 1) for function in TWO.values()]
    expected += [v * (v - 1) + (v + 1), (v - 1) ** 3]
    for row, right, name in zip(y.numpy(), expected, [*ONE, *TWO, "fma", "fpowi"], strict=True):
        # Vulkan allows sine and cosine an absolute error of 2^-11.
        np.testing.assert_allclose(row, right, rtol=2e-4, atol=5e-4, err_msg=name)


TOLD_APART = """
gpu.module @m { gpu.func @classes(%x: memref<?xf32>, %y: memref<?x?xi32>) kernel {
  %i = gpu.global_id x
  %v = memref.load %x[%i] : memref<?xf32>
""" + "".join(
    f"  %c{k} = arith.constant {k} : index\n  %b{k} = math.{word} %v : f32\n  %i{k} = arith.extui %b{k} : i1 to i32\n"
    f"  memref.store %i{k}, %y[%i, %c{k}] : memref<?x?xi32>\n"
    for k, word in enumerate(("isnan", "isinf", "isfinite", "isnormal"))
) + "  gpu.return\n} }"  # fmt: skip


def test_classes_of_floats(device: lp.Device, queue: lp.Queue, built: Built):
    kernel = built(lp.SourceLanguage.MLIR, TOLD_APART).ext_oneapi_get_kernel("classes")
    values = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1.5, -3e38, 2.0**-126], np.float32)
    y = lp.zeros((8, 4), lp.i32, device=device)
    queue.parallel_for(lp.NdRange(8, 8), kernel, lp.asarray(values, device=device), y)
    is_normal = np.isfinite(values) & (np.abs(values) >= np.float32(2.0**-126))
    rows = [np.isnan(values), np.isinf(values), np.isfinite(values), is_normal]
    np.testing.assert_array_equal(y.numpy(), np.array(rows, np.int32).T)


WIDTHS = """
gpu.module @m { gpu.func @widths(%x: memref<?xi32>, %y: memref<?xi32>) kernel {
  %i = gpu.global_id x
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %v = vector.load %x[%c0] : memref<?xi32>, vector<4xi32>
  %w = vector.bitcast %v : vector<4xi32> to vector<2xi64>
  %one = arith.constant dense<1> : vector<2xi64>
  %n = arith.addi %w, %one : vector<2xi64>
  %h = vector.bitcast %n : vector<2xi64> to vector<8xi16>
  %r = vector.shuffle %h, %h [7, 6, 5, 4, 3, 2, 1, 0] : vector<8xi16>, vector<8xi16>
  %b = vector.bitcast %r : vector<8xi16> to vector<4xi32>
  vector.store %b, %y[%c0] : memref<?xi32>, vector<4xi32>
  %d = vector.bitcast %n : vector<2xi64> to vector<2xf64>
  %e = vector.bitcast %d : vector<2xf64> to vector<4xi32>
  vector.store %e, %y[%c4] : memref<?xi32>, vector<4xi32>
  gpu.return
} }
"""


def test_the_same_bits_in_other_widths(device: lp.Device, queue: lp.Queue, built: Built):
    needed = (lp.Aspect.FP64, lp.Aspect.VK_INT64, lp.Aspect.VK_INT16)
    if not all(device.has(aspect) for aspect in needed):
        pytest.skip("needs fp64, vk_int64 and vk_int16")
    kernel = built(lp.SourceLanguage.MLIR, WIDTHS).ext_oneapi_get_kernel("widths")
    values = np.array([0xFFFFFFFF, 7, 0x12345678, 0x0BADCAFE], np.uint32).view(np.int32)
    y = lp.zeros(8, lp.i32, device=device)
    queue.parallel_for(lp.NdRange(1, 1), kernel, lp.asarray(values, device=device), y)
    more = values.view(np.int64) + 1
    np.testing.assert_array_equal(y.numpy()[:4], more.view(np.int16)[::-1].copy().view(np.int32))
    np.testing.assert_array_equal(y.numpy()[4:], more.view(np.int32))


REMAINDERS = """
gpu.module @m { gpu.func @remainders(%x: memref<?xTYPE>, %y: memref<?xTYPE>, %z: memref<?xTYPE>) kernel {
  %i = gpu.global_id x
  %c4 = arith.constant 4 : index
  %k = arith.muli %i, %c4 : index
  %v = vector.load %x[%k] : memref<?xTYPE>, vector<4xTYPE>
  %w = vector.load %y[%k] : memref<?xTYPE>, vector<4xTYPE>
  %r = arith.remf %v, %w : vector<4xTYPE>
  vector.store %r, %z[%k] : memref<?xTYPE>, vector<4xTYPE>
  gpu.return
} }
"""


@pytest.mark.parametrize(
    ("name", "aspect"), [("f32", None), ("f64", lp.Aspect.FP64), ("f16", lp.Aspect.FP16)]
)
def test_remainders_are_those_of_c(device: lp.Device, queue: lp.Queue, built: Built, name: str, aspect):
    if aspect is not None and not device.has(aspect):
        pytest.skip(f"the device has no {name}")
    rng = np.random.default_rng(4)
    dtype = np.dtype(f"float{name[1:]}")
    x = (rng.normal(size=400) * 10.0 ** rng.uniform(-3, 4 if name == "f16" else 30, 400)).astype(dtype)
    y = rng.normal(size=400).astype(dtype)
    x[:6], y[:6] = [np.inf, 1, -7, -0.0, 5, np.nan], [2, np.inf, 3.5, 1, 0, 1]
    kernel = built(lp.SourceLanguage.MLIR, REMAINDERS.replace("TYPE", name)).ext_oneapi_get_kernel(
        "remainders"
    )
    z = lp.zeros(400, getattr(lp, name), device=device)
    queue.parallel_for(
        lp.NdRange(100, 1), kernel, lp.asarray(x, device=device), lp.asarray(y, device=device), z
    )
    with np.errstate(all="ignore"):
        expected = np.fmod(x, y)
    np.testing.assert_array_equal(z.numpy(), expected)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(z.numpy()[zeros]), np.signbit(expected[zeros]))


POWERS = """
gpu.module @m { gpu.func @powers(%x: memref<?xf32>, %n: memref<?xi32>, %y: memref<?x?xf32>) kernel {
  %i = gpu.global_id x
  %v = memref.load %x[%i] : memref<?xf32>
  %e = memref.load %n[%i] : memref<?xi32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = arith.constant -3 : i32
  %p = math.fpowi %v, %e : f32, i32
  %q = math.fpowi %v, %k : f32, i32
  memref.store %p, %y[%c0, %i] : memref<?x?xf32>
  memref.store %q, %y[%c1, %i] : memref<?x?xf32>
  gpu.return
} }
"""


def multiplied(base: np.float32, exponent: int) -> np.float32:
    """The power by squaring, rounded after each product."""
    result, size = np.float32(1), abs(exponent)
    while size:
        if size & 1:
            result *= base
        size >>= 1
        base *= base
    return np.float32(1) / result if exponent < 0 else result


def test_integer_powers_of_floats_are_products(device: lp.Device, queue: lp.Queue, built: Built):
    """Of negative numbers too, of which GLSL's pow is undefined."""
    rng = np.random.default_rng(6)
    x = rng.uniform(-2, 2, 64).astype(np.float32)
    n = rng.integers(-20, 21, 64).astype(np.int32)
    x[:8], n[:8] = (
        [0, -0.0, np.inf, -np.inf, 1, -1, -1, 2],
        [0, -3, -1, 3, -(2**31), 2**31 - 1, -(2**31), -126],
    )
    kernel = built(lp.SourceLanguage.MLIR, POWERS).ext_oneapi_get_kernel("powers")
    y = lp.zeros((2, 64), device=device)
    arrays = lp.asarray(x, device=device), lp.asarray(n, device=device)
    queue.parallel_for(lp.NdRange(64, 64), kernel, *arrays, y)
    with np.errstate(all="ignore"):
        for found, exponents in zip(y.numpy(), (n.tolist(), [-3] * 64), strict=True):
            expected = [multiplied(base, exponent) for base, exponent in zip(x, exponents, strict=True)]
            np.testing.assert_array_max_ulp(found, np.array(expected), maxulp=1)  # of the quotient, on GPUs
