"""Every arithmetic operation, on values at the edges, against NumPy or numbers written down."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lapilli as lp

EDGES = [0, 1, -1, 2, -2, 7, -7, 127, -128, 100, -100]


def mlir(dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return "i1"
    return f"f{dtype.itemsize * 8}" if dtype.kind == "f" else f"i{dtype.itemsize * 8}"


def apply(run_ir, op, *columns, result=None, tail=""):
    """Returns what an operation makes of columns of operands, one work-item a row."""
    result = np.zeros(len(columns[0]), columns[0].dtype if result is None else result)
    arrays = [*columns, result]
    names = "abcdef"[: len(columns)]
    parameters = [f"%p{i}: memref<?x{mlir(a.dtype)}>" for i, a in enumerate(arrays)]
    body = [f"%{v} = memref.load %p{i}[%i] : memref<?x{mlir(columns[i].dtype)}>" for i, v in enumerate(names)]
    types = ", ".join(mlir(c.dtype) for c in columns)
    body.append(f'%r = "{op}"({", ".join("%" + v for v in names)}){tail} : ({types}) -> {mlir(result.dtype)}')
    body.append(f"memref.store %r, %p{len(columns)}[%i] : memref<?x{mlir(result.dtype)}>")
    run_ir("\n".join(body), *arrays, parameters=", ".join(parameters))
    return result


def pairs(values, dtype):
    a, b = np.meshgrid(np.array(values).astype(dtype), np.array(values).astype(dtype))
    return a.ravel(), b.ravel()


INTEGER = {
    "arith.addi": lambda a, b, w: a + b,
    "arith.subi": lambda a, b, w: a - b,
    "arith.muli": lambda a, b, w: a * b,
    "arith.andi": lambda a, b, w: a & b,
    "arith.ori": lambda a, b, w: a | b,
    "arith.xori": lambda a, b, w: a ^ b,
    "arith.minsi": lambda a, b, w: min(a, b),
    "arith.maxsi": lambda a, b, w: max(a, b),
    "arith.minui": lambda a, b, w: min(a % 2**w, b % 2**w),
    "arith.maxui": lambda a, b, w: max(a % 2**w, b % 2**w),
}
DIVISIONS = {
    "arith.divsi": lambda a, b, w: math.trunc(a / b),
    "arith.remsi": lambda a, b, w: a - math.trunc(a / b) * b,
    "arith.floordivsi": lambda a, b, w: a // b,
    "arith.ceildivsi": lambda a, b, w: -(-a // b),
    "arith.divui": lambda a, b, w: (a % 2**w) // (b % 2**w),
    "arith.remui": lambda a, b, w: (a % 2**w) % (b % 2**w),
    "arith.ceildivui": lambda a, b, w: -(-(a % 2**w) // (b % 2**w)),
}
SHIFTS = {
    "arith.shli": lambda a, b, w: a << b,
    "arith.shrsi": lambda a, b, w: a >> b,
    "arith.shrui": lambda a, b, w: (a % 2**w) >> b,
}


def expected(function, a, b):
    width = a.dtype.itemsize * 8
    values = [function(int(x), int(y), width) % 2**width for x, y in zip(a, b, strict=True)]
    return np.array(values, f"u{a.dtype.itemsize}").view(a.dtype)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("op", INTEGER)
def test_integers_wrap(run_ir, op, dtype):
    a, b = pairs([*EDGES, np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    np.testing.assert_array_equal(apply(run_ir, op, a, b), expected(INTEGER[op], a, b))


@pytest.mark.parametrize("op", INTEGER)
def test_bools_are_integers_of_one_bit(run_ir, op):
    a, b = pairs([0, 1], np.bool_)
    wanted = [INTEGER[op](-int(x), -int(y), 1) % 2 == 1 for x, y in zip(a, b, strict=True)]  # true is -1
    assert apply(run_ir, op, a, b).tolist() == wanted


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
@pytest.mark.parametrize("op", DIVISIONS)
def test_integers_divide(run_ir, op, dtype):
    a, b = pairs([*EDGES, np.iinfo(dtype).max], dtype)
    defined = (b != 0) & ~((b == -1) & (a == np.iinfo(dtype).min))
    a, b = a[defined], b[defined]
    np.testing.assert_array_equal(apply(run_ir, op, a, b), expected(DIVISIONS[op], a, b))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
@pytest.mark.parametrize("op", SHIFTS)
def test_integers_shift(run_ir, op, dtype):
    a, b = pairs(EDGES, dtype)
    defined = (b >= 0) & (b < a.dtype.itemsize * 8)
    a, b = a[defined], b[defined]
    np.testing.assert_array_equal(apply(run_ir, op, a, b), expected(SHIFTS[op], a, b))


@pytest.mark.parametrize(
    ("op", "a", "b", "what"),
    [
        ("arith.divsi", 7, 0, "7 divided by 0"),
        ("arith.divsi", -(2**31), -1, "-2147483648 divided by -1"),
        ("arith.remui", 7, 0, "7 divided by 0"),
        ("arith.shli", 1, 32, "32 bits shifted by 32"),
        ("arith.shrsi", 1, -1, "32 bits shifted by -1"),
    ],
)
def test_undefined_arithmetic_is_a_trap(run_ir, op, a, b, what):
    columns = [np.array([1, v, 1, 1], np.int32) for v in (a, b)]
    with pytest.raises(lp.KernelTrap) as caught:
        apply(run_ir, op, *columns)
    assert caught.value.code == "LP4115"
    assert f"work-item (1,) of work-group (0,): devices leave undefined what comes of {what}" in str(
        caught.value
    )


def test_comparisons_of_integers(run_ir):
    a, b = pairs(EDGES, np.int32)
    signed = [a == b, a != b, a < b, a <= b, a > b, a >= b]
    x, y = a.view(np.uint32), b.view(np.uint32)
    for predicate, result in enumerate([*signed, x < y, x <= y, x > y, x >= y]):
        found = compare(run_ir, "arith.cmpi", predicate, a, b)
        np.testing.assert_array_equal(found, result, str(predicate))


def test_comparisons_of_floats(run_ir):
    a, b = pairs([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan], np.float32)
    nan = np.isnan(a) | np.isnan(b)
    ordered = [a == b, a > b, a >= b, a < b, a <= b, (a != b) & ~nan, ~nan]
    results = [np.zeros_like(nan), *ordered, *(r | nan for r in ordered), np.ones_like(nan)]
    for predicate, result in enumerate(results):
        if predicate == 14:
            result = nan
        found = compare(run_ir, "arith.cmpf", predicate, a, b)
        np.testing.assert_array_equal(found, result, str(predicate))


def compare(run_ir, op, predicate, a, b):
    kind = mlir(a.dtype)
    result = np.zeros(len(a), np.int32)
    run_ir(
        f"""%a = memref.load %p[%i] : memref<?x{kind}>
