"""Every operator and every conversion of every scalar type, against Python's integers and NumPy's floats."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lapilli as lp
from tests.host_bf16 import require_host_numbers
from tests.property.scalars import Int

pytestmark = pytest.mark.device

ASPECTS = {
    "i8": ("VK_INT8", "VK_STORAGE_8BIT"), "u8": ("VK_INT8", "VK_STORAGE_8BIT"),
    "i16": ("VK_INT16", "VK_STORAGE_16BIT"), "u16": ("VK_INT16", "VK_STORAGE_16BIT"),
    "i32": (), "u32": (), "i64": ("VK_INT64",), "u64": ("VK_INT64",), "f32": (), "f64": ("FP64",),
    "f16": ("FP16",), "bf16": ("VK_INT16", "VK_STORAGE_16BIT"), "bool_": ("VK_INT8", "VK_STORAGE_8BIT"),
}  # fmt: skip
INTEGERS = tuple(name for name in ASPECTS if name[0] in "iu")
FLOATS = ("f16", "bf16", "f32", "f64")


def supports(device, dtype: str) -> bool:
    return all(device.has(lp.Aspect[name]) for name in ASPECTS[dtype])


def require(device, dtype: str) -> None:
    if not supports(device, dtype):
        pytest.skip(f"the device lacks {' or '.join(ASPECTS[dtype]).lower()}")


def edges(dtype: str) -> list[int]:
    """Returns integers where the type's arithmetic is special."""
    kind = getattr(lp, dtype)
    middle = kind.maximum // 3
    found = {0, 1, 2, 3, 7, kind.maximum, kind.maximum - 1, kind.minimum, kind.minimum + 1, middle}
    return sorted(found | ({-1, -2, -5, -middle} if kind.is_signed else set()))


def run(device, dtype: str, calls: dict[str, str], columns, out_dtype: str | None = None):
    """Computes each of `calls`, an expression of a and b by name; returns the rows by name."""
    lines = "".join(f"    out[{row}, i] = {call}\n" for row, call in enumerate(calls.values()))
    kernel = lp.kernel_from_source(
        f"@lp.kernel(contract=False)\ndef compute(xs: lp.In[lp.{dtype}], ys: lp.In[lp.{dtype}], "
        f"out: lp.Out[lp.{out_dtype or dtype}, 2]):\n    i = lp.global_id(0)\n    a = xs[i]\n    b = ys[i]\n{lines}"
    )
    out = lp.zeros((len(calls), len(columns[0])), getattr(lp, out_dtype or dtype), device=device)
    kernel[len(columns[0])](*(lp.asarray(c, device=device) for c in columns), out)
    return dict(zip(calls, out.numpy(), strict=True))


def array(values, dtype: str):
    kind = getattr(lp, dtype).dtype
    return np.array(values, np.float64).astype(kind) if dtype in FLOATS else np.array(values, kind)


def pairs(values, dtype: str):
    grid = [(a, b) for a in values for b in values]
    return [array(column, dtype) for column in zip(*grid, strict=True)]


INTEGER_OPERATORS = {
    **{op: f"a {op} b" for op in ("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>")},
    "min": "min(a, b)", "max": "max(a, b)", "-a": "-a", "~a": "~a", "abs": "abs(a)",
    **{op: f"T(1) if a {op} b else T(0)" for op in ("<", "<=", "==", "!=", ">", ">=")},
}  # fmt: skip


@pytest.mark.parametrize("dtype", INTEGERS)
def test_operators_of_integers(device, dtype):
    require(device, dtype)
    kind = getattr(lp, dtype)
    columns = pairs(edges(dtype), dtype)
    found = run(
        device, dtype, {k: v.replace("T(", f"lp.{dtype}(") for k, v in INTEGER_OPERATORS.items()}, columns
    )

    def number(value: int) -> Int:
        return Int(0, kind.bits, kind.is_signed)._of(int(value))

    names = {"min": min, "max": max, "abs": abs, "T": number}
    for name, text in INTEGER_OPERATORS.items():
        expected = [
            eval(text, names, {"a": number(a), "b": number(b)}).value for a, b in zip(*columns, strict=True)
        ]
        assert found[name].tolist() == expected, name


def _bits(value: int, width: int) -> str:
    return format(value & ((1 << width) - 1), f"0{width}b")


