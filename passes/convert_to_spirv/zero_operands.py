"""Float products and quotients with a constant +0.0, written so that every driver computes them.

Mesa 22.3's llvmpipe takes 0.0 * x and 0.0 / x for 0.0 and x / 0.0 for undefined (lp_build_mul, lp_build_div), also
where the module asks for SignedZeroInfNanPreserve; it compares with +0.0 only.  IEEE 754 makes these equal:

    x * 0.0 = -(x * -0.0)          0.0 / x = -(-0.0 / x)          x / ±0.0 = x * ±inf

Quotients by powers of two are products, which take a processor a third of the time and are the same number.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import f16, f32, f64
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.dialects import spirv
from .float_order import attributes_of_product
from .function_lowering import NO_CONTRACTION_ATTRIBUTES, FunctionLowering
from .known_zeros import factor
from .taken_for_numbers import factors, hidden_if_finite
from .types import float_type, scalar_of

_LARGEST_POWERS: dict[Attribute, int] = {f16: 14, f32: 126, f64: 1022}
"""Of two, that are normal numbers and whose reciprocals are."""


def mulf(fn: FunctionLowering, op: Operation) -> None:
    """Lowers `arith.mulf`."""
    float_type(op.operands[0].type)
    a, b = factors(fn, *op.operands)
    if _is_positive_zero(fn, a):
        a, b = b, a
    if _is_positive_zero(fn, b):
        product = _times(fn, a, -0.0)
        fn.values[op.results[0]] = fn.emit(spirv.FNegateOp, (product,), a.type)
        return
    fn.values[op.results[0]] = fn.emit(
        spirv.FMulOp, (a, b), a.type, attributes=attributes_of_product(fn, op.results[0])
    )


def divf(fn: FunctionLowering, op: Operation) -> None:
    """Lowers `arith.divf`."""
    a, b = _operands(fn, op)
    divisor = fn.constant_number(b)
    if divisor is not None and divisor == 0:
        a = hidden_if_finite(fn, op.operands[0], a)
        fn.values[op.results[0]] = _times(fn, a, math.copysign(math.inf, divisor))
    elif _is_positive_zero(fn, a):
        quotient = fn.emit(
            spirv.FDivOp, (fn.constant(a.type, -0.0), b), a.type, attributes=NO_CONTRACTION_ATTRIBUTES
        )
        fn.values[op.results[0]] = fn.emit(spirv.FNegateOp, (quotient,), a.type)
    elif (reciprocal := _exact_reciprocal(divisor, a.type)) is not None:
        factor = fn.constant(a.type, reciprocal)
        fn.values[op.results[0]] = fn.emit(
            spirv.FMulOp, (a, factor), a.type, attributes=NO_CONTRACTION_ATTRIBUTES
        )
    else:
        fn.values[op.results[0]] = fn.emit(spirv.FDivOp, (a, b), a.type, attributes=NO_CONTRACTION_ATTRIBUTES)


def _exact_reciprocal(divisor: float | None, type_: Attribute) -> float | None:
    """Returns what to multiply by instead of dividing: that of a power of two is exact, if both are normal numbers."""
    limit = _LARGEST_POWERS.get(scalar_of(type_))
    if divisor is None or limit is None or not math.isfinite(divisor):
        return None
    fraction, power = math.frexp(divisor)
    return 1 / divisor if abs(fraction) == 0.5 and abs(power - 1) <= limit else None


def _operands(fn: FunctionLowering, op: Operation) -> tuple[SSAValue, SSAValue]:
    lhs, rhs = op.operands
    float_type(lhs.type)
    return factor(fn, lhs), factor(fn, rhs)


def _times(fn: FunctionLowering, value: SSAValue, number: float) -> SSAValue:
    factor = fn.constant(value.type, number)
    return fn.emit(spirv.FMulOp, (value, factor), value.type, attributes=fn.float_attributes)


def _is_positive_zero(fn: FunctionLowering, value: SSAValue) -> bool:
    number = fn.constant_number(value)
    return number is not None and number == 0 and math.copysign(1, number) > 0