%b = memref.load %q[%i] : memref<?x{kind}>
%c = "{op}"(%a, %b) <{{predicate = {predicate} : i64}}> : ({kind}, {kind}) -> i1
%r = arith.extui %c : i1 to i32
memref.store %r, %o[%i] : memref<?xi32>""",
        a,
        b,
        result,
        parameters=f"%p: memref<?x{kind}>, %q: memref<?x{kind}>, %o: memref<?xi32>",
    )
    return result.astype(bool)


FLOATS = [0.0, -0.0, 1.0, -1.5, 3.25, 1e4, np.inf, -np.inf, np.nan, 0.1, 65504.0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    ("op", "function"),
    [
        ("arith.addf", np.add),
        ("arith.subf", np.subtract),
        ("arith.mulf", np.multiply),
        ("arith.divf", np.divide),
        ("arith.minnumf", np.fmin),
        ("arith.maxnumf", np.fmax),
        ("arith.minimumf", np.minimum),
        ("arith.maximumf", np.maximum),
        ("math.copysign", np.copysign),
        ("math.atan2", np.arctan2),
    ],
)
def test_floats_are_rounded_once(run_ir, op, function, dtype):
    a, b = pairs(FLOATS, dtype)
    with np.errstate(all="ignore"):
        wide = function(a.astype(np.float64), b.astype(np.float64)).astype(dtype)
    np.testing.assert_array_equal(apply(run_ir, op, a, b), wide)


def test_minimum_of_zeros_has_a_sign(run_ir):
    a, b = np.array([0.0, -0.0], np.float32), np.array([-0.0, 0.0], np.float32)
    assert np.signbit(apply(run_ir, "arith.minimumf", a, b)).tolist() == [True, True]
    assert np.signbit(apply(run_ir, "arith.maximumf", a, b)).tolist() == [False, False]


FUNCTIONS = {
    "sqrt": math.sqrt, "exp": math.exp, "exp2": lambda x: 2.0**x, "expm1": math.expm1, "log": math.log,
    "log2": math.log2, "log10": math.log10, "log1p": math.log1p, "sin": math.sin, "cos": math.cos, "tan": math.tan,
    "atan": math.atan, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh, "asinh": math.asinh,
    "erf": math.erf, "cbrt": np.cbrt, "rsqrt": lambda x: 1 / math.sqrt(x), "floor": math.floor, "ceil": math.ceil,
    "trunc": math.trunc, "absf": abs, "roundeven": np.rint,
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_right_to_the_last_digit(run_ir, name, dtype):
    x = np.array([0.5, 1.0, 1.5, 2.5, 3.75, 7.0], dtype)
    found = apply(run_ir, f"math.{name}", x)
    # In double precision NumPy and the C library may differ in the last place.
    tolerance = 0 if dtype != np.float64 else 2**-51
    np.testing.assert_allclose(
        found, np.array([FUNCTIONS[name](float(v)) for v in x]).astype(dtype), rtol=tolerance
    )


def test_round_goes_away_from_zero_and_fma_rounds_once(run_ir):
    x = np.array([0.5, -0.5, 1.5, 2.5, 0.49999997, -2.4], np.float32)
    assert apply(run_ir, "math.round", x).tolist() == [1, -1, 2, 3, 0, -2]
    a = np.array([1 + 2**-23] * 4, np.float32)
    c = np.full(4, -(1 + 2**-22), np.float32)
    assert apply(run_ir, "math.fma", a, a, c).tolist() == [2**-46] * 4


def test_integer_functions(run_ir):
    x = np.array([0, 1, -1, 0x00F0, -(2**31), 12345], np.int32)
    bits = [v % 2**32 for v in x.tolist()]
    assert apply(run_ir, "math.ctpop", x).tolist() == [v.bit_count() for v in bits]
    assert apply(run_ir, "math.ctlz", x).tolist() == [32 - v.bit_length() for v in bits]
    assert apply(run_ir, "math.cttz", x).tolist() == [(v & -v).bit_length() - 1 if v else 32 for v in bits]
    assert apply(run_ir, "math.absi", x).tolist() == [0, 1, 1, 240, -(2**31), 12345]
    reverse = [int(f"{v:032b}"[::-1], 2) for v in bits]
    assert [v % 2**32 for v in apply(run_ir, "spirv.BitReverse", x).tolist()] == reverse


@pytest.mark.parametrize(
    ("op", "source", "target", "function"),
    [
        ("arith.extsi", np.int8, np.int32, lambda x: x.astype(np.int32)),
        ("arith.extui", np.int8, np.int64, lambda x: x.view(np.uint8).astype(np.int64)),
        ("arith.trunci", np.int32, np.int8, lambda x: x.astype(np.int8)),
        ("arith.sitofp", np.int32, np.float16, lambda x: x.astype(np.float16)),
        ("arith.uitofp", np.int64, np.float32, lambda x: x.view(np.uint64).astype(np.float32)),
    ],
)
def test_conversions_of_integers(run_ir, op, source, target, function):
    x = np.array([0, 1, -1, 127, -128, 100], source)
    np.testing.assert_array_equal(apply(run_ir, op, x, result=target), function(x))


def test_conversions_of_floats(run_ir):
    x = np.array([0.0, 1.9, -1.9, 2147483520.0], np.float32)
    assert apply(run_ir, "arith.fptosi", x, result=np.int32).tolist() == [0, 1, -1, 2147483520]
    y = np.array([0.9, -0.9, 3e9, 4294967040.0], np.float32)
    assert apply(run_ir, "arith.fptoui", y, result=np.int32).view(np.uint32).tolist() == [
        0,
        0,
        3e9,
        4294967040,
    ]
    z = np.array([0.5, -1.0, 1.0, -0.0], np.float32)
    assert apply(run_ir, "arith.fptosi", z, result=np.bool_).tolist() == [False, True, True, False]
    assert apply(run_ir, "arith.bitcast", x[1:2], result=np.int32).tolist() == [0x3FF33333]
    with pytest.raises(lp.KernelTrap) as caught:
        apply(run_ir, "arith.fptosi", np.array([1.0, np.nan], np.float32), result=np.int32)
    assert "devices leave undefined what nan is as a signed integer of 32 bits" in str(caught.value)


def test_bf16_is_rounded_to_nearest_even(run_ir):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([1.0, 1.00390625, 1.01171875, 3.4e38, np.inf, np.nan, -2.7], np.float32)
    result = np.zeros(len(x), np.uint16)
    run_ir(
        """%v = memref.load %x[%i] : memref<?xf32>
