"""Products that Mesa takes for numbers although they may be NaN.

Its range analysis (nir_range_analysis.c) follows choices, minima, maxima, sums and conversions of
integers.  It says that a * b is a number where both are numbers and one is finite and *may* be zero, where it means
cannot be: 0.0 * inf is NaN.  llvmpipe believes it, and max(2.0, 0.0 * inf) is NaN.

So the finite factor of such a product is hidden (`known_zeros`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, SSAValue

from ...ir.dialects.spec_constant import GetOp
from ...ir.narrowing import is_float_attribute
from .function_lowering import FunctionLowering
from .known_numbers import yielded
from .known_zeros import factor, hidden, hides

# By name: isinstance() of an operation's class is a call in Python, and this is asked of every factor.
_EXTREMA = frozenset(("arith.minnumf", "arith.maxnumf"))
_SUMS = frozenset(("arith.addf", "arith.subf", "arith.mulf"))
_FINITE_ONES = frozenset((GetOp.name, "arith.sitofp", "arith.uitofp"))
_CHOICES = frozenset(("arith.select", "scf.if"))
_PASSED_ON = frozenset(("arith.negf", "math.absf", "math.floor", "math.ceil", "math.trunc"))
_FOLLOWED = frozenset(("arith.constant",)) | _EXTREMA | _SUMS | _FINITE_ONES | _CHOICES | _PASSED_ON


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
        left, right = _claims(fn, a), _claims(fn, b)
        if left.is_number and right.is_number and left.is_finite != right.is_finite:
            first = hidden_if_finite(fn, a, first) if left.is_finite else first
            second = hidden_if_finite(fn, b, second) if right.is_finite else second
    return first, second


def hidden_if_finite(fn: FunctionLowering, value: SSAValue, lowered: SSAValue) -> SSAValue:
    """Returns a lowered factor beside one that may be infinite; constants are no zeros, or are hidden already."""
    is_hidden = hides(fn) and fn.constant_number(lowered) is None and _claims(fn, value).is_finite
    return hidden(fn, lowered) if is_hidden else lowered


def _claims(fn: FunctionLowering, value: SSAValue) -> Claims:
    """Returns what Mesa takes a value for: it follows what a value is made of to the end, each operation once."""
    pending, found = [value], fn.claims
    while pending:
        last = pending[-1]
        sources: Sequence[SSAValue] = () if last in found else _sources(last)
        missing = [source for source in sources if source not in found]
        pending += missing
        if not missing:
            found.setdefault(pending.pop(), _combined(last, [found[source] for source in sources]))
    return found[value]


def _sources(value: SSAValue) -> Sequence[SSAValue]:
    """Returns the floats that a value is made of; none where Mesa says nothing about such an operation."""
    owner = value.owner
    if type(owner) is Block:  # isinstance() of a class of IR is a call in Python
        return ()
    owner = cast("Operation", owner)
    if owner.name not in _FOLLOWED or owner.name in _FINITE_ONES:
        return ()
    if owner.name == "arith.select":
        return owner.operands[1:]
    if type(owner) is scf.IfOp:  # short branches become selections
        return yielded(owner, value)
    return owner.operands


def _combined(value: SSAValue, inner: Sequence[Claims]) -> Claims:
    """Returns what Mesa takes a value for that is made of others."""
    owner = value.owner
    if type(owner) is Block:
        return _NOTHING
    owner = cast("Operation", owner)
    if owner.name not in _FOLLOWED:
        return _NOTHING
    if not inner:
        return _of_constant(owner) if isinstance(owner, arith.ConstantOp) else _FINITE
    are_numbers, are_finite = all(c.is_number for c in inner), all(c.is_finite for c in inner)
    if owner.name in _EXTREMA:
        return Claims(any(c.is_number for c in inner), are_finite)
    if owner.name in _SUMS:
        return Claims(are_numbers and any(c.is_finite for c in inner), False)
    return Claims(are_numbers, are_finite)


def _of_constant(constant: arith.ConstantOp) -> Claims:
    if not is_float_attribute(constant.value):
        return _FINITE
    number = constant.value.value.data
    return Claims(not math.isnan(number), math.isfinite(number))


def is_followed(value: SSAValue) -> bool:
    """Whether Mesa looks at what a float is made of."""
    return isinstance(value.owner, Operation) and value.owner.name in _FOLLOWED
