"""Products that Mesa takes for numbers although they may be NaN.

Its range analysis (nir_range_analysis.c) follows choices, minima, maxima, sums and conversions of
integers.  It says that a * b is a number where both are numbers and one is finite and *may* be zero, where it means
cannot be: 0.0 * inf is NaN.  llvmpipe believes it, and max(2.0, 0.0 * inf) is NaN.

So the finite factor of such a product is hidden (`known_zeros`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, SSAValue

from ...ir.dialects.spec_constant import GetOp
from ...ir.narrowing import is_float_attribute
from .function_lowering import FunctionLowering
from .known_numbers import yielded
from .known_zeros import factor, hidden, hides

_DEPTH = 8
"""How many operations are followed, as Mesa does without an end; what lies behind counts as a number."""

_EXTREMA = (arith.MinnumfOp, arith.MaxnumfOp)
_SUMS = (arith.AddfOp, arith.SubfOp, arith.MulfOp)
_FINITE_ONES = (arith.ConstantOp, GetOp, arith.SIToFPOp, arith.UIToFPOp)
_FOLLOWED = frozenset(
    (
        *(kind.name for kind in (arith.SelectOp, scf.IfOp, arith.NegfOp, *_FINITE_ONES, *_EXTREMA, *_SUMS)),
        *("math.absf", "math.floor", "math.ceil", "math.trunc"),  # by name: few kernels load that dialect
    )
)


@dataclass(frozen=True)
class Claims:
    """What Mesa may take a value for."""

    is_number: bool
    is_finite: bool


_NOTHING, _FINITE = Claims(False, False), Claims(True, True)


def factors(fn: FunctionLowering, a: SSAValue, b: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Returns the lowered operands of a product."""
    first, second = factor(fn, a), factor(fn, b)
    if hides(fn):
        left, right = _claims(fn, a, _DEPTH), _claims(fn, b, _DEPTH)
        if left.is_number and right.is_number and left.is_finite != right.is_finite:
            first = hidden_if_finite(fn, a, first) if left.is_finite else first
            second = hidden_if_finite(fn, b, second) if right.is_finite else second
    return first, second


def hidden_if_finite(fn: FunctionLowering, value: SSAValue, lowered: SSAValue) -> SSAValue:
    """Returns a lowered factor beside one that may be infinite; constants are no zeros, or are hidden already."""
    is_hidden = hides(fn) and fn.constant_number(lowered) is None and _claims(fn, value, _DEPTH).is_finite
    return hidden(fn, lowered) if is_hidden else lowered


def _claims(fn: FunctionLowering, value: SSAValue, depth: int) -> Claims:
    key = value, depth
    known = fn.claims.get(key)
    if known is None:  # values are operands of several others, whose ways to them would multiply
        known = fn.claims[key] = _find_claims(fn, value, depth)
    return known


def _find_claims(fn: FunctionLowering, value: SSAValue, depth: int) -> Claims:
    owner = value.owner
    if isinstance(owner, Block):
        return _NOTHING
    if depth == 0:
        return _FINITE if owner.name in _FOLLOWED else _NOTHING
    if isinstance(owner, arith.ConstantOp):
        return _of_constant(owner)
    if isinstance(owner, _FINITE_ONES):
        return _FINITE
    inner = [_claims(fn, operand, depth - 1) for operand in _sources(owner, value)]
    if not inner:
        return _NOTHING
    are_numbers, are_finite = all(c.is_number for c in inner), all(c.is_finite for c in inner)
    if isinstance(owner, _EXTREMA):
        return Claims(any(c.is_number for c in inner), are_finite)
    if isinstance(owner, _SUMS):
        return Claims(are_numbers and any(c.is_finite for c in inner), False)
    return Claims(are_numbers, are_finite)


def _sources(owner: Operation, value: SSAValue) -> list[SSAValue]:
    """Returns the floats that a value is made of; [] where Mesa says nothing about such an operation."""
    if isinstance(owner, arith.SelectOp):
        return list(owner.operands[1:])
    if isinstance(owner, scf.IfOp):  # short branches become selections
        return yielded(owner, value)
    return list(owner.operands) if owner.name in _FOLLOWED else []


def _of_constant(constant: arith.ConstantOp) -> Claims:
    if not is_float_attribute(constant.value):
        return _FINITE
    number = constant.value.value.data
    return Claims(not math.isnan(number), math.isfinite(number))


def is_followed(value: SSAValue) -> bool:
    """Whether Mesa looks at what a float is made of."""
    return isinstance(value.owner, Operation) and value.owner.name in _FOLLOWED
