"""``lp.math``: functions that are a few operators: fma, mix, clamp, step, smoothstep, sign, fract, degrees, radians."""

from __future__ import annotations

import ast
import math as python_math

from xdsl.dialects import arith, math

from .arithmetic import absolute
from .builtins import expect_count, min_max, numbers
from .comparisons import compare_scalars
from .conversions import convert
from .dispatch import intrinsic
from .function_builder import FunctionBuilder
from .ir_types import F32, ir_type
from .math_functions import calculate, float_operands, folded, unary, with_sign_of
from .types import bf16
from .values import Scalar, Value, constant


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
    name = fb.callee.removeprefix("math.")
    if name == "clamp":
        return _clamp(fb, node, arguments)
    a, b, c = float_operands(fb, node, arguments, 3)
    if fb.is_dry:
        return Scalar(a.type)
    match name:
        case "fma":
            if a.type is bf16:
                wide = [fb.ssa(convert(fb, v, F32)) for v in (a, b, c)]
                return convert(fb, Scalar(F32, fb.emit(math.FmaOp, wide, ir_type(F32))), bf16)
            return Scalar(a.type, fb.emit(math.FmaOp, [fb.ssa(v) for v in (a, b, c)], ir_type(a.type)))
        case "mix":  # a * (1 - t) + b * t, as GLSL defines it: exact at both ends
            rest = calculate(fb, "Sub", constant(1.0), c, node)
            return calculate(
                fb, "Add", calculate(fb, "Mult", a, rest, node), calculate(fb, "Mult", b, c, node), node
            )
        case _:
            return _smoothstep(fb, a, b, c, node)


def _clamp(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Scalar:
    """Emits min(max(x, low), high); integers stay integers."""
    expect_count(fb, node, arguments, "lp.math.clamp", 3, 3)
    value, low, high = numbers(fb, node, arguments, "lp.math.clamp", keeps_bools=True)
    return min_max(fb, "min", min_max(fb, "max", value, low, node), high, node)


def _smoothstep(fb: FunctionBuilder, low: Scalar, high: Scalar, value: Scalar, node: ast.AST) -> Scalar:
    distance = calculate(fb, "Sub", value, low, node)
    t = calculate(fb, "Div", distance, calculate(fb, "Sub", high, low, node), node)
    t = min_max(fb, "min", min_max(fb, "max", t, constant(0.0), node), constant(1.0), node)
    factor = calculate(fb, "Sub", constant(3.0), calculate(fb, "Mult", constant(2.0), t, node), node)
    return calculate(fb, "Mult", calculate(fb, "Mult", t, t, node), factor, node)


@intrinsic("math.step")
def compile_step(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.step(edge, x)``: 0 below the edge, else 1."""
    edge, value = float_operands(fb, node, arguments, 2)
    is_below = compare_scalars(fb, "Lt", value, edge, node)
    return choose(fb, is_below, Scalar(value.type, const=0.0), Scalar(value.type, const=1.0))


@intrinsic("math.sign")
def compile_sign(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``lp.math.sign(x)``: -1, 0 or 1 in the type of x; a zero keeps its sign, and NaN gives 0."""
    expect_count(fb, node, arguments, "lp.math.sign", 1, 1)
    value = numbers(fb, node, arguments, "lp.math.sign")[0]
    if value.is_weak and value.const is not None:
        return constant((value.const > 0) - (value.const < 0))
    scalar = value.type
    if scalar.is_float:  # not selects between -1, 0 and 1, which llvmpipe computes as -0.0 for 0.0
        is_number = compare_scalars(fb, "Gt", absolute(fb, value, node), constant(0.0), node)
        size = choose(fb, is_number, Scalar(scalar, const=1.0), Scalar(scalar, const=0.0))
        return with_sign_of(fb, size, value)
    zero = constant(0)
    is_positive = compare_scalars(fb, "Gt", value, zero, node)
    is_negative = compare_scalars(fb, "Lt", value, zero, node)
    below = Scalar(scalar, const=-1 if scalar.kind != "uint" else 0)
    inner = choose(fb, is_negative, below, Scalar(scalar, const=0))
    return choose(fb, is_positive, Scalar(scalar, const=1), inner)


@intrinsic("math.fract", "math.degrees", "math.radians")
def compile_scaled(fb: FunctionBuilder, node: ast.Call, arguments: list[Value]) -> Value:
    """Compiles ``fract(x)`` = x - floor(x), ``degrees(x)`` and ``radians(x)``."""
    name = fb.callee.removeprefix("math.")
    literal = folded(name, arguments)
    if literal is not None:
        return literal
    (value,) = float_operands(fb, node, arguments, 1)
    if name == "fract":
        return calculate(fb, "Sub", value, unary(fb, math.FloorOp, value), node)
    factor = 180.0 / python_math.pi if name == "degrees" else python_math.pi / 180.0
    return calculate(fb, "Mult", value, constant(factor), node)
