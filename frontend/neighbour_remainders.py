"""Remainders of neighbours, ``(i - 1) % n`` and ``(i + 1) % n``, found from one another.

Neither GPUs nor the vector units of CPUs divide integers, so a remainder by a number that is known at run time only
takes as long as some thirty sums.  Programs on a torus ask for several of them, one apart:

    a[(y - 1) % h, x] + a[y, x] + a[(y + 1) % h, x]

Of ``r = y % h`` the next one is ``0 if r == h - 1 else r + 1``, whatever `h`, and 0 where that is 0.  The divisor may
be negative too: remainders go from ``h + 1`` to 0 then.  That holds where no sum wraps around, as the bounds of both
say.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.ir import OpResult, SSAValue

from ..ir.attribute_values import integer
from .conversions import CMPI
from .function_builder import FunctionBuilder
from .ir_types import BOOL, ir_type
from .values import Scalar

_STEPS = (0, 1, -1, 2, -2, 3, -3)
"""How far a remainder may be that another one is found from, near ones first; a step takes about three operations."""


def neighbour_remainder(
    fb: FunctionBuilder, left: Scalar, right: Scalar, divide: Callable[[Scalar], SSAValue | None]
) -> SSAValue | None:
    """Emits ``left % right``, both of one integer type, from a remainder near it or by a division.

    Args:
        fb: keeps the remainders that dominate the current place.
        left: the dividend.
        right: the divisor; by one that is known drivers do not divide but multiply.
        divide: emits the remainder of a dividend by itself.
    """
    divisor, is_known = right.ssa, left.const is not None or right.const is not None
    if is_known or left.ssa is None or left.bounds is None or divisor is None:
        return divide(left)
    base, offset = _apart(left.ssa)

    def key(place: int) -> object:
        # The type too: a conversion between signed and unsigned leaves the value in the IR the same, as here its bits.
        return neighbour_remainder, base, divisor, left.type, place

    def divided(dividend: Scalar, place: int) -> SSAValue:
        made = divide(dividend)
        assert made is not None
        return fb.keep(key(place), made)

    if left.bounds[0] < 0 and right.is_nonnegative and _is_near(left, offset) and fb.kept(key(0)) is None:
        # Unsigned, which is quicker; what was asked for is found from it.
        divided(Scalar(left.type, base, bounds=(0, left.bounds[1] - offset)), 0)
    for distance in _STEPS:
        value = fb.kept(key(offset + distance))
        if value is None:
            continue
        step = -1 if distance > 0 else 1
        for place in range(offset + distance, offset, step):
            value = _stepped(fb, value, right, step)
            fb.keep(key(place + step), value)
        return value
    return divided(left, offset)


def _is_near(left: Scalar, offset: int) -> bool:
    """Whether a number that may be below 0 is a few steps below one that is not."""
    assert left.bounds is not None
    return left.bounds[0] - offset >= 0 and -offset in _STEPS


def _apart(value: SSAValue) -> tuple[SSAValue, int]:
    """Returns what a sum of a number and constants is without these, and their sum.  No part of it wraps around where
    bounds of the whole are known."""
    offset = 0
    while isinstance(value, OpResult) and isinstance(value.op, arith.AddiOp | arith.SubiOp):
        left, right = value.op.operands
        made_by = right.op if isinstance(right, OpResult) else None
        number = integer(made_by.properties["value"]) if isinstance(made_by, arith.ConstantOp) else None
        if number is None:
            break
        offset += number if isinstance(value.op, arith.AddiOp) else -number
        value = left
    return value, offset


def _stepped(fb: FunctionBuilder, value: SSAValue, right: Scalar, step: int) -> SSAValue:
    """Emits the remainder of the number that lies a step of 1 or -1 from one whose remainder `value` is."""
    kind, boolean, divisor = ir_type(right.type), ir_type(BOOL), fb.ssa(right)
    zero, one = fb.constant(0, right.type), fb.constant(1, right.type)
    less = fb.emit(arith.SubiOp, [divisor, one], kind)
    if not right.type.is_signed or right.is_nonnegative:
        is_number = fb.emit(arith.CmpiOp, [divisor, zero], boolean, CMPI["ne"])
        most, least = fb.emit(arith.SelectOp, [is_number, less, zero], kind), zero
    else:
        is_positive = fb.emit(arith.CmpiOp, [divisor, zero], boolean, CMPI["sgt"])
        is_negative = fb.emit(arith.CmpiOp, [divisor, zero], boolean, CMPI["slt"])
        more = fb.emit(arith.AddiOp, [divisor, one], kind)
        most = fb.emit(arith.SelectOp, [is_positive, less, zero], kind)
        least = fb.emit(arith.SelectOp, [is_negative, more, zero], kind)
    end, start = (most, least) if step > 0 else (least, most)
    is_end = fb.emit(arith.CmpiOp, [value, end], boolean, CMPI["eq"])
    moved = fb.emit(arith.AddiOp if step > 0 else arith.SubiOp, [value, one], kind)
    result = fb.emit(arith.SelectOp, [is_end, start, moved], kind)
    assert result is not None
    return result
