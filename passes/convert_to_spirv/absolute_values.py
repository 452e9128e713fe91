"""Absolute values that drivers misjudge: `math.absf`.

Mesa and NVIDIA's driver take -0.0 for a number that is not negative: they leave |x| out where x is chosen from -0.0
and positive numbers, and make -x of it where x is chosen from 0.0 and negative ones.  NVIDIA's driver also takes |x|
of 32 bits for a number: |NaN| >= -1.0 is true where it knows the -1.0 (`vk_runtime.quirks`).

So |x| is made of the bits there.
"""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Operation, SSAValue, Use

from ...ir.dialects import spirv
from ...ir.narrowing import is_float_attribute
from .float_expression import FloatExpression
from .function_lowering import FunctionLowering
from .known_zeros import hidden
from .taken_for_numbers import is_followed
from .types import float_type

_DEPTH = 6
"""How many operations are followed."""
_PASSED_ON = (arith.SelectOp, arith.NegfOp, math_dialect.AbsFOp)
_CHOSEN = (arith.SelectOp, scf.IfOp, arith.ConstantOp)


def absolute(fn: FunctionLowering, op: Operation) -> None:
    """Lowers `math.absf`."""
    operand, result = op.operands[0], op.results[0]
    type_, value = fn.type(float_type(result.type)), fn.value(operand)
    if not _is_misjudged(fn, operand, result):
        fn.values[result] = fn.emit(spirv.GLFAbsOp, (value,), type_)
    elif type_ is f32:
        bits = fn.emit(spirv.BitcastOp, (value,), i32)
        size = fn.emit(spirv.BitwiseAndOp, (bits, fn.constant(i32, (1 << 31) - 1)), i32)
        fn.values[result] = fn.emit(spirv.BitcastOp, (size,), f32)
    else:
        fn.values[result] = FloatExpression(fn, type_).absolute(hidden(fn, value) if fn.has_inputs else value)


def _is_misjudged(fn: FunctionLowering, operand: SSAValue, result: SSAValue) -> bool:
    env = fn.module.env
    if env.folds_zeros and is_followed(operand):
        return True
    return env.misjudges_absolutes and (_is_chosen(fn, operand, _DEPTH) or _is_compared(fn, result, _DEPTH))


def _is_chosen(fn: FunctionLowering, value: SSAValue, depth: int) -> bool:
    """Whether a float is chosen from constants, perhaps of other sign."""
    owner = value.owner
    if isinstance(owner, _PASSED_ON):
        return depth == 0 or any(_is_chosen(fn, v, depth - 1) for v in owner.operands[-2:])
    return isinstance(owner, _CHOSEN) or fn.module.known_numbers.is_known(value)


def _is_compared(fn: FunctionLowering, value: SSAValue, depth: int) -> bool:
    """Whether a float is compared with one that the driver may know, and be it behind a choice."""
    return any(_is_judged(fn, use, depth) for use in value.uses)


def _is_judged(fn: FunctionLowering, use: Use, depth: int) -> bool:
    user = use.operation
    if isinstance(user, arith.CmpfOp):
        other = user.operands[1 - use.index]
        return not _is_positive(other) and fn.module.known_numbers.is_known(other)
    if isinstance(user, scf.YieldOp) or depth == 0:
        return True
    return isinstance(user, _PASSED_ON) and any(_is_compared(fn, v, depth - 1) for v in user.results)


def _is_positive(value: SSAValue) -> bool:
    """Whether a float is a literal that |x| may be below of."""
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp) or not is_float_attribute(owner.value):
        return False
    return owner.value.value.data > 0
