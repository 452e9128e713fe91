"""Minima of which a driver may make saturations, which turn NaN into 0.0: `arith.minnumf` with 1.0.

    max(0.0, min(1.0, x)) is 1.0 for a NaN, since its minimum is; NVIDIA's driver gives 0.0 (`vk_runtime.quirks`)
    max(0.0, x if x < 1.0 else 1.0) is, too

So the 1.0 is hidden from it.  min(1.0, max(0.0, x)), which is what `lp.math.clamp` is, gives 0.0 for NaN by itself.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from .function_lowering import FunctionLowering
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
    """Returns the lowered arms of a selection; the same where it chooses between 1.0 and what it compared."""
    condition, *arms = op.operands
    if not isinstance(condition.owner, arith.CmpfOp) or not set(condition.owner.operands) & set(arms):
        return lowered
    first, second = (_unsaturated(fn, op, *arm) for arm in zip(arms, lowered, strict=True))
    return first, second


def _unsaturated(fn: FunctionLowering, op: Operation, value: SSAValue, lowered: SSAValue) -> SSAValue:
    is_misused = fn.module.env.saturates_minima and fn.has_inputs and not _is_harmless(op.results[0])
    return hidden(fn, lowered) if is_misused and _may_be_one(fn, value, lowered) else lowered


def _is_harmless(minimum: SSAValue) -> bool:
    return all(isinstance(use.operation, _HARMLESS) for use in minimum.uses)


def _may_be_one(fn: FunctionLowering, value: SSAValue, lowered: SSAValue) -> bool:
    if not is_float(scalar_of(lowered.type)):
        return False
    number = fn.constant_number(lowered)
    return fn.module.known_numbers.is_known(value) if number is None else number == 1
