"""What expansions compute, evaluated instruction by instruction in NumPy and compared with Python's functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import Float16Type, Float32Type, Float64Type, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

Fixture = Callable[..., Any]

FLOATS = {Float16Type: np.float16, Float32Type: np.float32, Float64Type: np.float64}


def scalar_type(type_: Attribute) -> type[np.generic]:
    """NumPy's scalar of a type; integers are signed, i1 is bool."""
    if isinstance(type_, IntegerType):
        width = type_.width.data
        return np.bool_ if width == 1 else np.dtype(f"i{width // 8}").type
    return FLOATS[type(type_)]


def _unsigned(a: Any) -> Any:
    return np.asarray(a).view(f"u{a.itemsize}")[()]


def _quotient(a: Any, b: Any) -> int:
    return abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1)


def _power(a: Any, b: Any) -> Any:
    # As drivers compute it: 2 ** (b log2 a).
    return np.exp2(b * np.log2(a))


OPERATIONS: dict[str, Callable[..., Any]] = {
    "FAdd": lambda a, b: a + b,
    "FSub": lambda a, b: a - b,
    "FMul": lambda a, b: a * b,
    "FDiv": lambda a, b: a / b,
    "FNegate": lambda a: -a,
    "IAdd": lambda a, b: a + b,
    "ISub": lambda a, b: a - b,
    "IMul": lambda a, b: a * b,
    "SDiv": _quotient,
    "UDiv": lambda a, b: int(_unsigned(a)) // int(_unsigned(b)),
    "BitwiseAnd": lambda a, b: a & b,
    "BitwiseOr": lambda a, b: a | b,
    "BitwiseXor": lambda a, b: a ^ b,
    "Not": lambda a: ~a,
    "BitCount": lambda a: bin(int(_unsigned(a))).count("1"),
    "ShiftLeftLogical": lambda a, b: int(a) << int(b),
    "ShiftRightLogical": lambda a, b: int(_unsigned(a)) >> int(b),
    "UConvert": lambda a: int(_unsigned(a)),
    "FConvert": lambda a: a,
    "INotEqual": lambda a, b: a != b,
    "IEqual": lambda a, b: a == b,
    "SLessThan": lambda a, b: a < b,
    "FOrdEqual": lambda a, b: a == b,
    "FOrdNotEqual": lambda a, b: a < b or a > b,
    "FOrdLessThan": lambda a, b: a < b,
    "FOrdGreaterThan": lambda a, b: a > b,
    "FOrdGreaterThanEqual": lambda a, b: a >= b,
    "IsNan": np.isnan,
    "IsInf": np.isinf,
    "LogicalAnd": lambda a, b: a and b,
    "LogicalOr": lambda a, b: a or b,
    "LogicalNot": lambda a: not a,
    "Select": lambda c, a, b: a if c else b,
    "GL.FAbs": np.abs,
    "GL.Exp": np.exp,
    "GL.Exp2": np.exp2,
    "GL.Log": np.log,
    "GL.Log2": np.log2,
    "GL.Pow": _power,
    "GL.Floor": np.floor,
    "GL.Trunc": np.trunc,
    "GL.Sqrt": np.sqrt,
    "GL.FindUMsb": lambda a: int(_unsigned(a)).bit_length() - 1,
}


def evaluate(module: Operation, inputs: list[Any]) -> Any:
    """Runs the function's straight code; loads from buffers give `inputs` in turn, the value stored is returned."""
    values: dict[SSAValue, Any] = {}
    remaining = list(inputs)
    (function,) = [op for op in module.walk() if op.name == "spirv.func"]
    with np.errstate(all="ignore"):
        for op in function.walk():
            name = op.name.removeprefix("spirv.")
            operands = [values.get(value) for value in op.operands]
            if name == "Constant":
                values[op.results[0]] = scalar_type(op.results[0].type)(op.properties["value"].value.data)
            elif name == "Load" and "StorageBuffer" in str(op.operands[0].type):
                values[op.results[0]] = remaining.pop(0)
            elif name == "Store":
                return operands[1]
            elif name == "Bitcast":
                values[op.results[0]] = operands[0].view(scalar_type(op.results[0].type))
            elif name in OPERATIONS and None not in operands:
                values[op.results[0]] = _convert(OPERATIONS[name](*operands), op.results[0].type)
    raise AssertionError("nothing is stored")


def _convert(value: Any, type_: Attribute) -> Any:
    kind = scalar_type(type_)
    if issubclass(kind, np.signedinteger):
        width = np.dtype(kind).itemsize * 8
        return kind(((int(value) + (1 << (width - 1))) % (1 << width)) - (1 << (width - 1)))
    return kind(value)


@pytest.fixture
def computed(lower: Fixture, kernel: Fixture) -> Fixture:
    """Returns a function of numbers that computes what `line` lowers to."""

    def make(line: str, type_: str, operands: int = 1) -> Callable[..., Any]:
        loads = "\n".join(f"%{'abc'[n]} = memref.load %x[%i] : memref<?x{type_}>" for n in range(operands))
        body = f"{loads}\n%r = {line}\nmemref.store %r, %x[%i] : memref<?x{type_}>"
        module = lower(kernel(body, f"%x : memref<?x{type_}>")).module
        scalar = {"f": np.float32, "i": np.dtype(f"i{int(type_[1:]) // 8}").type}[type_[0]]
        return lambda *numbers: evaluate(module, [scalar(n) for n in numbers])

    return make


NUMBERS = [0.0, 1e-30, 1e-7, 1e-3, 0.1, 0.3, 0.37, 0.38, 0.49, 0.5, 0.51, 0.9, 1.5, 3.0, 10.0, 30.0]


