"""What operations of `arith` give for the samples of `value_samples`."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ..optimise.constants import integer_width, unsigned, wrap
from ..optimise.fold_floats import is_true
from ..optimise.fold_integers import compares, computes

Number = int | float

_CASTS = (arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.IndexCastOp)
_FROM_INTEGERS = (arith.SIToFPOp, arith.UIToFPOp)
_TO_INTEGERS = (arith.FPToSIOp, arith.FPToUIOp)
_EXTREMA: dict[type[Operation], Callable[[float, float], float]] = {
    arith.MinnumfOp: min,
    arith.MaxnumfOp: max,
}


def computed(owner: Operation, value: SSAValue, numbers: Sequence[Number]) -> Number | None:
    """Returns what an operation of `arith` gives; None where that is not defined, or it is not followed."""
    kind, a, b = type(owner), numbers[0], numbers[-1]
    if isinstance(a, float) or isinstance(b, float):
        return _of_floats(owner, value, float(a), float(b))
    width, inner = integer_width(value.type), integer_width(owner.operands[0].type)
    if isinstance(owner, arith.CmpiOp):
        return -1 if compares(owner.predicate.value.data, a, b, inner or 32) else 0
    if kind in _CASTS and width is not None:
        return wrap(unsigned(a, inner or 32) if kind is arith.ExtUIOp else a, width)
    if kind in _FROM_INTEGERS:
        return _rounded(unsigned(a, inner or 32) if kind is arith.UIToFPOp else a)
    if kind is arith.BitcastOp:
        return struct.unpack("<f", struct.pack("<i", a))[0] if width is None and inner == 32 else None
    return None if width is None or len(numbers) != 2 else computes(kind, a, b, width)


def _of_floats(owner: Operation, value: SSAValue, a: float, b: float) -> Number | None:
    kind = type(owner)
    if kind in _EXTREMA:
        return _EXTREMA[kind](a, b)
    if isinstance(owner, arith.CmpfOp):
        return -1 if is_true(owner.predicate.value.data, a, b) else 0
    width = integer_width(value.type)
    if kind in _TO_INTEGERS and width is not None and math.isfinite(a):
        return wrap(math.trunc(a), width)
    if kind is arith.BitcastOp and width == 32:
        return struct.unpack("<i", struct.pack("<f", _rounded(a)))[0]
    return None


def _rounded(number: float) -> float:
    """Returns a number as f32 has it."""
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return math.inf
