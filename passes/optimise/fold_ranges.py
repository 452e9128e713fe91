"""Folds that ranges of values allow: comparisons that always give the same, and conversions by way of signed integers.

    %f = arith.uitofp %a : i32 to f32              %f = arith.sitofp %a : i32 to f32        where %a is below 2**31
    %t = arith.cmpf olt, %f, %limit : f32          true, where %f is always below %limit

Processors convert signed integers in one instruction and unsigned ones in six to ten, so that is worth it on CPUs, and
a float that becomes an integer is compared with both ends of its type first, since conversions out of range are not
defined: a pixel's `lp.u32(min(max(v, 0.0), 255.0))` needs none of it.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ...ir.narrowing import is_integer_attribute, is_integer_type
from ...ir.walk import operands_of
from ..insertion import Before
from .constants import bool_attribute, constant_float, integer_width, is_foldable
from .fold_casts import fold_float_to_integer, fold_integer_to_float
from .fold_floats import fold_cmpf
from .fold_integers import Fold, Folded
from .value_ranges import FloatRange, float_range, most_unsigned

_OGT = 2
"""Predicate of `arith.cmpf`."""
_LESS, _LESS_OR_EQUAL = frozenset((4, 11)), frozenset((5, 12))
_GREATER, _GREATER_OR_EQUAL = frozenset((2, 9)), frozenset((3, 10))
_ORDERED = frozenset((2, 3, 4, 5))
"""Predicates that are false beside a NaN; the others, from 9 on, are true."""


def fold_comparison(op: Operation) -> Folded:
    """Folds a float comparison of constants, or of a constant with what lies on one side of it."""
    folded = fold_cmpf(op)
    if folded is not None:
        return folded
    lhs, rhs = operands_of(op)
    predicate = op.properties["predicate"]
    if (constant_float(lhs) is None and constant_float(rhs) is None) or not is_integer_attribute(predicate):
        return None
    number = predicate.value.data
    truth = _truth(number, float_range(lhs), float_range(rhs))
    return None if truth is None else bool_attribute(truth)


def _truth(predicate: int, a: FloatRange, b: FloatRange) -> bool | None:
    """Returns what a comparison gives for all numbers of two ranges, None where it differs."""
    if predicate in _GREATER or predicate in _GREATER_OR_EQUAL:
        a, b = b, a
    if predicate in _LESS or predicate in _GREATER:
        truth = True if a.high < b.low else False if a.low >= b.high else None
    elif predicate in _LESS_OR_EQUAL or predicate in _GREATER_OR_EQUAL:
        truth = True if a.high <= b.low else False if a.low > b.high else None
    else:
        return None
    has_nan = a.has_nan or b.has_nan
    return None if has_nan and truth is (predicate in _ORDERED) else truth


def fold_unsigned_to_float(op: Operation) -> Folded:
    """Folds `uitofp` of a constant; of what has no sign bit it is `sitofp`."""
    folded = fold_integer_to_float(op)
    (operand,) = operands_of(op)
    width = integer_width(operand.type)
    if folded is not None or width is None or width == 1 or most_unsigned(operand) >> (width - 1):
        return folded
    return Before(op).add(arith.SIToFPOp, operand, type_=op.results[0].type)


def fold_float_to_unsigned(op: Operation) -> Folded:
    """Folds `fptoui` of a constant; of what is neither negative nor too large it is `fptosi`, and no zero is chosen
    first in the place of what is not positive."""
    folded = fold_float_to_integer(op)
    (operand,) = operands_of(op)
    type_ = op.results[0].type
    if folded is not None or not is_foldable(operand.type) or not is_integer_type(type_):
        return folded
    number = _positive(operand)
    found = float_range(number)
    if (
        type_.width.data > 1
        and not found.has_nan
        and found.low >= 0
        and found.high < 2 ** (type_.width.data - 1)
    ):
        return Before(op).add(arith.FPToSIOp, number, type_=type_)
    return None if number is operand else Before(op).add(arith.FPToUIOp, number, type_=type_)


def _positive(value: SSAValue) -> SSAValue:
    """Returns the number of which `number > 0 ? number : 0` is made, if that only takes the sign of zeros from it."""
    choice = value.owner
    if type(choice) is not arith.SelectOp or constant_float(choice.rhs) != 0:
        return value
    test, number = choice.cond.owner, choice.lhs
    if type(test) is not arith.CmpfOp or test.predicate.value.data != _OGT or test.lhs is not number:
        return value
    found = float_range(number)
    is_same = constant_float(test.rhs) == 0 and found.low >= 0 and not found.has_nan
    return number if is_same else value


RANGE_FOLDS: dict[type[Operation], Fold] = {
    arith.CmpfOp: fold_comparison,
    arith.UIToFPOp: fold_unsigned_to_float,
    arith.FPToUIOp: fold_float_to_unsigned,
}
"""Folds by operation class, in the place of those that know constants alone."""