@pytest.mark.parametrize("dtype", INTEGERS)
def test_functions_of_integers(device, dtype):
    require(device, dtype)
    kind = getattr(lp, dtype)
    width = kind.bits
    calls = {
        "popcount": "lp.popcount(a)", "clz": "lp.clz(a)", "ctz": "lp.ctz(a)", "reverse_bits": "lp.reverse_bits(a)",
        "mul_hi": "lp.math.mul_hi(a, b)", "sum": "lp.math.add_carry(a, b)[0]", "carry": "lp.math.add_carry(a, b)[1]",
        "gcd": "lp.math.gcd(a, b)", "isqrt": "lp.math.isqrt(a)",
    }  # fmt: skip
    columns = pairs(edges(dtype), dtype)
    found = run(device, dtype, calls, columns)

    def wrap(value: int) -> int:
        return Int(0, width, kind.is_signed)._of(value).value

    def zeros(text: str) -> int:
        return len(text) - len(text.lstrip("0"))

    mask = (1 << width) - 1
    expected = {
        "popcount": lambda a, b: _bits(a, width).count("1"),
        "clz": lambda a, b: zeros(_bits(a, width)),
        "ctz": lambda a, b: zeros(_bits(a, width)[::-1]),
        "reverse_bits": lambda a, b: wrap(int(_bits(a, width)[::-1], 2)),
        "mul_hi": lambda a, b: (a * b) >> width,
        "sum": lambda a, b: wrap(a + b),
        "carry": lambda a, b: ((a & mask) + (b & mask)) >> width,
        "gcd": lambda a, b: math.gcd(a, b),
        "isqrt": lambda a, b: math.isqrt(max(a, 0)),
    }
    for name, function in expected.items():
        for a, b, result in zip(*(c.tolist() for c in columns), found[name].tolist(), strict=True):
            if name == "gcd" and function(a, b) > kind.maximum:
                continue
            assert result == function(a, b), (name, a, b)


FLOAT_OPERATORS = {
    "+": "a + b", "-": "a - b", "*": "a * b", "min": "min(a, b)", "max": "max(a, b)", "abs": "abs(a)", "-a": "-a",
    "floor": "lp.math.floor(a)", "ceil": "lp.math.ceil(a)", "trunc": "lp.math.trunc(a)",
    **{op: f"T(1) if a {op} b else T(0)" for op in ("<", "<=", "==", "!=", ">", ">=")},
}  # fmt: skip
FLOAT_VALUES = (0.0, 1.0, -1.5, 0.1, 3.25, -7.0, 100.0, 0.015625, -2048.0, math.inf, -math.inf, math.nan)


@pytest.mark.behaviour("DT-03", "DT-06")
@pytest.mark.parametrize("dtype", FLOATS)
def test_operators_of_floats_are_rounded_to_nearest_even(device, dtype):
    require(device, dtype)
    require_host_numbers(dtype)
    kind = np.dtype(getattr(lp, dtype).dtype)
    columns = pairs(FLOAT_VALUES, dtype)
    calls = {name: text.replace("T(", f"lp.{dtype}(") for name, text in FLOAT_OPERATORS.items()}
    found = run(device, dtype, {**calls, "/": "a / b"}, columns)
    wide = np.float32 if dtype == "bf16" else kind
    a, b = (column.astype(wide) for column in columns)
    with np.errstate(all="ignore"):
        expected = {
            "+": a + b, "-": a - b, "*": a * b, "min": np.fmin(a, b), "max": np.fmax(a, b), "abs": np.abs(a),
            "-a": -a, "floor": np.floor(a), "ceil": np.ceil(a), "trunc": np.trunc(a), "<": a < b, "<=": a <= b,
            "==": a == b, "!=": a != b, ">": a > b, ">=": a >= b,
        }  # fmt: skip
        for name, values in expected.items():
            np.testing.assert_array_equal(
                found[name].astype(np.float64), values.astype(kind).astype(np.float64), name
            )
        quotient = (a / b).astype(np.float64)
        # Vulkan: 2.5 ULP.
        tolerance = 2.5 * {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52}[dtype]
        np.testing.assert_allclose(found["/"].astype(np.float64), quotient, rtol=tolerance)


def _values(dtype: str) -> list[float]:
    if dtype == "bool_":
        return [False, True]
    if dtype in INTEGERS:
        return edges(dtype)
    large = [65504.0, 70000.0, 3e9, 1e19, 1e30] if dtype != "f16" else [65504.0]
    return [
        0.0,
        0.5,
        1.0,
        -0.75,
        2.5,
        127.5,
        -128.9,
        255.5,
        32768.0,
        math.inf,
        math.nan,
        *large,
        *(-v for v in large),
    ]


