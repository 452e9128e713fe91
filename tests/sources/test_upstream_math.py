"""Functions of `math` in kernels written for MLIR give what C's library gives, or the device's instruction."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.compile import load_compiler
from lapilli.frontend.source_images import prepare
from lapilli.ir.interpret.arguments import HostArray
from lapilli.ir.interpret.launch import LaunchShape, interpret_module
from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.ir.verify import verify_module

Built = Callable[..., lp.KernelBundle]
Function = Callable[..., np.ndarray]

ONE: dict[str, Function] = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "cbrt": np.cbrt, "cos": np.cos, "cosh": np.cosh, "erf": np.vectorize(math.erf),
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log10": np.log10, "log1p": np.log1p,
    "log2": np.log2, "rsqrt": lambda v: 1 / np.sqrt(v), "sin": np.sin, "sinh": np.sinh, "tan": np.tan,
    "tanh": np.tanh,
}  # fmt: skip
TWO: dict[str, Function] = {"atan2": np.arctan2, "powf": np.power}
ROWS = {**ONE, **TWO, "a square": lambda v: v * v}
EDGES = (0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, math.inf, -math.inf, math.nan, 1e-30, -1e-30, 1e30, -1e30,
         1e-7, -1e-7, 20, -20, 100, 700)  # fmt: skip
MOST_ULP = 4  # docs/math.md: of tan; the others less


def kernel_text(type_: str, width: int, flags: str = "") -> str:
    """A kernel `k` of each function, of numbers or of vectors."""
    kind = type_ if width == 1 else f"vector<{width}x{type_}>"
    array = f"memref<?x?x{type_}>"
    square = "2.0" if width == 1 else "dense<2.0>"
    lines = [
        "%i = gpu.global_id x",
        f"%w = arith.constant {width} : index",
        "%at = arith.muli %i, %w : index",
    ]
    lines += [f"%two = arith.constant {square} : {kind}"]
    load, store = ("memref.load", "memref.store") if width == 1 else ("vector.load", "vector.store")
    end = "" if width == 1 else f", {kind}"
    lines += [f"%{name} = {load} %{name}s[%at] : memref<?x{type_}>{end}" for name in "xy"]
    made = [f"math.{name} %x {flags} : {kind}" for name in ONE]
    made += [f"math.{name} %x, %y {flags} : {kind}" for name in TWO]
    made += [f"math.powf %x, %two {flags} : {kind}"]
    for row, text in enumerate(made):
        lines += [f"%r{row} = {text}", f"%k{row} = arith.constant {row} : index"]
        lines += [f"{store} %r{row}, %out[%k{row}, %at] : {array}{end}"]
    body = "\n".join(lines)
    parameters = f"%xs: memref<?x{type_}>, %ys: memref<?x{type_}>, %out: {array}"
    return f"gpu.module @m {{ gpu.func @k({parameters}) kernel {{\n{body}\ngpu.return\n}} }}"


def _operands(kind: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of edges, and numbers of every size."""
    random = np.random.default_rng(5)
    sizes = np.exp(random.uniform(-60, 60, (2, 400))) * random.choice([-1, 1], (2, 400))
    near = random.uniform(-4, 4, (2, 400))
    pairs = np.array([(a, b) for a in EDGES for b in EDGES]).T
    with np.errstate(all="ignore"):
        x, y = np.concatenate([pairs, sizes, near], axis=1).astype(kind)
        is_normal = [(v == 0) | ~(np.abs(v) < np.finfo(np.float32).tiny * 4) for v in (x, y)]
    kept = is_normal[0] & is_normal[1]
    count = kept.sum() // 4 * 4
    return x[kept][:count], y[kept][:count]


def _check(found: np.ndarray, x: np.ndarray, y: np.ndarray, bits: int) -> None:
    """Compares rows with NumPy's in f64, whose results are rounded to the type; `bits`: of its fraction."""
    smallest = 2.0**-14 if found.dtype == np.float16 else 2.0**-1022 if bits == 52 else 2.0**-126
    for (name, function), row in zip(ROWS.items(), found.astype(np.float64), strict=True):
        operands = (x, y) if name in TWO else (x,)
        with np.errstate(all="ignore"):
            exact = function(*[v.astype(np.float64) for v in operands])
            expected = exact.astype(found.dtype).astype(np.float64)
            error = np.abs(row - exact) / np.maximum(np.abs(exact), smallest)
            is_same = (np.isnan(row) & np.isnan(expected)) | (row == expected)
            is_close = is_same | (error <= MOST_ULP * 2.0**-bits) | (np.abs(exact) < smallest)
        signs = (np.signbit(row) == np.signbit(expected)) | np.isnan(expected)
        is_wrong = ~(is_close & signs)
        report = [v[is_wrong][:5] for v in (x, y, row, expected)]
        assert not is_wrong.any(), (name, *report)


