"""Signs of zeros that Mesa loses where it makes a float of a truth value (nir_opt_algebraic.c).

NVIDIA's driver loses the first kind, too (`vk_runtime.quirks`, negated-truths).  Mesa takes -0.0 for 0.0 where it looks
for constants, and a choice of 1.0 and 0.0 for the truth value as a float:

    1.0 if c else -0.0  becomes float(c)     -1.0 if c else 0.0  -float(c)     float(c) - 1.0  -float(not c)

So the constant is hidden from it, see `known_zeros`.
"""

from __future__ import annotations

import math

from xdsl.dialects import scf
from xdsl.ir import SSAValue

from ...ir.dialects import spirv
from ...ir.narrowing import is_float_attribute
from ..optimise.constants import constant_attribute
from .function_lowering import FunctionLowering
from .known_numbers import yielded
from .known_zeros import factor, hidden, hides
from .types import is_float


def arms(fn: FunctionLowering, if_true: SSAValue, if_false: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Returns the lowered values that a selection chooses from."""
    first, second = fn.value(if_true), fn.value(if_false)
    if _hides_choices(fn) and is_float(first.type):
        a, b = (if_true, fn.constant_number(first)), (if_false, fn.constant_number(second))
        if _loses_sign(fn, *a, *b):
            return hidden(fn, first), second
        if _loses_sign(fn, *b, *a):
            return first, hidden(fn, second)
    return first, second


def yields(fn: FunctionLowering, op: scf.IfOp) -> tuple[frozenset[int], frozenset[int]]:
    """Returns which results of each arm of a branch are to be hidden: Mesa makes selections of short branches."""
    true_arm, false_arm = set[int](), set[int]()
    if _hides_choices(fn):
        for index, result in enumerate(op.results):
            if is_float(result.type):
                if_true, if_false = yielded(op, result)
                first, second = (if_true, _number(if_true)), (if_false, _number(if_false))
                if _loses_sign(fn, *first, *second):
                    true_arm.add(index)
                elif _loses_sign(fn, *second, *first):
                    false_arm.add(index)
    return frozenset(true_arm), frozenset(false_arm)


def _hides_choices(fn: FunctionLowering) -> bool:
    return hides(fn) or (fn.module.env.loses_negated_truths and fn.has_inputs)


def _number(value: SSAValue) -> float | None:
    attribute = constant_attribute(value)
    return attribute.value.data if is_float_attribute(attribute) else None


def _loses_sign(
    fn: FunctionLowering,
    value: SSAValue,
    number: float | None,
    other: SSAValue,
    other_number: float | None,
) -> bool:
    """Whether one arm is, or may be found to be, a zero, and the other is, or may be found to be, a one of the other
    sign; both with their numbers if they are literals."""
    is_known = fn.module.known_numbers.is_known
    if number is None:
        is_one = other_number is None or abs(other_number) == 1
        return is_one and is_known(value) and is_known(other)
    if number != 0:
        return False
    return is_known(other) if other_number is None else other_number == -math.copysign(1, number)


def beside(fn: FunctionLowering, lowered: SSAValue, other: SSAValue) -> SSAValue:
    """Returns a lowered operand of a sum or difference whose other one may be a truth value."""
    number = fn.constant_number(lowered)
    is_one = isinstance(number, float) and abs(number) == 1
    return hidden(fn, lowered) if is_one and hides(fn) and _is_truth(other) else lowered


def hidden_argument(fn: FunctionLowering, value: SSAValue) -> SSAValue:
    """Returns the lowered argument of a call, of which the callee may take one: the driver inlines it."""
    lowered = factor(fn, value)
    return hidden(fn, lowered) if hides(fn) and _is_truth(lowered) else lowered


def _is_truth(lowered: SSAValue) -> bool:
    owner = lowered.owner
    arms = owner.operands[1:] if isinstance(owner, spirv.SelectOp) else ()
    return bool(arms) and all(isinstance(arm.owner, spirv.ConstantOp) for arm in arms)
