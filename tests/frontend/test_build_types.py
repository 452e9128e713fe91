"""The typing rules of expressions (API section 2), and the arithmetic that must never be undefined on a device."""

from __future__ import annotations

import linecache
import re

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.builder import build_module
from lapilli.frontend.ir_types import INDEX_TYPE, WEAK_FLOAT, WEAK_INT
from lapilli.frontend.promotion import MixedSignsError, fits, join, promote
from lapilli.frontend.types import (
    SCALAR_TYPES,
    bf16,
    bool_,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)

INTEGERS = (i8, i16, i32, i64, u8, u16, u32, u64)


def compiled(name, text):
    """Makes a kernel of source text, so that one test body can try many types."""
    file = f"<test {name} {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace = {"lp": lp}
    exec(compile(text, file, "exec", dont_inherit=True), namespace)
    return namespace["k"]


def result_type(left, right, operator):
    """Compiles ``a operator b`` and returns the element type of an array that takes it without conversion."""
    kernel = compiled(
        "types",
        f"@lp.kernel\ndef k(a: lp.{left}, b: lp.{right}, y: lp.Out[lp.f64]):\n    r = a {operator} b\n"
        "    y[0] = lp.f64(r)\n",
    )
    module = build_module([kernel])
    module.verify()
    return module


PROMOTIONS = [
    (i32, i32, i32),
    (i8, i32, i32),
    (i16, i64, i64),
    (u8, u32, u32),
    (i32, u16, i32),
    (u8, i16, i16),
    (i64, u32, i64),
    (i32, f32, f32),
    (u64, f16, f16),
    (i64, f32, f32),
    (f16, f32, f32),
    (f32, f64, f64),
    (f16, bf16, f32),
    (bool_, bool_, i32),
    (bool_, i8, i32),
    (bool_, u8, i32),
    (bool_, u32, u32),
    (bool_, u64, u64),
    (bool_, f32, f32),
    (WEAK_INT, u8, u8),
    (WEAK_INT, f16, f16),
    (WEAK_FLOAT, f64, f64),
    (WEAK_FLOAT, i64, f32),
    (WEAK_INT, WEAK_FLOAT, WEAK_FLOAT),
    (INDEX_TYPE, INDEX_TYPE, INDEX_TYPE),
    (INDEX_TYPE, WEAK_INT, INDEX_TYPE),
    (INDEX_TYPE, i32, i32),
    (INDEX_TYPE, u8, i32),
    (INDEX_TYPE, u32, u32),
    (INDEX_TYPE, i64, i64),
    (INDEX_TYPE, u64, u64),
    (INDEX_TYPE, f32, f32),
]


@pytest.mark.parametrize(("left", "right", "expected"), PROMOTIONS, ids=lambda t: t.name)
def test_two_types_meet_in(left, right, expected):
    assert expected is promote(left, right)
    assert expected is promote(right, left)


@pytest.mark.parametrize(
    ("left", "right"), [(i32, u32), (i8, u8), (i32, u64), (i16, u32)], ids=lambda t: t.name
)
def test_signed_with_unsigned_not_narrower_is_refused(left, right):
    with pytest.raises(MixedSignsError):
        promote(left, right)
    with pytest.raises(MixedSignsError):
        promote(right, left)
    assert join(left, right) is None


def test_bool_joins_with_no_number():
    assert join(bool_, i32) is None
    assert join(bool_, WEAK_INT) is None
    assert join(bool_, bool_) is bool_


@pytest.mark.parametrize(
    ("value", "scalar", "expected"),
    [
        (255, u8, True),
        (256, u8, False),
        (-1, u32, False),
        (-128, i8, True),
        (2**63, u64, True),
        (2**63, i64, False),
        (0.5, i32, False),
        (65504, f16, True),
        (65520, f16, False),
        (65519.0, f16, True),
        (65520.0, f16, False),
        (3.4028235677973362e38, f32, True),
        (1e39, f32, False),
        (float("inf"), f16, True),
        (True, bool_, True),
        (1, bool_, False),
    ],
)
def test_literal_fits(value, scalar, expected):
    assert expected is fits(value, scalar)


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "//", "%", "<", "=="])
@pytest.mark.parametrize("scalar", list(SCALAR_TYPES.values()), ids=lambda t: t.name)
def test_every_operator_compiles_for_every_type(scalar, operator):
    module = result_type(scalar.name, scalar.name, operator)

    assert "builtin.module" in str(module)


