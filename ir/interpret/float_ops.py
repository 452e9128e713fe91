"""Arithmetic and comparison of floats: IEEE's, rounded once to the type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ..attribute_values import integer
from .dispatch import Handler, handles
from .frame import Frame
from .scalars import Lanes, is_bf16, rounded_to_bf16


def minimum_number(a: Lanes, b: Lanes) -> Lanes:
    """IEEE's minNum: a NaN gives the other operand."""
    return np.fmin(a, b)


def maximum_number(a: Lanes, b: Lanes) -> Lanes:
    """IEEE's maxNum: a NaN gives the other operand."""
    return np.fmax(a, b)


def _signed_zero(function: Callable[[Lanes, Lanes], Lanes], *, is_maximum: bool) -> Any:
    """minimum and maximum of IEEE 754-2019: NaN wins, and -0.0 is less than 0.0."""

    def choose(a: Lanes, b: Lanes) -> Lanes:
        is_tie = (a == 0) & (b == 0)
        takes_a = np.signbit(a) != is_maximum
        return np.where(is_tie, np.where(takes_a, a, b), function(a, b))

    return choose


def rounded(function: Callable[..., Lanes]) -> Handler:
    """Returns the handler of a function of floats of one type."""

    def execute(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
        result = function(*operands).astype(operands[0].dtype)
        return (rounded_to_bf16(result) if is_bf16(op.results[0].type) else result,)

    return execute


for _name, _function in (
    ("addf", np.add),
    ("subf", np.subtract),
    ("mulf", np.multiply),
    ("divf", np.divide),
    ("remf", np.fmod),
    ("negf", np.negative),
    ("minnumf", minimum_number),
    ("maxnumf", maximum_number),
    ("minimumf", _signed_zero(np.minimum, is_maximum=False)),
    ("maximumf", _signed_zero(np.maximum, is_maximum=True)),
):
    handles(f"arith.{_name}")(rounded(_function))

_ORDERED: dict[int, Callable[[Lanes, Lanes], Lanes]] = {
    1: np.equal,
    2: np.greater,
    3: np.greater_equal,
    4: np.less,
    5: np.less_equal,
    6: lambda a, b: (a < b) | (a > b),
    7: lambda a, b: ~_is_unordered(a, b),
}
"""By predicate: oeq ogt oge olt ole one ord; 7 more, and an operand may be NaN; 0 is false, 15 true."""


def _is_unordered(a: Lanes, b: Lanes) -> Lanes:
    return np.isnan(a) | np.isnan(b)


@handles("arith.cmpf")
def compare(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Compares floats."""
    predicate = integer(op.properties["predicate"])
    assert predicate is not None
    a, b = operands
    if predicate in (0, 15):
        return (np.full(a.shape, predicate == 15),)
    if predicate <= 7:
        return (_ORDERED[predicate](a, b),)
    if predicate == 14:
        return (_is_unordered(a, b),)
    return (_ORDERED[predicate - 7](a, b) | _is_unordered(a, b),)
