"""Negations of truth values as floats, which NVIDIA's driver takes for 0.0 where it is -0.0 (`vk_runtime.quirks`).

The driver makes -float(c) of a choice of ones and zeros, also where it is chosen again, carried by a loop, handed on by
a function or kept in memory.  So what is negated is hidden from it wherever it may have been such a choice.  What
`spirv.negated_truths` does for modules of other compilers.
"""

from __future__ import annotations

from xdsl.dialects import arith, func, scf
from xdsl.ir import Block, SSAValue

from .function_lowering import FunctionLowering
from .known_numbers import yielded
from .known_zeros import hidden
from .types import is_bool
from .value_samples import LOADS, arriving, carried

_DEPTH = 12
"""How many operations are followed; what lies behind is taken for a truth value."""
_THROUGH = (
    arith.SIToFPOp,
    arith.UIToFPOp,
    arith.ExtFOp,
    arith.TruncFOp,
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.TruncIOp,
    arith.NegfOp,
)
"""What hands a number on as another type, or its negation."""


def negatable(fn: FunctionLowering, value: SSAValue) -> SSAValue:
    """Returns a lowered float that is negated."""
    lowered = fn.value(value)
    if not fn.module.env.loses_negated_truths or not fn.has_inputs:
        return lowered
    return hidden(fn, lowered) if _may_be_truth(fn, value, set(), _DEPTH) else lowered


def _may_be_truth(fn: FunctionLowering, value: SSAValue, seen: set[SSAValue], depth: int) -> bool:
    if value in seen:
        return False
    seen.add(value)
    if is_bool(fn.type(value.type)) or depth == 0:
        return True
    before = _before(fn, value)
    if sum(isinstance(source.owner, arith.ConstantOp) for source in before) > 1:
        return True  # a choice of constants
    if _is_kept_truth(fn, value, seen, depth):
        return True
    return any(_may_be_truth(fn, source, seen, depth - 1) for source in before)


def _before(fn: FunctionLowering, value: SSAValue) -> list[SSAValue]:
    """Returns what a value may be, of another type or sign."""
    owner = value.owner
    if isinstance(owner, Block):
        return arriving(owner, owner.args.index(value))
    if isinstance(owner, arith.SelectOp):
        return list(owner.operands[1:])
    if isinstance(owner, scf.IfOp):
        return yielded(owner, value)
    if isinstance(owner, func.CallOp):
        result = fn.module.known_numbers.result_of(owner, value)
        return [] if result is None else [result]
    if isinstance(owner, scf.ForOp | scf.WhileOp):
        return carried(owner, owner.results.index(value))
    return list(owner.operands) if isinstance(owner, _THROUGH) else []


def _is_kept_truth(fn: FunctionLowering, value: SSAValue, seen: set[SSAValue], depth: int) -> bool:
    owner = value.owner
    if isinstance(owner, Block) or owner.name not in LOADS:
        return False
    return fn.module.known_numbers.may_hold(
        owner.operands[0], lambda stored: _may_be_truth(fn, stored, seen, depth - 1)
    )
