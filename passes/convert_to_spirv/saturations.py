"""Minima of which a driver may make saturations, which turn NaN into 0.0: `arith.minnumf` with 1.0.

    max(0.0, min(1.0, x)) is 1.0 for a NaN, since its minimum is; NVIDIA's driver gives 0.0 (`vk_runtime.quirks`)
    max(0.0, x if x < 1.0 else 1.0) is, too

So the 1.0 is hidden from it.  min(1.0, max(0.0, x)), which is what `lp.math.clamp` is, gives 0.0 for NaN by itself.
"""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.ir import Operation, SSAValue

from ...ir.narrowing import is_float_attribute
from ..optimise.constants import constant_attribute
from .function_lowering import FunctionLowering
from .known_numbers import yielded
from .known_zeros import hidden
from .types import is_float, scalar_of

Arms = tuple[SSAValue, SSAValue]

_HARMLESS = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp)
"""What the driver makes no part of a saturation."""


def minimum_operands(fn: FunctionLowering, op: Operation) -> tuple[SSAValue, SSAValue]:
    """Returns the lowered operands of `arith.minnumf`, of which a 1.0 is hidden where the driver may misuse it."""
    first, second = op.operands
    return _unsaturated(fn, op, first, fn.value(first)), _unsaturated(fn, op, second, fn.value(second))


def minimum_arms(fn: FunctionLowering, op: Operation, lowered: Arms) -> Arms:
    """Returns the lowered arms of a selection, of which one is hidden where it may be a 1.0 beside a number that the
    driver does not know: the selection may be a minimum."""
    arms = op.operands[1:]
    is_known = fn.module.known_numbers.is_known
    if not fn.module.env.saturates_minima or not is_float(scalar_of(lowered[0].type)):
        return lowered
    if all(map(is_known, arms)):
        return lowered
    first, second = (_unsaturated(fn, op, *arm) for arm in zip(arms, lowered, strict=True))
    return first, second


def ones_yielded(fn: FunctionLowering, op: scf.IfOp) -> tuple[frozenset[int], frozenset[int]]:
    """Returns which results of each arm of a branch are to be hidden: drivers make selections of short branches."""
    arms = set[int](), set[int]()
    if fn.module.env.saturates_minima and fn.has_inputs:
        for index, result in enumerate(op.results):
            if not is_float(result.type) or _is_harmless(result):
                continue
            values = yielded(op, result)
            are_known = [fn.module.known_numbers.is_known(value) for value in values]
            if are_known.count(True) == 1 and _is_literal_one(values[are_known.index(True)]):
                arms[are_known.index(True)].add(index)
    return frozenset(arms[0]), frozenset(arms[1])


def _unsaturated(fn: FunctionLowering, op: Operation, value: SSAValue, lowered: SSAValue) -> SSAValue:
    is_misused = fn.module.env.saturates_minima and fn.has_inputs and not _is_harmless(op.results[0])
    return hidden(fn, lowered) if is_misused and _may_be_one(fn, value, lowered) else lowered


def _is_literal_one(value: SSAValue) -> bool:
    attribute = constant_attribute(value)
    return is_float_attribute(attribute) and attribute.value.data == 1


def _is_harmless(minimum: SSAValue) -> bool:
    return all(isinstance(use.operation, _HARMLESS) for use in minimum.uses)


def _may_be_one(fn: FunctionLowering, value: SSAValue, lowered: SSAValue) -> bool:
    number = fn.constant_number(lowered)
    return fn.module.known_numbers.is_known(value) if number is None else number == 1
