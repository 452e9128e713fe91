"""``a ** b``: multiplication for literal integer exponents, a loop for integers, `math_library` for floats."""

from __future__ import annotations

import ast

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Region

from ..ir.dialects import math
from .conversions import CMPI, adapt, convert
from .function_builder import FunctionBuilder
from .ir_types import BOOL, F32, WEAK_FLOAT, ir_type
from .promotion import low_bits, promote
from .types import ScalarType
from .values import Scalar, constant, describe

_LARGEST_UNROLLED = 1024
"""Largest literal exponent that is computed by multiplication, about 20 of them."""


def power(fb: FunctionBuilder, base: Scalar, exponent: Scalar, node: ast.AST) -> Scalar:
    """Emits ``base ** exponent``, operands not both literals.

    Raises:
        CompileError: an integer to a negative literal power.
    """
    from .arithmetic import common_type, negative_exponent

    literal = exponent.const if exponent.is_weak else None
    if isinstance(literal, float) and literal.is_integer() and abs(literal) <= _LARGEST_UNROLLED:
        scalar = promote(base.type, WEAK_FLOAT)
        return _by_multiplication(fb, adapt(fb, base, scalar, node), int(literal), node)
    if isinstance(literal, int):
        if literal < 0 and not base.type.is_float:
            raise negative_exponent(fb, node)
        if abs(literal) <= _LARGEST_UNROLLED or not base.type.is_float:
            return _by_multiplication(fb, base, literal, node)
    scalar = base.type if base.type.is_float and not exponent.type.is_float and base.type.bits else None
    scalar = scalar or common_type(fb, base, exponent, node, "operator **")
    base, exponent = adapt(fb, base, scalar, node), adapt(fb, exponent, scalar, node)
    if fb.is_dry:
        return Scalar(scalar)
    return float_power(fb, base, exponent, node) if scalar.is_float else _integer_power(fb, base, exponent)


def float_power(fb: FunctionBuilder, base: Scalar, exponent: Scalar, node: ast.AST) -> Scalar:
    """Emits the float power of two operands of one type; those of 16 bits are computed in f32."""
    from .math_library_calls import call_library  # which calls as expressions do

    scalar = base.type
    if scalar.bits == 16:
        return convert(fb, float_power(fb, convert(fb, base, F32), convert(fb, exponent, F32), node), scalar)
    if scalar is F32 and "pow" in fb.module.device_functions:
        operands = [fb.ssa(base), fb.ssa(exponent)]
        return Scalar(scalar, fb.emit(math.PowFOp, operands, ir_type(scalar), math.DEVICE_FUNCTION))
    result = call_library(fb, "pow", [base, exponent], node)
    assert isinstance(result, Scalar), describe(result)
    return result


def _by_multiplication(fb: FunctionBuilder, base: Scalar, exponent: int, node: ast.AST) -> Scalar:
    """Squares and multiplies; a negative exponent is the reciprocal."""
    from .arithmetic import binary

    if exponent == 0:
        return _one(base.type)
    result: Scalar | None = None
    square, bits = base, abs(exponent)
    while bits:
        if bits & 1:
            result = square if result is None else _multiplied(fb, result, square, node)
        bits >>= 1
        if bits:
            square = _multiplied(fb, square, square, node)
    assert result is not None
    if exponent > 0:
        return result
    inverse = binary(fb, "Div", constant(1.0), result, node)
    assert isinstance(inverse, Scalar)
    return inverse


def _multiplied(fb: FunctionBuilder, left: Scalar, right: Scalar, node: ast.AST) -> Scalar:
    from .arithmetic import binary

    product = binary(fb, "Mult", left, right, node)
    assert isinstance(product, Scalar), describe(product)
    return product


def _one(scalar: ScalarType) -> Scalar:
    if scalar.is_float:
        return Scalar(scalar, const=1.0)
    return Scalar(scalar, const=1, bounds=(1, 1))


def _integer_power(fb: FunctionBuilder, base: Scalar, exponent: Scalar) -> Scalar:
    """Emits a loop over the bits of the exponent; a negative exponent gives 0, but 1 and -1 keep their powers."""
    scalar, boolean = base.type, ir_type(BOOL)
    if base.const is not None and exponent.const is not None:
        return Scalar(scalar, const=_known_power(int(base.const), int(exponent.const), scalar))
    ir = ir_type(scalar)
    zero, one = fb.constant(0, scalar), fb.constant(1, scalar)
    has_negative = scalar.is_signed and not exponent.is_nonnegative
    first = fb.ssa(exponent)
    is_unit = None
    if has_negative:
        units = [
            fb.emit(arith.CmpiOp, [fb.ssa(base), v], boolean, CMPI["eq"])
            for v in (one, fb.constant(-1, scalar))
        ]
        is_unit = fb.emit(arith.OrIOp, units, boolean)
        first = fb.emit(arith.SelectOp, [is_unit, fb.emit(arith.AndIOp, [first, one], ir), first], ir)
    before, after = Block(arg_types=[ir, ir, ir]), Block(arg_types=[ir, ir, ir])
    with fb.into(before):
        bits = before.args[2]
        greater = CMPI["sgt" if scalar.is_signed else "ugt"]
        again = fb.emit(arith.CmpiOp, [bits, zero], boolean, greater)
        assert again is not None
        fb.append(scf.ConditionOp.create(operands=[again, *before.args]))
    with fb.into(after):
        result, square, bits = after.args
        is_odd = fb.emit(arith.CmpiOp, [fb.emit(arith.AndIOp, [bits, one], ir), zero], boolean, CMPI["ne"])
        product = fb.emit(arith.MuliOp, [result, square], ir)
        result = fb.emit(arith.SelectOp, [is_odd, product, result], ir)
        square = fb.emit(arith.MuliOp, [square, square], ir)
        bits = fb.emit(arith.ShRUIOp, [bits, one], ir)
        fb.append(scf.YieldOp.create(operands=[v for v in (result, square, bits) if v is not None]))
    operands = [v for v in (one, fb.ssa(base), first) if v is not None]
    loop = scf.WhileOp.create(
        operands=operands, result_types=[ir, ir, ir], regions=[Region(before), Region(after)]
    )
    fb.append(loop)
    result = loop.results[0]
    if has_negative:
        is_negative = fb.emit(arith.CmpiOp, [first, zero], boolean, CMPI["slt"])
        return Scalar(scalar, fb.emit(arith.SelectOp, [is_negative, zero, result], ir))
    return Scalar(scalar, result)


def _known_power(base: int, exponent: int, scalar: ScalarType) -> int:
    if exponent < 0:
        return base**-exponent if base in (1, -1) else 0
    return low_bits(pow(base, exponent, 1 << scalar.bits), scalar)
