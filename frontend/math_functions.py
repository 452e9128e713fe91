"""``lp.math``: names of Python's math and a few of GLSL's.

Integers are computed in f32.  f64 is computed in f64 where GLSL.std.450 has a 64-bit version, and refused by name
where it has none.  bf16 is computed in f32.
"""

from __future__ import annotations

import ast
import math as python_math
from collections.abc import Callable

from xdsl.dialects import arith, math
from xdsl.ir import Operation

from .arithmetic import absolute, binary, common_type
from .branches import zero_like
from .builtins import expect_count, min_max, numbers
from .comparisons import compare_scalars
from .conversions import CMPF, adapt, convert
from .dispatch import intrinsic
from .function_builder import FunctionBuilder
from .ir_types import BOOL, F32, F64, I32, WEAK_FLOAT, ir_type
from .powers import float_power
from .promotion import promote
from .types import ScalarType, bf16
from .values import Scalar, Value, constant, describe

_UNARY: dict[str, type[Operation]] = {
    "sqrt": math.SqrtOp,
    "rsqrt": math.RsqrtOp,
    "floor": math.FloorOp,
    "ceil": math.CeilOp,
    "trunc": math.TruncOp,
    "exp": math.ExpOp,
    "exp2": math.Exp2Op,
    "expm1": math.ExpM1Op,
    "log": math.LogOp,
    "log2": math.Log2Op,
    "log10": math.Log10Op,
    "log1p": math.Log1pOp,
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
    "cbrt": math.CbrtOp,
    "erf": math.ErfOp,
}
_HAS_64_BITS = frozenset(("sqrt", "rsqrt", "floor", "ceil", "trunc"))
"""Of the functions above, those that GLSL.std.450 defines for 64 bits."""

_FOLDS: dict[str, Callable[[float], float]] = {
    name: getattr(python_math, name)
    for name in _UNARY
    if name not in ("rsqrt", "exp2", "cbrt", "floor", "ceil", "trunc")
}


def _name(fb: FunctionBuilder) -> str:
    return fb.callee.removeprefix("math.")


def _operands(fb: FunctionBuilder, node: ast.Call, arguments: list[Value], count: int) -> list[Scalar]:
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


def refuse_f64(fb: FunctionBuilder, node: ast.Call, name: str) -> Exception:
    """Makes the error for a function that has no 64-bit version."""
    return fb.error(
        node,
        f"lp.math.{name} has no 64-bit version on Vulkan devices",
        "LP2048",
        hint=f"convert where f32 is precise enough: lp.f64(lp.math.{name}(lp.f32(x)))",
    )


