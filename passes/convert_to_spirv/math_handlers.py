"""Handlers of functions (`math`).

GLSL.std.450 has sine and its like for 16- and 32-bit floats only: in f64 they are refused by name, never
computed in f32 behind the user's back.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import math
from xdsl.dialects.builtin import Float16Type, Float64Type, f32
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.dialects import spirv
from . import expansions
from .absolute_values import absolute
from .double_rounding import rounded_to_even, truncated
from .exact_conversions import to_half
from .expansions import Expansion
from .float_expression import FloatExpression
from .function_lowering import FunctionLowering, Handler
from .known_zeros import summand
from .taken_for_numbers import factors
from .types import float_type, scalar_of, with_scalar


def _refuse_f64(op: Operation, type_: Attribute) -> None:
    if isinstance(scalar_of(type_), Float64Type):
        name = op.name.removeprefix("math.")
        raise TypeError(
            f"'{name}' of f64 does not exist in Vulkan (GLSL.std.450 has it for f16 and f32 only); compute "
            "it in f32 after a conversion, or write it out in f64"
        )


def _function(kind: type[Operation]) -> Handler:
    """A function that exists in every float width."""

    def lower(fn: FunctionLowering, op: Operation) -> None:
        result = op.results[0]
        float_type(result.type)
        operands = tuple(fn.value(value) for value in op.operands)
        fn.values[result] = fn.emit(kind, operands, fn.type(result.type))

    return lower


def _fma(fn: FunctionLowering, op: Operation) -> None:
    a, b, c = op.operands
    float_type(a.type)
    operands = *factors(fn, a, b), summand(fn, c)
    fn.values[op.results[0]] = fn.emit(spirv.GLFmaOp, operands, operands[0].type)


def _narrow_function(kind: type[Operation]) -> Handler:
    """A function that exists in f16 and f32."""
    lower_any = _function(kind)

    def lower(fn: FunctionLowering, op: Operation) -> None:
        _refuse_f64(op, op.results[0].type)
        lower_any(fn, op)

    return lower


def _expanded(expansion: Expansion) -> Handler:
    """A function of one operand that is written out in f32."""

    def lower(fn: FunctionLowering, op: Operation) -> None:
        result = op.results[0]
        _refuse_f64(op, float_type(result.type))
        value, type_ = fn.value(op.operands[0]), fn.type(result.type)
        expression, (x,) = _in_f32(fn, type_, value)
        fn.values[result] = _rounded(fn, expansion(expression, x), type_)

    return lower


def _in_f32(
    fn: FunctionLowering, type_: Attribute, *values: SSAValue
) -> tuple[FloatExpression, tuple[SSAValue, ...]]:
    if not isinstance(scalar_of(type_), Float16Type):
        return FloatExpression(fn, type_), values
    wide = fn.module.types(with_scalar(type_, f32))
    return FloatExpression(fn, wide), tuple(fn.emit(spirv.FConvertOp, (value,), wide) for value in values)


def _rounded(fn: FunctionLowering, value: SSAValue, type_: Attribute) -> SSAValue:
    return value if value.type is type_ else to_half(fn, value, type_)


def _rounding(function: Callable[[FloatExpression, SSAValue], SSAValue]) -> Handler:
    """A function to whole numbers, which exists in every float width."""

    def lower(fn: FunctionLowering, op: Operation) -> None:
        float_type(op.results[0].type)
        value = fn.value(op.operands[0])
        fn.values[op.results[0]] = function(FloatExpression(fn, value.type), value)

    return lower


def _copy_sign(fn: FunctionLowering, op: Operation) -> None:
    float_type(op.results[0].type)
    magnitude, sign = (fn.value(value) for value in op.operands)
    fn.values[op.results[0]] = FloatExpression(fn, magnitude.type).copy_sign(magnitude, sign)


def _power(fn: FunctionLowering, op: Operation) -> None:
    result = op.results[0]
    type_ = fn.type(float_type(result.type))
    base, exponent = (fn.value(value) for value in op.operands)
    known = fn.constant_number(exponent)
    if known is not None:
        expression, (x,) = _in_f32(fn, type_, base)
        simple = expansions.constant_power(expression, x, known)
        if simple is not None:
            fn.values[result] = _rounded(fn, simple, type_)
            return
    _refuse_f64(op, type_)
    expression, (x, y) = _in_f32(fn, type_, base, exponent)
    fn.values[result] = _rounded(fn, expansions.power(expression, x, y), type_)


HANDLERS: dict[type[Operation], Handler] = {
    math.AbsFOp: absolute,
    math.SqrtOp: _function(spirv.GLSqrtOp),
    math.RsqrtOp: _function(spirv.GLInverseSqrtOp),
    math.FmaOp: _fma,
    math.FloorOp: _function(spirv.GLFloorOp),
    math.CeilOp: _function(spirv.GLCeilOp),
    math.TruncOp: _rounding(truncated),
    math.RoundEvenOp: _rounding(rounded_to_even),
    math.RoundOp: _rounding(expansions.round_half_away),
    math.CopySignOp: _copy_sign,
    math.ExpOp: _narrow_function(spirv.GLExpOp),
    math.Exp2Op: _narrow_function(spirv.GLExp2Op),
    math.LogOp: _narrow_function(spirv.GLLogOp),
    math.Log2Op: _narrow_function(spirv.GLLog2Op),
    math.SinOp: _narrow_function(spirv.GLSinOp),
    math.CosOp: _narrow_function(spirv.GLCosOp),
    math.TanOp: _narrow_function(spirv.GLTanOp),
    math.AsinOp: _narrow_function(spirv.GLAsinOp),
    math.AcosOp: _narrow_function(spirv.GLAcosOp),
    math.AtanOp: _narrow_function(spirv.GLAtanOp),
    math.Atan2Op: _narrow_function(spirv.GLAtan2Op),
    math.SinhOp: _narrow_function(spirv.GLSinhOp),
    math.CoshOp: _narrow_function(spirv.GLCoshOp),
    math.TanhOp: _narrow_function(spirv.GLTanhOp),
    math.AsinhOp: _narrow_function(spirv.GLAsinhOp),
    math.AcoshOp: _narrow_function(spirv.GLAcoshOp),
    math.AtanhOp: _narrow_function(spirv.GLAtanhOp),
    math.PowFOp: _power,
    math.ExpM1Op: _expanded(expansions.expm1),
    math.Log1pOp: _expanded(expansions.log1p),
    math.Log10Op: _expanded(expansions.log10),
    math.ErfOp: _expanded(expansions.erf),
    math.CbrtOp: _expanded(expansions.cbrt),
}
"""Handlers of functions of floats."""