def _dtype(device: lp.Device, type_: str) -> np.dtype:
    needed = {
        "f16": (lp.Aspect.FP16, lp.Aspect.VK_STORAGE_16BIT),
        "bf16": (lp.Aspect.VK_INT16, lp.Aspect.VK_STORAGE_16BIT),
        "f64": (lp.Aspect.FP64, lp.Aspect.VK_INT64),
    }.get(type_, ())
    if not all(device.has(aspect) for aspect in needed):
        pytest.skip(f"the device lacks {type_}")
    if type_ == "bf16":
        pytest.importorskip("ml_dtypes")
    return np.dtype(getattr(lp, type_).dtype)


BITS = {"f32": 23, "f64": 52, "f16": 10, "bf16": 7}


@pytest.mark.device
@pytest.mark.native_only("MLIR is not interpreted")
@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("type_", BITS)
def test_functions_are_those_of_c(device: lp.Device, queue: lp.Queue, built: Built, type_: str, width: int):
    x, y = _operands(_dtype(device, type_))
    kernel = built(lp.SourceLanguage.MLIR, kernel_text(type_, width)).ext_oneapi_get_kernel("k")
    out = lp.zeros((len(ROWS), x.size), getattr(lp, type_), device=device)
    arrays = lp.asarray(x, device=device), lp.asarray(y, device=device)
    queue.parallel_for(lp.NdRange(x.size // width, 1), kernel, *arrays, out)
    _check(out.numpy(), x, y, BITS[type_])


@pytest.mark.parametrize("type_", ["f32", "f64", "f16"])
def test_the_interpreter_gives_the_same(type_: str):
    load_compiler()
    text = kernel_text(type_, 1).replace(" kernel {", " attributes {gpu.kernel} {")
    parsed = parse_module(text, "<M>")
    prepare(parsed, TargetEnv())
    verify_module(parsed.module)
    x, y = _operands(np.dtype(type_.replace("f", "float")))
    out = np.zeros((len(ROWS), x.size), x.dtype)
    given = [HostArray(array.reshape(-1).view(np.uint8), array.shape) for array in (x, y, out)]
    interpret_module(parsed.module, "k", LaunchShape(range_=x.shape, local=(4,)), given)
    _check(out, x, y, BITS[type_])


@pytest.mark.device
@pytest.mark.parametrize("flags", ["fastmath<afn>", "fastmath<fast>"])
def test_approximate_functions_are_instructions(built: Built, flags: str):
    text = _assembly(built, kernel_text("f32", 1, flags))
    assert set(re.findall(r"OpExtInst %float %\w+ (\w+)", text)) >= {"Log", "Sin", "Atan2", "Pow", "Tanh"}
    assert "OpFunctionCall" not in text


@pytest.mark.device
def test_other_flags_are_no_licence(built: Built):
    text = _assembly(built, kernel_text("f32", 1, "fastmath<contract,nnan>"))
    assert not {"Log", "Sin", "Atan2", "Pow", "Tanh"} & set(re.findall(r"OpExtInst %float %\w+ (\w+)", text))


def test_symbols_of_the_text_are_its_own():
    """A function of the library gets another name, and is in the module of its callers, for the verifier."""
    load_compiler()
    functions = "\n".join(
        f"gpu.module @m{n} {{\n  func.func @log_f32(%v: f32) -> f32 {{ func.return %v : f32 }}\n"
        f"  gpu.func @k{n}(%x: memref<?xf32>) kernel {{\n    %i = gpu.global_id x\n"
        "    %v = memref.load %x[%i] : memref<?xf32>\n    %w = math.log %v : f32\n    %r = math.log %w : f32\n"
        "    memref.store %r, %x[%i] : memref<?xf32>\n    gpu.return\n  }\n}"
        for n in range(2)
    )
    parsed = parse_module(functions, "<M>")
    prepare(parsed, TargetEnv())
    verify_module(parsed.module)
    text = str(parsed.module)
    assert text.count("func.call @log_f32_1(") == text.count("func.call @log_f32_2(") == 2
    assert "math.log" not in text


@pytest.mark.device
def test_what_python_kernels_leave_to_the_device_stays_so_in_their_text(built: Built):
    kernel = lp.kernel_from_source(
        '@lp.kernel(math_accuracy={"sin": "low", "atan2": "low", "pow": "low"})\n'
        "def k(x: lp.Array[lp.f32]):\n    i = lp.global_id(0)\n"
        "    x[i] = lp.math.atan2(lp.math.sin(x[i]), x[i]) ** x[i]\n"
    )
    text = _assembly(built, kernel.inspect("ir"))
    assert {"Sin", "Atan2", "Pow"} <= set(re.findall(r"OpExtInst %float %\w+ (\w+)", text))


def _assembly(built: Built, text: str) -> str:
    (image,) = built(lp.SourceLanguage.MLIR, text)
    return image.disassemble()