def _run(run_kernel, name, text, arrays, n):
    module = build_module([compiled(name, text)])
    module.verify()
    run_kernel(module, "k", arrays, (n,))


def _edge_pairs(scalar):
    values = sorted({scalar.minimum, scalar.minimum + 1, -7, -3, -2, -1, 0, 1, 2, 3, 7, scalar.maximum})
    values = [v for v in values if scalar.minimum <= v <= scalar.maximum]
    pairs = [(a, b) for a in values for b in values]
    return np.array([p[0] for p in pairs], scalar.dtype), np.array([p[1] for p in pairs], scalar.dtype), pairs


@pytest.mark.parametrize("scalar", INTEGERS, ids=lambda t: t.name)
def test_integer_division_floors_and_gives_zero_by_zero(scalar, run_kernel):
    a, b, pairs = _edge_pairs(scalar)
    quotient, remainder = np.zeros_like(a), np.zeros_like(a)
    name = f"lp.{scalar.name}"
    _run(
        run_kernel,
        "division",
        f"@lp.kernel\ndef k(a: lp.In[{name}], b: lp.In[{name}], q: lp.Out[{name}], r: lp.Out[{name}]):\n"
        "    i = lp.global_id(0)\n    q[i] = a[i] // b[i]\n    r[i] = a[i] % b[i]\n",
        [a, b, quotient, remainder],
        len(a),
    )
    wrap = scalar.__call__
    assert [int(wrap(x // y if y else 0)) for x, y in pairs] == quotient.tolist()
    assert [x % y if y else 0 for x, y in pairs] == remainder.tolist()


@pytest.mark.parametrize("divisor", [-2147483648, -8, -7, -1, 0, 1, 2, 3, 8, 2147483647])
def test_division_by_literal(divisor, run_kernel):
    a = np.array([-2147483648, -2147483647, -9, -8, -7, -1, 0, 1, 6, 7, 8, 2147483647], np.int32)
    quotient, remainder = np.zeros_like(a), np.zeros_like(a)
    _run(
        run_kernel,
        "literal",
        "@lp.kernel\ndef k(a: lp.In[lp.i32], q: lp.Out[lp.i32], r: lp.Out[lp.i32]):\n"
        f"    i = lp.global_id(0)\n    q[i] = a[i] // ({divisor})\n    r[i] = a[i] % ({divisor})\n",
        [a, quotient, remainder],
        len(a),
    )
    expected = [int(lp.i32(int(x) // divisor if divisor else 0)) for x in a]
    assert expected == quotient.tolist()
    assert [int(x) % divisor if divisor else 0 for x in a] == remainder.tolist()


@pytest.mark.parametrize("target", INTEGERS, ids=lambda t: t.name)
@pytest.mark.parametrize("source", [f16, f32, f64], ids=lambda t: t.name)
def test_float_to_integer_truncates_and_saturates(source, target, run_kernel):
    values = [0.0, -0.0, 0.9, -0.9, 1.5, -1.5, 127.9, 128.0, -128.9, 255.5, 256.0, 60000.0, -60000.0]
    values += [float("inf"), float("-inf"), float("nan")]
    if source is not f16:
        values += [2147483520.0, 2147483648.0, -2147483648.0, 4294967040.0, 4294967296.0, 1e30, -1e30]
    x = np.array(values, source.dtype)
    y = np.zeros(len(x), target.dtype)
    text = (
        f"@lp.kernel\ndef k(x: lp.In[lp.{source.name}], y: lp.Out[lp.{target.name}]):\n"
        f"    i = lp.global_id(0)\n    y[i] = lp.{target.name}(x[i])\n"
    )
    _run(run_kernel, "saturate", text, [x, y], len(x))
    assert [int(target(v)) for v in x] == y.tolist()


@pytest.mark.parametrize("target", INTEGERS, ids=lambda t: t.name)
def test_integer_to_integer_keeps_low_bits(target, run_kernel):
    x = np.array([-1, 0, 1, 127, 128, 255, 256, 65535, 65536, 2147483647, -2147483648], np.int32)
    y = np.zeros(len(x), target.dtype)
    text = (
        f"@lp.kernel\ndef k(x: lp.In[lp.i32], y: lp.Out[lp.{target.name}]):\n"
        "    i = lp.global_id(0)\n    y[i] = x[i]\n"
    )
    _run(run_kernel, "narrow", text, [x, y], len(x))
    assert x.astype(target.dtype).tolist() == y.tolist()


def test_shift_counts_are_modulo_the_width(run_kernel):
    x = np.array([-5, 1, 7, -1], np.int32)
    n = np.array([33, -1, 0, 64], np.int32)
    left, right, unsigned = np.zeros_like(x), np.zeros_like(x), np.zeros(4, np.uint32)
    text = (
        "@lp.kernel\ndef k(x: lp.In[lp.i32], n: lp.In[lp.i32], a: lp.Out[lp.i32], b: lp.Out[lp.i32],"
        " c: lp.Out[lp.u32]):\n    i = lp.global_id(0)\n    a[i] = x[i] << n[i]\n    b[i] = x[i] >> n[i]\n"
        "    c[i] = lp.u32(x[i]) >> 33\n"
    )
    _run(run_kernel, "shift", text, [x, n, left, right, unsigned], 4)
    counts = [int(v) % 32 for v in n]
    assert [int(lp.i32(int(v) << c)) for v, c in zip(x, counts, strict=True)] == left.tolist()
    assert [int(v) >> c for v, c in zip(x, counts, strict=True)] == right.tolist()
    assert (x.view(np.uint32) >> 1).tolist() == unsigned.tolist()


def test_float_expressions(run_kernel):
    x = np.array([-2.5, -0.5, 0.0, 1.5, 2.5, 7.25], np.float32)
    y = np.zeros((8, 6), np.float32)
    text = (
        "@lp.kernel\ndef k(x: lp.In[lp.f32], y: lp.Out[lp.f32, 2]):\n    i = lp.global_id(0)\n    v = x[i]\n"
        "    y[0, i] = v // 2\n    y[1, i] = v % 2\n    y[2, i] = v ** 3\n    y[3, i] = v ** -2\n"
        "    y[4, i] = round(v)\n    y[5, i] = min(v, 1) + max(v, 0.25)\n    y[6, i] = i / 4\n"
        "    y[7, i] = lp.math.clamp(v, -1, 2) + lp.math.sign(v) + abs(v)\n"
    )
    _run(run_kernel, "floats", text, [x, y], 6)
    with np.errstate(all="ignore"):
        expected = [x // 2, x % 2, x**3, 1 / (x * x), np.rint(x), np.fmin(x, 1) + np.fmax(x, 0.25)]
    expected += [np.arange(6) / 4, np.clip(x, -1, 2) + np.sign(x) + np.abs(x)]
    assert np.array(expected, np.float32).tolist() == y.tolist()


def test_truth_of_nan_is_true_as_in_python(run_kernel):
    x = np.array([0.0, -0.0, np.nan, 2.0], np.float32)
    y = np.zeros(4, np.bool_)
    text = "@lp.kernel\ndef k(x: lp.In[lp.f32], y: lp.Out[lp.bool_]):\n    i = lp.global_id(0)\n    y[i] = bool(x[i])\n"
    _run(run_kernel, "truth", text, [x, y], 4)
    assert [bool(v) for v in x] == y.tolist()


@pytest.mark.parametrize(
    ("body", "dtype", "line"),
    [
        ("acc = 0.0\n    acc += x[0]", "f64", "arith.addf %{v}, %{v} : f64"),
        ("acc = 0\n    acc = acc + x[0]", "f32", "arith.addf %{v}, %{v} : f32"),
        ("acc: lp.f32 = 0.0\n    acc += x[0]", "f64", "arith.truncf %{v} : f64 to f32"),
        ("acc = 1\n    acc += x[0]", "u8", "arith.addi %{v}, %{v} : i8"),
        ("acc = 3 / 2", "f32", "arith.constant 1.500000e+00 : f64"),
        ("acc = x[0] / 2", "u32", "arith.divf %{v}, %{v} : f32"),
        ("acc = lp.math.sqrt(x[0])", "i64", "math.sqrt %{v} : f32"),
    ],
)
def test_type_of_variable(body, dtype, line):
    kernel = compiled(
        "variable",
        f"@lp.kernel\ndef k(x: lp.In[lp.{dtype}], y: lp.Out[lp.f64]):\n    {body}\n    y[0] = acc\n",
    )
    pattern = re.escape(line).replace(re.escape("%{v}"), r"%\w+")
    text = str(build_module([kernel]))

    assert re.search(pattern, text), text


def test_run_time_index_of_fixed_array_is_clamped(run_kernel):
    table = lp.SpecializationId(lp.FixedArray[lp.i32, 4], [10, 11, 12, 13])

    @lp.kernel
    def k(x: lp.In[lp.i32], y: lp.Out[lp.i32]):
        i = lp.global_id(0)
        y[i] = table[x[i]]

    @lp.kernel
    def proven(y: lp.Out[lp.i32]):
        s = 0
        for j in range(-1, 3):
            s += table[j + 1] * (j + 2)
        y[lp.global_id(0)] = s + table[-1]

    x = np.array([-2147483648, -1, 0, 3, 4, 2147483647], np.int32)
    y = np.zeros_like(x)
    run_kernel(build_module([k]), "k", [x, y], (6,))
    assert y.tolist() == [13, 13, 10, 13, 13, 13]

    module = build_module([proven])
    assert "minui" not in str(module)
    run_kernel(module, "proven", [y], (1,))
    assert y[0] == 10 + 22 + 36 + 52 + 13


def test_ids_and_ranges(run_kernel):
    @lp.kernel
    def k(y: lp.Out[lp.i32, 3]):
        i, j = lp.global_id(0), lp.global_id(1)
        y[0, i, j] = lp.global_linear_id()
        y[1, i, j] = lp.local_id(1) * 100 + lp.group_id(1)
        y[2, i, j] = lp.group_range(0) * 100 + lp.global_range(1) + lp.local_linear_id() * 1000

    y = np.full((3, 3, 5), -1, np.int32)
    module = build_module([k])
    module.verify()
    run_kernel(module, "k", [y], (3, 5), local=(2, 4))
    rows, columns = np.mgrid[0:3, 0:5]
    assert (rows * 5 + columns).tolist() == y[0].tolist()
    assert (columns % 4 * 100 + columns // 4).tolist() == y[1].tolist()
    assert (205 + (rows % 2 * 4 + columns % 4) * 1000).tolist() == y[2].tolist()


def test_ids_take_the_type_beside_them():
    @lp.kernel
    def k(n: lp.u32, m: lp.i64, y: lp.Out[lp.i64]):
        i = lp.global_id(0)
        if i < n:
            y[i] = i * m

    text = str(build_module([k]))
    assert "arith.cmpi ult" in text
    assert "arith.extsi" in text


ROTATES = """
def rotate(x, n):
    return (x << n) | (x >> (32 - n))

def both(a, b):
    if a == b:
        return a, b
    return b, rotate(a, 3)

@lp.kernel
def k(w: lp.In[lp.u32], y: lp.Out[lp.u32]):
    a, b = 0x6A09E667, 0xBB67AE85
    for i in range(4):
        total = rotate(a, 7) + w[i]
        a, b = both(b, total)
    y[0] = a ^ b
"""


def rotate(x, n):
    return (x << n | x >> (32 - n)) & 0xFFFFFFFF


def test_literals_take_the_type_that_comes_back_through_helpers_of_themselves(run_kernel):
    """`a` is known to be a u32 only by `total`, which needs the type of ``rotate(a, 7)``."""
    w, y = np.array([3, 2**31, 5, 7], np.uint32), np.zeros(1, np.uint32)
    _run(run_kernel, "rotates", ROTATES, [w, y], 1)
    a, b = 0x6A09E667, 0xBB67AE85
    for number in w.tolist():
        total = (rotate(a, 7) + number) & 0xFFFFFFFF
        a, b = (b, total) if a == b else (total, rotate(b, 3))
    assert y[0] == a ^ b


def test_numbers_in_texts_are_literals(run_kernel):
    y = np.zeros(4, np.float32)
    text = (
        "@lp.kernel\ndef k(y: lp.Out[lp.f32]):\n    y[0] = float('inf')\n    y[1] = -float('inf')\n"
        "    y[2] = float('1.5')\n    y[3] = ord('a')\n"
    )
    _run(run_kernel, "texts", text, [y], 1)
    assert y.tolist() == [np.inf, -np.inf, 1.5, ord("a")]


def test_membership_in_tuples(run_kernel):
    x, y = np.arange(6, dtype=np.int32), np.zeros((3, 6), np.int32)
    text = (
        "@lp.kernel\ndef k(x: lp.In[lp.i32], y: lp.Out[lp.i32, 2]):\n    i = lp.global_id(0)\n"
        "    y[0, i] = x[i] in (1, 3, i * i)\n    y[1, i] = x[i] not in (0, 2.0)\n"
        "    y[2, i] = 1 if 3 in (1, 3) else x[i]\n"
    )
    _run(run_kernel, "among", text, [x, y], 6)
    assert y[0].tolist() == [v in (1, 3, v * v) for v in range(6)]
    assert y[1].tolist() == [v not in (0, 2) for v in range(6)]
    assert y[2].tolist() == [1] * 6


def test_literals_of_unrolled_loops_that_are_no_i32(run_kernel):
    x, y = np.array([0x12345678], np.uint32), np.zeros(2, np.uint32)
    text = (
        "@lp.kernel\ndef k(x: lp.In[lp.u32], y: lp.Out[lp.u32]):\n    v = x[0]\n"
        "    for count, mask in ((16, 0xFF0000FF), (4, 0x0F00F00F)):\n        v = (v | v << count) & mask\n"
        "    y[0] = v\n    for mask in (0xF0F0F0F0, 15):\n        if v & mask:\n            break\n    y[1] = mask\n"
    )
    _run(run_kernel, "masks", text, [x, y], 1)
    v = 0x12345678
    for count, mask in ((16, 0xFF0000FF), (4, 0x0F00F00F)):
        v = (v | v << count) & mask
    assert y.tolist() == [v, 0xF0F0F0F0 if v & 0xF0F0F0F0 else 15]


def test_operators_of_fixed_arrays(run_kernel):
    m, y = np.array([[1, 2], [3, 4]], np.int32), np.zeros((4, 2, 2), np.float32)
    text = (
        "@lp.kernel\ndef k(m: lp.In[lp.i32, 2], y: lp.Out[lp.f32, 3]):\n    i, j = divmod(lp.global_id(0), 2)\n"
        "    f = lp.FixedArray[lp.i32, 2, 2](m[0, 0], m[0, 1], m[1, 0], m[1, 1])\n    g = -(f * f) - 3\n    g <<= 1\n"
        "    y[0, i, j] = g[i, j]\n    y[1, i, j] = (g / 4)[i, j]\n    y[2, i, j] = (f[1] - 2 * f[0])[j]\n"
        "    y[3, i, j] = (~f & 5)[i][j]\n"
    )
    _run(run_kernel, "fixed", text, [m, y], 4)
    g = (-(m * m) - 3) << 1
    assert np.array([g, g / 4, [m[1] - 2 * m[0]] * 2, ~m & 5]).tolist() == y.tolist()


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("f + lp.FixedArray[lp.f32, 2]()", r"take one shape, found \(3,\) and \(2,\)"),
        ("f + lp.f32x3(1.0)", r"operator \+ takes numbers and vectors, found lp.FixedArray\[lp.f32, 3\]"),
        ("f & f", "takes integers"),
    ],
)
def test_wrong_operands_of_fixed_arrays(expression, said):
    text = f"@lp.kernel\ndef k(y: lp.Out[lp.f32]):\n    f = lp.FixedArray[lp.f32, 3](1.0)\n    g = {expression}\n"
    with pytest.raises(lp.CompileError, match=said):
        build_module([compiled("wrong", text)])


def test_annotations_of_variables_may_be_texts():
    text = "@lp.kernel\ndef k(y: lp.Out[lp.f64], n: lp.u8):\n    a: {} = n\n    y[0] = lp.f64(a + a)\n"
    plain, quoted = (str(build_module([compiled("quoted", text.format(t))])) for t in ("lp.u8", "'lp.u8'"))
    assert plain == quoted and plain != str(build_module([compiled("quoted", text.format("lp.f32"))]))