%n = arith.truncf %v : f32 to bf16
memref.store %n, %y[%i] : memref<?xbf16>""",
        x,
        result,
        parameters="%x: memref<?xf32>, %y: memref<?xbf16>",
    )
    found = result.view(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(found.astype(np.float32), x.astype(ml_dtypes.bfloat16).astype(np.float32))


@pytest.mark.parametrize(
    ("op", "is_signed"), [("arith.mulsi_extended", True), ("arith.mului_extended", False)]
)
def test_products_of_twice_the_bits(run_ir, op, is_signed):
    a, b = pairs([*EDGES, 2**31 - 1, -(2**31)], np.int32)
    low, high = np.zeros_like(a), np.zeros_like(a)
    run_ir(
        f"""%a = memref.load %p[%i] : memref<?xi32>
%b = memref.load %q[%i] : memref<?xi32>
%l, %h = "{op}"(%a, %b) : (i32, i32) -> (i32, i32)
memref.store %l, %r[%i] : memref<?xi32>
memref.store %h, %s[%i] : memref<?xi32>""",
        a,
        b,
        low,
        high,
        parameters=", ".join(f"%{name}: memref<?xi32>" for name in "pqrs"),
    )
    kind = np.int32 if is_signed else np.uint32
    wide = [int(x) * int(y) % 2**64 for x, y in zip(a.view(kind), b.view(kind), strict=True)]
    assert low.view(np.uint32).tolist() == [w % 2**32 for w in wide]
    assert high.view(np.uint32).tolist() == [w >> 32 for w in wide]
