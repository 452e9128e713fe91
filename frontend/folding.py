"""Arithmetic on constants while a kernel is compiled, with the results that the device would give.

Literals are Python numbers of any size until they meet a type; integers of a type wrap.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

MAXIMUM_LITERAL_BITS = 4096
"""Literals longer than this are refused: ``1 << 10**9`` must not fill the memory of the compiler."""

Number = int | float


class TooLargeError(Exception):
    """A literal expression whose value has more than `MAXIMUM_LITERAL_BITS` bits."""


def _floor_divide(left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int):
        return left // right if right else 0
    if not right:
        return _divide(left, right)
    return left // right if math.isfinite(left) else math.nan


def _modulo(left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int):
        return left % right if right else 0
    return left % right if right and math.isfinite(left) else math.nan


def _divide(left: Number, right: Number) -> float:
    if right:
        return float(left) / float(right)
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, math.copysign(1.0, left) * math.copysign(1.0, right))


def _shift_left(left: Number, right: Number) -> int:
    if right < 0 or right > MAXIMUM_LITERAL_BITS:
        raise TooLargeError
    return int(left) << int(right)


def _shift_right(left: Number, right: Number) -> int:
    if right < 0:
        raise TooLargeError
    return int(left) >> min(int(right), MAXIMUM_LITERAL_BITS)


def _power(left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int):
        if abs(left) > 1 and left.bit_length() * right > MAXIMUM_LITERAL_BITS:
            raise TooLargeError
        return left**right
    try:
        result = float(left) ** float(right)
    except ZeroDivisionError:
        return math.inf
    except OverflowError:
        return math.inf
    return math.nan if isinstance(result, complex) else result


_FOLDS: dict[str, Callable[[Number, Number], Number]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": _divide,
    "FloorDiv": _floor_divide,
    "Mod": _modulo,
    "LShift": _shift_left,
    "RShift": _shift_right,
    "BitAnd": lambda a, b: int(a) & int(b),
    "BitOr": lambda a, b: int(a) | int(b),
    "BitXor": lambda a, b: int(a) ^ int(b),
    "Pow": _power,
}

_COMPARISONS: dict[str, Callable[[Number, Number], bool]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
}


def fold(operation: str, left: Number, right: Number) -> Number:
    """Returns ``left operation right``.

    Raises:
        TooLargeError: the value is too long to be a sensible literal.
    """
    try:
        value = _FOLDS[operation](left, right)
    except OverflowError:
        raise TooLargeError from None
    if isinstance(value, int) and value.bit_length() > MAXIMUM_LITERAL_BITS:
        raise TooLargeError
    return value


def fold_comparison(operation: str, left: Number, right: Number) -> bool:
    """Returns ``left operation right`` of a comparison."""
    return _COMPARISONS[operation](left, right)
