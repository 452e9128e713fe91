"""``lp.math``: functions of floats that have a place of their own, names of Python's math.

Integers are computed in f32, f16 and bf16 in f32 and rounded, f64 in f64.  What devices compute well is one
instruction; the rest is `math_library`, unless the kernel asks for the device's own with ``math_accuracy``.
"""

from __future__ import annotations

import ast
import math as python_math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from xdsl.dialects import arith, math
from xdsl.ir import Attribute, Operation

from ..ir.dialects.math import DEVICE_FUNCTION
from .arithmetic import absolute, binary, common_type
from .builtins import expect_count, min_max, numbers
from .conversions import CMPF, adapt, convert, settle
from .dispatch import intrinsic
from .float_division import truncated_remainder
from .function_builder import FunctionBuilder
from .ir_types import BOOL, F32, F64, I32, WEAK_FLOAT, ir_type
from .math_library_calls import call_library
from .powers import float_power
from .promotion import promote
from .types import ScalarType, bf16, f16
from .values import Scalar, Tuple, Value, constant, describe

_EXACT: dict[str, type[Operation]] = {
    "sqrt": math.SqrtOp,
    "rsqrt": math.RsqrtOp,
    "floor": math.FloorOp,
    "ceil": math.CeilOp,
    "trunc": math.TruncOp,
}
"""Functions that every device computes in every width, correctly rounded or nearly so."""
_DEVICE: dict[str, type[Operation]] = {
    "exp": math.ExpOp,
    "exp2": math.Exp2Op,
    "log": math.LogOp,
    "log2": math.Log2Op,
    "sin": math.SinOp,
    "cos": math.CosOp,
    "tan": math.TanOp,
    "asin": math.AsinOp,
    "acos": math.AcosOp,
    "atan": math.AtanOp,
    "sinh": math.SinhOp,
    "cosh": math.CoshOp,
    "tanh": math.TanhOp,
    "asinh": math.AsinhOp,
    "acosh": math.AcoshOp,
    "atanh": math.AtanhOp,
}
"""Functions that devices have an instruction for, as accurate as Vulkan asks: ``math_accuracy={"sin": "low"}``."""
_LIBRARY = (*_DEVICE, "expm1", "log1p", "log10", "cbrt", "erf", "erfc", "gamma", "lgamma")
"""Functions of one number in `math_library`."""

_WHOLE: dict[str, Callable[[float], int]] = {
    "floor": python_math.floor,
    "ceil": python_math.ceil,
    "trunc": python_math.trunc,
}


def _whole(name: str, value: float) -> float:
    return python_math.copysign(_WHOLE[name](value), value)  # keeps the sign of -0.0


def _rsqrt(value: float) -> float:
    return 1.0 / python_math.sqrt(value)


def _fract(value: float) -> float:
    return value - python_math.floor(value)


_FOLDS: dict[str, Callable[..., float]] = {
    "sqrt": python_math.sqrt,
    "rsqrt": _rsqrt,
    **{name: partial(_whole, name) for name in _WHOLE},
    "degrees": python_math.degrees,
    "radians": python_math.radians,
    "fract": _fract,
    **{
        name: getattr(python_math, name)
        for name in (*_LIBRARY, "atan2", "copysign", "fabs", "fmod", "hypot", "remainder")
    },
}
"""Functions of literals only, which are literals again: one of a f64 kernel is not rounded to f32."""


def folded(name: str, arguments: Sequence[Value]) -> Scalar | None:
    """Returns the result of a function of literals; None of others, and where it is an error in Python."""
    literals = [v.const for v in arguments if isinstance(v, Scalar) and v.is_weak and v.const is not None]
    if name not in _FOLDS or len(literals) != len(arguments):
        return None
    try:
        return constant(float(_FOLDS[name](*literals)))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        return None  # outside of its domain the device says NaN or infinity; a wrong count is reported later


def _name(fb: FunctionBuilder) -> str:
    return fb.callee.removeprefix("math.")


def float_operands(fb: FunctionBuilder, node: ast.Call, arguments: list[Value], count: int) -> list[Scalar]:
    """Returns the arguments of a float function in their common float type."""
    name = f"lp.math.{_name(fb)}"
    expect_count(fb, node, arguments, name, count, count)
    values = numbers(fb, node, arguments, name)
    scalar = values[0].type
    for value in values[1:]:
        scalar = common_type(fb, Scalar(scalar), value, node, name)
    if not scalar.is_float:
        scalar = F32 if scalar.bits else WEAK_FLOAT
    if scalar is WEAK_FLOAT:  # only literals: computed as f32, unless type inference waits for more
        scalar = F32
    return [_as_float(fb, value, scalar, node) for value in values]


def _as_float(fb: FunctionBuilder, value: Scalar, scalar: ScalarType, node: ast.AST) -> Scalar:
    if value.is_weak and value.const is None:
        return Scalar(scalar)
    return adapt(fb, value, scalar, node)