@pytest.mark.parametrize(
    ("name", "function", "numbers", "relative"),
    [
        ("expm1", math.expm1, [*NUMBERS, *(-n for n in NUMBERS)], 4e-7),
        ("log1p", math.log1p, [*NUMBERS, *(-n for n in NUMBERS if n < 1)], 3e-7),
        ("log10", math.log10, NUMBERS[1:], 4e-7),
        # Absolute 1.5e-7 from 1 on, where erf is 0.84, plus rounding.
        ("erf", math.erf, [*NUMBERS, *(-n for n in NUMBERS)], 4e-7),
        ("cbrt", lambda x: math.copysign(abs(x) ** (1 / 3), x), [*NUMBERS, *(-n for n in NUMBERS)], 3e-7),
    ],
)
def test_functions_of_f32(
    computed: Fixture, name: str, function: Callable[[float], float], numbers: list[float], relative: float
) -> None:
    compute = computed(f"math.{name} %a : f32", "f32")
    for number in numbers:
        exact = function(float(np.float32(number)))
        assert float(compute(number)) == pytest.approx(exact, rel=relative, abs=1e-37), number


def test_extremes_of_functions(computed: Fixture) -> None:
    assert computed("math.cbrt %a : f32", "f32")(math.inf) == math.inf
    assert math.isnan(computed("math.erf %a : f32", "f32")(math.nan))
    assert computed("math.erf %a : f32", "f32")(math.inf) == 1
    assert computed("math.expm1 %a : f32", "f32")(-math.inf) == -1
    assert computed("math.log1p %a : f32", "f32")(-1.0) == -math.inf


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (-2.0, 3.0, -8.0),
        (-2.0, 2.0, 4.0),
        (2.0, -2.0, 0.25),
        (0.0, 0.0, 1.0),
        (0.0, 2.0, 0.0),
        (0.0, -1.0, math.inf),
        (-2.0, 0.5, math.nan),
        (4.0, 0.5, 2.0),
    ],
)
def test_power_is_defined_as_in_c(computed: Fixture, x: float, y: float, expected: float) -> None:
    found = float(computed("math.powf %a, %b : f32", "f32", 2)(x, y))
    assert found == pytest.approx(expected, rel=1e-6, nan_ok=True)


@pytest.mark.parametrize("number", [0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388609.0, -0.0, 1e30])
def test_round_is_half_away_from_zero(computed: Fixture, number: float) -> None:
    expected = math.copysign(math.floor(abs(float(np.float32(number))) + 0.5), number)
    if abs(number) == 0.49999997:
        expected = 0.0  # the sum above rounds up, which is the trap
    assert float(computed("math.round %a : f32", "f32")(number)) == expected


@pytest.mark.parametrize("pair", [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3), (0, 5), (-1, 7)])
def test_integer_division(computed: Fixture, pair: tuple[int, int]) -> None:
    a, b = pair
    assert computed("arith.floordivsi %a, %b : i32", "i32", 2)(a, b) == a // b
    assert computed("arith.ceildivsi %a, %b : i32", "i32", 2)(a, b) == -(-a // b)
    expected = -(-(a % 2**32) // (b % 2**32))
    assert int(computed("arith.ceildivui %a, %b : i32", "i32", 2)(a, b)) % 2**32 == expected


@pytest.mark.parametrize("type_", ["i8", "i16", "i32", "i64"])
def test_bit_counts(computed: Fixture, type_: str) -> None:
    width = int(type_[1:])
    functions = {name: computed(f"math.{name} %a : {type_}", type_) for name in ("ctpop", "ctlz", "cttz")}
    for number in (0, 1, 2, 96, -1, -(2 ** (width - 1)), 2 ** (width - 2), -96):
        bits = format(number % 2**width, f"0{width}b")
        assert functions["ctpop"](number) == bits.count("1")
        assert functions["ctlz"](number) == len(bits) - len(bits.lstrip("0"))
        assert functions["cttz"](number) == len(bits) - len(bits.rstrip("0"))


@pytest.mark.parametrize(
    ("a", "b", "smaller", "larger"),
    [
        (1.0, 2.0, 1.0, 2.0),
        (-0.0, 0.0, -0.0, 0.0),
        (0.0, -0.0, -0.0, 0.0),
        (3.0, 3.0, 3.0, 3.0),
        (math.nan, 1.0, math.nan, math.nan),
        (1.0, math.nan, math.nan, math.nan),
        (-math.inf, math.inf, -math.inf, math.inf),
    ],
)
def test_ordered_extrema(computed: Fixture, a: float, b: float, smaller: float, larger: float) -> None:
    for op, expected in (("minimumf", smaller), ("maximumf", larger)):
        found = float(computed(f"arith.{op} %a, %b : f32", "f32", 2)(a, b))
        assert str(found) == str(expected)


def test_bf16_rounds_to_nearest_even(lower: Fixture, kernel: Fixture) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    body = """
      %a = memref.load %x[%i] : memref<?xf32>
      %r = arith.truncf %a : f32 to bf16
      memref.store %r, %y[%i] : memref<?xbf16>"""
    module = lower(kernel(body, "%x : memref<?xf32>, %y : memref<?xbf16>")).module
    for number in (0.0, -0.0, 1.0, 1.00390625, 1.01171875, 3.3e38, -1e-40, math.inf, 0.1):
        found = evaluate(module, [np.float32(number)])
        assert found == ml_dtypes.bfloat16(np.float32(number)).view(np.int16), number
    assert np.isnan(np.int16(evaluate(module, [np.float32(math.nan)])).view(ml_dtypes.bfloat16))
