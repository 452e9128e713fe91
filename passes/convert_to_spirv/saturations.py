"""Minima of which a driver may make saturations, which turn NaN into 0.0: `arith.minnumf` with 1.0.

    max(0.0, min(1.0, x)) is 1.0 for a NaN, since its minimum is; NVIDIA's driver gives 0.0 (`vk_runtime.quirks`)

So the 1.0 is hidden from it.  min(1.0, max(0.0, x)), which is what `lp.math.clamp` is, gives 0.0 for NaN by itself.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from .function_lowering import FunctionLowering
from .known_zeros import hidden

_HARMLESS = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp)
"""What the driver makes no part of a saturation."""


def minimum_operands(fn: FunctionLowering, op: Operation) -> tuple[SSAValue, SSAValue]:
    """Returns the lowered operands of `arith.minnumf`, of which a 1.0 is hidden where the driver may misuse it."""
    first, second = op.operands
    a, b = fn.value(first), fn.value(second)
    if fn.module.env.saturates_minima and fn.has_inputs and not _is_harmless(op.results[0]):
        if _may_be_one(fn, first, a):
            a = hidden(fn, a)
        if _may_be_one(fn, second, b):
            b = hidden(fn, b)
    return a, b


def _is_harmless(minimum: SSAValue) -> bool:
    return all(isinstance(use.operation, _HARMLESS) for use in minimum.uses)


def _may_be_one(fn: FunctionLowering, value: SSAValue, lowered: SSAValue) -> bool:
    number = fn.constant_number(lowered)
    return fn.module.known_numbers.is_known(value) if number is None else number == 1
