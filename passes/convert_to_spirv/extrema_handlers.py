"""Handlers of minima and maxima (`arith`), which are functions of GLSL.std.450 or made of comparisons."""

from __future__ import annotations

import math

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.kernel import IN_RANGE
from ...ir.walk import operands_of
from .binary_handlers import floating, integer, integers
from .compare_handlers import SGT, SLT, UGT, ULT, compared
from .float_expression import FloatExpression
from .function_lowering import FunctionLowering, Handler
from .integer_extrema import may_be_folded
from .narrow_negations import is_short
from .saturations import minimum_operands
from .types import float_type, is_bool


def _extremum(kind: type[Operation], bool_kind: type[Operation], is_first: int) -> Handler:
    """Lowers to `kind`, on i1 to `bool_kind`; chooses by the predicate `is_first` where drivers are wrong otherwise."""
    plain = integer(kind, bool_kind)

    def lower(fn: FunctionLowering, op: Operation) -> None:
        type_ = fn.type(op.results[0].type)
        is_misjudged = fn.module.env.misjudges_short_extrema and is_short(type_)
        if not is_misjudged and (is_bool(type_) or not may_be_folded(operands_of(op))):
            plain(fn, op)
            return
        a, b = integers(fn, op)
        test = compared(fn, is_first, a, b)
        fn.values[op.results[0]] = fn.emit(spirv.SelectOp, (test, a, b), a.type)

    return lower


_LEAST = _extremum(spirv.GLUMinOp, spirv.LogicalAndOp, ULT)
_CLAMP = integer(spirv.GLUMinOp, spirv.LogicalAndOp)
_LOW_BITS = integer(spirv.BitwiseAndOp)


def _unsigned_minimum(fn: FunctionLowering, op: Operation) -> None:
    if IN_RANGE not in op.attributes:
        _LEAST(fn, op)
    else:
        (_LOW_BITS if fn.module.env.masks_indices else _CLAMP)(fn, op)


def _plain_minimum(fn: FunctionLowering, op: Operation) -> None:
    result = op.results[0]
    fn.values[result] = fn.emit(spirv.GLNMinOp, minimum_operands(fn, op), fn.type(float_type(result.type)))


def _extremum_of_numbers(plain: Handler, is_first: type[Operation]) -> Handler:
    """`minnumf` and `maxnumf`, whose result is the number where one operand is NaN: `plain`, or where that takes
    a driver a dozen instructions, a comparison and a selection, which give the second operand where either is NaN."""

    def lower(fn: FunctionLowering, op: Operation) -> None:
        if not fn.module.env.selects_extrema:
            plain(fn, op)
            return
        lhs, rhs = operands_of(op)
        float_type(lhs.type)
        a, b = fn.value(lhs), fn.value(rhs)
        if _is_number(fn, a):
            a, b = b, a
        type_, truth = a.type, fn.module.types.bool_like(a.type)
        takes_first = fn.emit(is_first, (a, b), truth)
        if not _is_number(fn, b):
            is_nan = fn.emit(spirv.IsNanOp, (b,), truth)
            takes_first = fn.emit(spirv.LogicalOrOp, (takes_first, is_nan), truth)
        fn.values[op.results[0]] = fn.emit(spirv.SelectOp, (takes_first, a, b), type_)

    return lower


def _is_number(fn: FunctionLowering, value: SSAValue) -> bool:
    number = fn.constant_number(value)
    return number is not None and not math.isnan(number)


def _ordered_extremum(is_maximum: bool) -> Handler:
    """`minimumf` and `maximumf`: NaN wins, and -0.0 is less than 0.0; GLSL.std.450 has neither.

    Where the operands compare equal they have the same bits, zeros aside: "and" of the bits is 0.0 if either
    is, "or" is -0.0 if either is.  Of other floats than f32 the signs alone are put together.
    """
    first, second = (
        (spirv.FOrdGreaterThanOp, spirv.FOrdLessThanOp)
        if is_maximum
        else (spirv.FOrdLessThanOp, spirv.FOrdGreaterThanOp)
    )
    combine = spirv.BitwiseAndOp if is_maximum else spirv.BitwiseOrOp

    def lower(fn: FunctionLowering, op: Operation) -> None:
        float_type(op.operands[0].type)
        a, b = (fn.value(value) for value in op.operands)
        type_ = a.type
        expression = FloatExpression(fn, type_)
        condition_type = expression.bool
        words = [expression.sign_word(value) for value in (a, b)]
        word = fn.emit(combine, words, expression.word)
        if expression.has_words:
            combined = fn.emit(spirv.BitcastOp, (word,), type_)
        else:
            combined = expression.signed(a, word)
        nan = fn.emit(spirv.FAddOp, (a, b), type_)
        equal = fn.emit(spirv.FOrdEqualOp, (a, b), condition_type)
        result = fn.emit(spirv.SelectOp, (equal, combined, nan), type_)
        take_b = fn.emit(second, (a, b), condition_type)
        result = fn.emit(spirv.SelectOp, (take_b, b, result), type_)
        take_a = fn.emit(first, (a, b), condition_type)
        fn.values[op.results[0]] = fn.emit(spirv.SelectOp, (take_a, a, result), type_)

    return lower


HANDLERS: dict[type[Operation], Handler] = {
    # Signed i1: true is -1, the smaller one.
    arith.MinSIOp: _extremum(spirv.GLSMinOp, spirv.LogicalOrOp, SLT),
    arith.MaxSIOp: _extremum(spirv.GLSMaxOp, spirv.LogicalAndOp, SGT),
    arith.MinUIOp: _unsigned_minimum,
    arith.MaxUIOp: _extremum(spirv.GLUMaxOp, spirv.LogicalOrOp, UGT),
    arith.MinnumfOp: _extremum_of_numbers(_plain_minimum, spirv.FOrdLessThanOp),
    arith.MaxnumfOp: _extremum_of_numbers(floating(spirv.GLNMaxOp), spirv.FOrdGreaterThanOp),
    arith.MinimumfOp: _ordered_extremum(is_maximum=False),
    arith.MaximumfOp: _ordered_extremum(is_maximum=True),
}
"""Handlers by operation."""