@pytest.mark.behaviour("DT-02", "DT-06", "DT-07")
@pytest.mark.parametrize("source", ASPECTS)
def test_conversions_to_every_type_are_those_of_the_host(device, source):
    require(device, source)
    require_host_numbers("bf16")  # among the targets
    targets = [target for target in ASPECTS if supports(device, target)]
    outputs = ", ".join(f"to_{target}: lp.Out[lp.{target}]" for target in targets)
    body = "".join(f"    to_{target}[i] = lp.{target}(x[i])\n" for target in targets)
    kernel = lp.kernel_from_source(
        f"@lp.kernel\ndef convert(x: lp.In[lp.{source}], {outputs}):\n    i = lp.global_id(0)\n{body}"
    )
    values = array(_values(source), source)
    arrays = [lp.zeros(len(values), getattr(lp, target), device=device) for target in targets]
    kernel[len(values)](lp.asarray(values, device=device), *arrays)
    for target, found in zip(targets, arrays, strict=True):
        kind = getattr(lp, target)
        with np.errstate(all="ignore"):
            through = [
                np.float32(v) if target == "bf16" else v for v in values
            ]  # integers and f64: by way of f32
            expected = np.array([kind(v) for v in through], dtype=kind.dtype)
        assert found.numpy().dtype == kind.dtype and found.numpy().itemsize == kind.itemsize
        np.testing.assert_array_equal(found.numpy().astype(np.float64), expected.astype(np.float64), target)


@lp.struct
class Mixed:
    flag: lp.bool_
    small: lp.i8
    half: lp.f16
    brain: lp.bf16
    wide: lp.f64
    count: lp.u16


@lp.kernel
def mixed(rows: lp.Array[Mixed], twice: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    row = rows[i]
    twice[i, 0] = 2.0 if row.flag else 0.0
    twice[i, 1] = 2 * lp.f32(row.small)
    twice[i, 2] = 2 * lp.f32(row.half)
    twice[i, 3] = 2 * lp.f32(row.brain)
    twice[i, 4] = 2 * lp.f32(row.wide)
    twice[i, 5] = 2 * lp.f32(row.count)
    row.half = row.half * 0.5
    row.flag = not row.flag
    rows[i] = row


@pytest.mark.behaviour("DT-07")
def test_structs_of_narrow_and_wide_types_have_the_hosts_layout(device):
    for dtype in ("i8", "i16", "f16", "bf16", "f64"):
        require(device, dtype)
        require_host_numbers(dtype)
    host = np.zeros(3, Mixed.dtype)
    host["flag"], host["small"], host["half"] = [True, False, True], [-128, 5, 127], [0.5, -1024, 3.25]
    host["brain"], host["wide"], host["count"] = [1.5, -2, 256], [1e-3, 2.5, -7], [65535, 0, 9]
    rows, twice = lp.asarray(host, device=device), lp.zeros((3, 6), device=device)
    mixed[3](rows, twice)
    columns = [
        host[name].astype(np.float32) * 2 for name in ("flag", "small", "half", "brain", "wide", "count")
    ]
    np.testing.assert_array_equal(twice.numpy(), np.stack(columns, axis=1))
    np.testing.assert_array_equal(rows.numpy()["half"], host["half"] / 2)
    np.testing.assert_array_equal(rows.numpy()["flag"], ~host["flag"])
    np.testing.assert_array_equal(rows.numpy()["count"], host["count"])


@lp.kernel
def half_vectors(a: lp.In[lp.f16x4], b: lp.In[lp.f16x2], out: lp.Out[lp.f16x4], parts: lp.Out[lp.f16x3]):
    i = lp.global_id(0)
    v = a[i] * 2 + lp.f16x4(b[i], b[i].yx)
    out[i] = v
    parts[i] = lp.math.floor(v.xyz)


@pytest.mark.behaviour("DT-09")
def test_vectors_of_halves_are_loaded_computed_and_stored(device):
    require(device, "f16")
    a, b = np.arange(8).astype(np.float16).reshape(2, 4) / 4, np.float16([[1, 2], [3, 4]])
    out, parts = lp.zeros(2, lp.f16x4, device=device), lp.zeros(2, lp.f16x3, device=device)
    half_vectors[2](
        lp.asarray(a, dtype=lp.f16x4, device=device), lp.asarray(b, dtype=lp.f16x2, device=device), out, parts
    )
    expected = a * 2 + np.concatenate([b, b[:, ::-1]], axis=1)
    np.testing.assert_array_equal(out.numpy(), expected)
    np.testing.assert_array_equal(parts.numpy(), np.floor(expected[:, :3]))