@intrinsic(*(f"math.{name}" for name in (*_EXACT, *_LIBRARY)))
def compile_unary_function(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles the functions of one number."""
    name = _name(fb)
    literal = folded(name, arguments)
    if literal is not None:
        return literal
    if name == "log" and len(arguments) != 1:
        return _logarithm(fb, node, arguments)
    (value,) = float_operands(fb, node, arguments, 1)
    return _of_one(fb, name, value, node)


def _of_one(fb: FunctionBuilder, name: str, value: Scalar, node: ast.Call) -> Scalar:
    if name in _EXACT:
        return unary(fb, _EXACT[name], value)
    if name in fb.module.device_functions and name in _DEVICE and value.type is not F64:
        return unary(fb, _DEVICE[name], value, DEVICE_FUNCTION)
    return library(fb, name, [value], node)


def _logarithm(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Scalar:
    """Emits ``log(x, base)``, a quotient as in Python but for bases whose logarithms devices and the library have."""
    expect_count(fb, node, arguments, "lp.math.log", 1, 2)
    base = arguments[1]
    written = base.const if isinstance(base, Scalar) and base.is_weak else None
    if written in (2, 10):
        (value,) = float_operands(fb, node, arguments[:1], 1)
        return _of_one(fb, f"log{int(written)}", value, node)
    left, right = (_of_one(fb, "log", value, node) for value in float_operands(fb, node, arguments, 2))
    return calculate(fb, "Div", left, right, node)


def unary(
    fb: FunctionBuilder, op: type[Operation], value: Scalar, properties: Mapping[str, Attribute] = {}
) -> Scalar:
    """Emits a function of one float, whose narrow types devices may lack, as one op."""
    if fb.is_dry:
        return Scalar(value.type)
    if value.type is bf16 or (value.type is f16 and op is math.RsqrtOp):
        return convert(fb, unary(fb, op, convert(fb, value, F32), properties), value.type)
    return Scalar(value.type, fb.emit(op, [fb.ssa(value)], ir_type(value.type), properties))


def library(fb: FunctionBuilder, name: str, operands: Sequence[Scalar], node: ast.Call) -> Scalar:
    """Emits a call of `math_library`; floats of 16 bits are computed in f32 and rounded."""
    scalar = operands[0].type
    if fb.is_dry:
        return Scalar(scalar)
    if scalar.bits == 16:
        wide = [convert(fb, value, F32) if value.type is scalar else value for value in operands]
        return convert(fb, library(fb, name, wide, node), scalar)
    result = call_library(fb, name, operands, node)
    assert isinstance(result, Scalar), describe(result)
    return result


@intrinsic("math.fabs")
def compile_fabs(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.fabs(x)``."""
    literal = folded("fabs", arguments)
    return literal or absolute(fb, float_operands(fb, node, arguments, 1)[0], node)


@intrinsic("math.atan2", "math.remainder")
def compile_binary_function(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``atan2(y, x)`` and ``remainder(x, y)`` (IEEE 754)."""
    name = _name(fb)
    literal = folded(name, arguments)
    if literal is not None:
        return literal
    operands = float_operands(fb, node, arguments, 2)
    if name == "atan2" and name in fb.module.device_functions and operands[0].type is not F64:
        return _binary(fb, math.Atan2Op, *operands, properties=DEVICE_FUNCTION)
    return library(fb, name, operands, node)


@intrinsic("math.hypot")
def compile_hypot(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``hypot(x, y, …)``, of one number its absolute value."""
    expect_count(fb, node, arguments, "lp.math.hypot", 1, None)
    literal = folded("hypot", arguments)
    if literal is not None:
        return literal
    first, *others = float_operands(fb, node, arguments, len(arguments))
    result = absolute(fb, first, node)
    for value in others:
        result = library(fb, "hypot", [result, value], node)
    return result


@intrinsic("math.fmod")
def compile_fmod(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.fmod(x, y)``, the remainder with the sign of x."""
    literal = folded("fmod", arguments)
    if literal is not None:
        return literal
    left, right = float_operands(fb, node, arguments, 2)
    if left.type is bf16:
        return convert(fb, truncated_remainder(fb, convert(fb, left, F32), convert(fb, right, F32)), bf16)
    return truncated_remainder(fb, left, right)


@intrinsic("math.copysign")
def compile_copysign(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.copysign(x, y)``."""
    literal = folded("copysign", arguments)
    if literal is not None:
        return literal
    return with_sign_of(fb, *float_operands(fb, node, arguments, 2))


def with_sign_of(fb: FunctionBuilder, size: Scalar, sign: Scalar) -> Scalar:
    """Emits `size` with the sign of `sign`, a float of its type."""
    return _binary(fb, math.CopySignOp, size, sign)


def _binary(
    fb: FunctionBuilder,
    op: type[Operation],
    left: Scalar,
    right: Scalar,
    properties: Mapping[str, Attribute] = {},
) -> Scalar:
    scalar = left.type
    if fb.is_dry:
        return Scalar(scalar)
    if scalar is bf16:
        wide = convert(fb, left, F32), convert(fb, right, F32)
        return convert(fb, _binary(fb, op, *wide, properties), bf16)
    return Scalar(scalar, fb.emit(op, [fb.ssa(left), fb.ssa(right)], ir_type(scalar), properties))


@intrinsic("math.pow")
def compile_pow(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.pow(x, y)``."""
    expect_count(fb, node, arguments, "lp.math.pow", 2, 2)
    exponent = arguments[1]
    if isinstance(exponent, Scalar) and exponent.is_weak and exponent.const is not None:
        base = _operands_as_float(fb, node, arguments[0])
        return binary(fb, "Pow", base, constant(float(exponent.const)), node)
    left, right = float_operands(fb, node, arguments, 2)
    return Scalar(left.type) if fb.is_dry else float_power(fb, left, right, node)


def _operands_as_float(fb: FunctionBuilder, node: ast.Call, value: Value) -> Scalar:
    scalar = numbers(fb, node, [value], "lp.math.pow")[0]
    kind = promote(scalar.type, WEAK_FLOAT)
    return _as_float(fb, scalar, kind if kind.bits else F32, node)


def calculate(fb: FunctionBuilder, operator: str, left: Value, right: Value, node: ast.AST) -> Scalar:
    """Emits a binary operator of numbers."""
    result = binary(fb, operator, left, right, node)
    assert isinstance(result, Scalar), describe(result)
    return result


@intrinsic("math.ldexp")
def compile_ldexp(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.ldexp(x, n)``: x * 2**n, also where 2**n itself is not finite."""
    expect_count(fb, node, arguments, "lp.math.ldexp", 2, 2)
    exponent = numbers(fb, node, arguments, "lp.math.ldexp")[1]
    if not exponent.type.is_integer:
        raise fb.error(
            node.args[1], f"the exponent of lp.math.ldexp is an integer, found {describe(exponent)}", "LP2033"
        )
    value = _operands_as_float(fb, node, arguments[0])
    return library(fb, "ldexp", [value, _saturated(fb, exponent, node)], node)


def _saturated(fb: FunctionBuilder, exponent: Scalar, node: ast.AST) -> Scalar:
    """Returns an exponent as an i32, also one that i32 does not hold."""
    if exponent.type.bits > 32 or (exponent.type.bits == 32 and not exponent.type.is_signed):
        exponent = min_max(fb, "min", exponent, constant(10_000), node)
        if exponent.type.is_signed:
            exponent = min_max(fb, "max", exponent, constant(-10_000), node)
    return convert(fb, settle(fb, exponent, node), I32)


@intrinsic("math.frexp", "math.modf")
def compile_parts(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``m, e = frexp(x)``, e an i32, and ``fraction, whole = modf(x)``."""
    name = _name(fb)
    (value,) = float_operands(fb, node, arguments, 1)
    scalar = value.type
    types = (scalar, I32) if name == "frexp" else (scalar, scalar)
    if fb.is_dry:
        return Tuple(tuple(map(Scalar, types)))
    result = call_library(fb, name, [convert(fb, value, F32) if scalar.bits == 16 else value], node)
    assert isinstance(result, Tuple), describe(result)
    items = [item for item in result.items if isinstance(item, Scalar)]
    return Tuple(tuple(convert(fb, item, kind) for item, kind in zip(items, types, strict=True)))


@intrinsic("math.nextafter", "math.ulp")
def compile_neighbours(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``nextafter(x, y)`` and ``ulp(x)``."""
    name = _name(fb)
    operands = float_operands(fb, node, arguments, 2 if name == "nextafter" else 1)
    scalar = operands[0].type
    return library(fb, name if scalar.bits > 16 else f"{name}_{scalar.name}", operands, node)


@intrinsic("math.isclose")
def compile_isclose(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``isclose(a, b, rel_tol=…, abs_tol=…)``."""
    expect_count(fb, node, arguments, "lp.math.isclose", 2, 2)
    given = {keyword.arg: fb.evaluate(keyword.value) for keyword in node.keywords}
    tolerances = [given.get("rel_tol", constant(1e-9)), given.get("abs_tol", constant(0.0))]
    operands = float_operands(fb, node, [*arguments, *tolerances], 4)
    if fb.is_dry:
        return Scalar(BOOL)
    is_narrow = operands[0].type.bits == 16
    found = call_library(fb, "isclose", [convert(fb, v, F32) if is_narrow else v for v in operands], node)
    assert isinstance(found, Scalar), describe(found)
    return found


@intrinsic("math.isnan", "math.isinf", "math.isfinite")
def compile_classification(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``isnan(x)``, ``isinf(x)`` and ``isfinite(x)``."""
    name = _name(fb)
    (value,) = float_operands(fb, node, arguments, 1)
    if fb.is_dry:
        return Scalar(BOOL)
    value = convert(fb, value, F32) if value.type is bf16 else value
    if name == "isnan":
        return Scalar(BOOL, fb.emit(arith.CmpfOp, [fb.ssa(value), fb.ssa(value)], ir_type(BOOL), CMPF["une"]))
    magnitude = fb.ssa(absolute(fb, value, node))
    infinity = fb.constant(python_math.inf, value.type)
    predicate = CMPF["oeq" if name == "isinf" else "olt"]
    return Scalar(BOOL, fb.emit(arith.CmpfOp, [magnitude, infinity], ir_type(BOOL), predicate))