@intrinsic(*(f"math.{name}" for name in _UNARY))
def compile_unary_function(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles the functions of one number."""
    name = _name(fb)
    literal = arguments[0] if len(arguments) == 1 else None
    if isinstance(literal, Scalar) and literal.is_weak and literal.const is not None and name in _FOLDS:
        try:
            return constant(float(_FOLDS[name](literal.const)))
        except (ValueError, OverflowError):
            pass  # outside of the function's domain: the device says NaN or infinity
    (value,) = _operands(fb, node, arguments, 1)
    if value.type is F64 and name not in _HAS_64_BITS:
        raise refuse_f64(fb, node, name)
    return _unary(fb, _UNARY[name], value)


def _unary(fb: FunctionBuilder, op: type[Operation], value: Scalar) -> Scalar:
    if fb.is_dry:
        return Scalar(value.type)
    if value.type is bf16:
        return convert(fb, _unary(fb, op, convert(fb, value, F32)), bf16)
    return Scalar(value.type, fb.emit(op, [fb.ssa(value)], ir_type(value.type)))


@intrinsic("math.fabs")
def compile_fabs(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.fabs(x)``."""
    return absolute(fb, _operands(fb, node, arguments, 1)[0], node)


@intrinsic("math.atan2", "math.copysign")
def compile_binary_function(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.atan2(y, x)`` and ``lp.math.copysign(x, y)``."""
    name = _name(fb)
    left, right = _operands(fb, node, arguments, 2)
    if left.type is F64 and name == "atan2":
        raise refuse_f64(fb, node, name)
    return _binary(fb, math.Atan2Op if name == "atan2" else math.CopySignOp, left, right)


def _binary(fb: FunctionBuilder, op: type[Operation], left: Scalar, right: Scalar) -> Scalar:
    scalar = left.type
    if fb.is_dry:
        return Scalar(scalar)
    if scalar is bf16:
        return convert(fb, _binary(fb, op, convert(fb, left, F32), convert(fb, right, F32)), bf16)
    return Scalar(scalar, fb.emit(op, [fb.ssa(left), fb.ssa(right)], ir_type(scalar)))


@intrinsic("math.pow")
def compile_pow(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.pow(x, y)``."""
    expect_count(fb, node, arguments, "lp.math.pow", 2, 2)
    exponent = arguments[1]
    if isinstance(exponent, Scalar) and exponent.is_weak and exponent.const is not None:
        base = _operands_as_float(fb, node, arguments[0])
        return binary(fb, "Pow", base, constant(float(exponent.const)), node)
    left, right = _operands(fb, node, arguments, 2)
    return Scalar(left.type) if fb.is_dry else float_power(fb, left, right, node)


def _operands_as_float(fb: FunctionBuilder, node: ast.Call, value: Value) -> Scalar:
    scalar = numbers(fb, node, [value], "lp.math.pow")[0]
    kind = promote(scalar.type, WEAK_FLOAT)
    return _as_float(fb, scalar, kind if kind.bits else F32, node)


def _calculate(fb: FunctionBuilder, operator: str, left: Value, right: Value, node: ast.AST) -> Scalar:
    result = binary(fb, operator, left, right, node)
    assert isinstance(result, Scalar), describe(result)
    return result


@intrinsic("math.fmod")
def compile_fmod(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.fmod(x, y)``: x - y * trunc(x / y), the sign of x."""
    left, right = _operands(fb, node, arguments, 2)
    quotient = _unary(fb, math.TruncOp, _calculate(fb, "Div", left, right, node))
    return _calculate(fb, "Sub", left, _calculate(fb, "Mult", quotient, right, node), node)


@intrinsic("math.hypot")
def compile_hypot(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.hypot(x, y)``, scaled by the larger part so that squares do not overflow."""
    left, right = (absolute(fb, v, node) for v in _operands(fb, node, arguments, 2))
    large, small = min_max(fb, "max", left, right, node), min_max(fb, "min", left, right, node)
    ratio = _calculate(fb, "Div", small, large, node)
    square = _calculate(fb, "Add", _calculate(fb, "Mult", ratio, ratio, node), constant(1.0), node)
    result = _calculate(fb, "Mult", large, _unary(fb, math.SqrtOp, square), node)
    is_zero = compare_scalars(fb, "Eq", large, constant(0.0), node)
    zero = zero_like(large)
    assert isinstance(zero, Scalar)
    return choose(fb, is_zero, zero, result)


def choose(fb: FunctionBuilder, test: Scalar, if_true: Scalar, if_false: Scalar) -> Scalar:
    """Emits a select of two values of one type."""
    scalar = if_true.type
    if fb.is_dry:
        return Scalar(scalar)
    operands = [fb.ssa(test), fb.ssa(if_true), fb.ssa(if_false)]
    return Scalar(scalar, fb.emit(arith.SelectOp, operands, ir_type(scalar)))


@intrinsic("math.fma", "math.mix", "math.clamp", "math.smoothstep")
def compile_ternary_function(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``fma(a, b, c)``, ``mix(a, b, t)``, ``clamp(x, low, high)`` and ``smoothstep(low, high, x)``."""
    name = _name(fb)
    if name == "clamp":
        return _clamp(fb, node, arguments)
    a, b, c = _operands(fb, node, arguments, 3)
    if fb.is_dry:
        return Scalar(a.type)
    match name:
        case "fma":
            if a.type is bf16:
                wide = [fb.ssa(convert(fb, v, F32)) for v in (a, b, c)]
                return convert(fb, Scalar(F32, fb.emit(math.FmaOp, wide, ir_type(F32))), bf16)
            return Scalar(a.type, fb.emit(math.FmaOp, [fb.ssa(v) for v in (a, b, c)], ir_type(a.type)))
        case "mix":  # a * (1 - t) + b * t, as GLSL defines it: exact at both ends
            rest = _calculate(fb, "Sub", constant(1.0), c, node)
            return _calculate(
                fb, "Add", _calculate(fb, "Mult", a, rest, node), _calculate(fb, "Mult", b, c, node), node
            )
        case _:
            return _smoothstep(fb, a, b, c, node)


def _clamp(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Scalar:
    """Emits min(max(x, low), high); integers stay integers."""
    expect_count(fb, node, arguments, "lp.math.clamp", 3, 3)
    value, low, high = numbers(fb, node, arguments, "lp.math.clamp")
    return min_max(fb, "min", min_max(fb, "max", value, low, node), high, node)


def _smoothstep(fb: FunctionBuilder, low: Scalar, high: Scalar, value: Scalar, node: ast.AST) -> Scalar:
    distance = _calculate(fb, "Sub", value, low, node)
    t = _calculate(fb, "Div", distance, _calculate(fb, "Sub", high, low, node), node)
    t = min_max(fb, "min", min_max(fb, "max", t, constant(0.0), node), constant(1.0), node)
    factor = _calculate(fb, "Sub", constant(3.0), _calculate(fb, "Mult", constant(2.0), t, node), node)
    return _calculate(fb, "Mult", _calculate(fb, "Mult", t, t, node), factor, node)


@intrinsic("math.step")
def compile_step(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.step(edge, x)``: 0 below the edge, else 1."""
    edge, value = _operands(fb, node, arguments, 2)
    is_below = compare_scalars(fb, "Lt", value, edge, node)
    return choose(fb, is_below, Scalar(value.type, const=0.0), Scalar(value.type, const=1.0))


@intrinsic("math.sign")
def compile_sign(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.sign(x)``: -1, 0 or 1 in the type of x."""
    expect_count(fb, node, arguments, "lp.math.sign", 1, 1)
    value = numbers(fb, node, arguments, "lp.math.sign")[0]
    if value.is_weak and value.const is not None:
        return constant((value.const > 0) - (value.const < 0))
    scalar = value.type
    zero = constant(0)
    is_positive = compare_scalars(fb, "Gt", value, zero, node)
    is_negative = compare_scalars(fb, "Lt", value, zero, node)
    number = float if scalar.is_float else int
    below = Scalar(scalar, const=number(-1)) if scalar.kind != "uint" else Scalar(scalar, const=0)
    inner = choose(fb, is_negative, below, Scalar(scalar, const=number(0)))
    return choose(fb, is_positive, Scalar(scalar, const=number(1)), inner)


@intrinsic("math.fract", "math.degrees", "math.radians")
def compile_scaled(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``fract(x)`` = x - floor(x), ``degrees(x)`` and ``radians(x)``."""
    name = _name(fb)
    (value,) = _operands(fb, node, arguments, 1)
    if name == "fract":
        return _calculate(fb, "Sub", value, _unary(fb, math.FloorOp, value), node)
    factor = 180.0 / python_math.pi if name == "degrees" else python_math.pi / 180.0
    return _calculate(fb, "Mult", value, constant(factor), node)


@intrinsic("math.ldexp")
def compile_ldexp(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.ldexp(x, n)``: x * 2**n, in two steps so that 2**n itself need not be finite."""
    expect_count(fb, node, arguments, "lp.math.ldexp", 2, 2)
    exponent = numbers(fb, node, arguments, "lp.math.ldexp")[1]
    if not exponent.type.is_integer:
        raise fb.error(
            node.args[1], f"the exponent of lp.math.ldexp is an integer, found {describe(exponent)}", "LP2033"
        )
    value = _operands_as_float(fb, node, arguments[0])
    if value.type is F64:
        raise refuse_f64(fb, node, "ldexp")
    half = _calculate(fb, "RShift", convert(fb, exponent, I32), constant(1), node)
    rest = _calculate(fb, "Sub", convert(fb, exponent, I32), half, node)
    for part in (half, rest):
        power = _unary(fb, math.Exp2Op, convert(fb, part, F32))
        value = _calculate(fb, "Mult", value, convert(fb, power, value.type), node)
    return value


@intrinsic("math.isnan", "math.isinf", "math.isfinite")
def compile_classification(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``isnan(x)``, ``isinf(x)`` and ``isfinite(x)``."""
    name = _name(fb)
    (value,) = _operands(fb, node, arguments, 1)
    if fb.is_dry:
        return Scalar(BOOL)
    value = convert(fb, value, F32) if value.type is bf16 else value
    if name == "isnan":
        return Scalar(BOOL, fb.emit(arith.CmpfOp, [fb.ssa(value), fb.ssa(value)], ir_type(BOOL), CMPF["une"]))
    magnitude = fb.ssa(absolute(fb, value, node))
    infinity = fb.constant(python_math.inf, value.type)
    predicate = CMPF["oeq" if name == "isinf" else "olt"]
    return Scalar(BOOL, fb.emit(arith.CmpfOp, [magnitude, infinity], ir_type(BOOL), predicate))
