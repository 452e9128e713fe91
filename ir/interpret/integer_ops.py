"""Arithmetic of integers and bools, which wraps; comparisons; selection."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation

from ..attribute_values import integer
from ..errors import InvalidError
from .dispatch import Handler, handles, handles_elementwise
from .frame import Frame
from .scalars import Lanes, constant, is_scalar, number, unsigned
from .traps import UNDEFINED
from .values import constituents, construct, merge

_Function = Callable[[Lanes, Lanes], Lanes]


def _minimum_signed(a: Lanes, b: Lanes) -> Lanes:
    return np.logical_or(a, b) if a.dtype.kind == "b" else np.minimum(a, b)  # true is -1


def _maximum_signed(a: Lanes, b: Lanes) -> Lanes:
    return np.logical_and(a, b) if a.dtype.kind == "b" else np.maximum(a, b)


def minimum_unsigned(a: Lanes, b: Lanes) -> Lanes:
    """Returns the smaller of unsigned integers."""
    return np.where(unsigned(a) < unsigned(b), a, b)


def maximum_unsigned(a: Lanes, b: Lanes) -> Lanes:
    """Returns the larger of unsigned integers."""
    return np.where(unsigned(a) > unsigned(b), a, b)


def _sum(a: Lanes, b: Lanes) -> Lanes:
    return np.bitwise_xor(a, b) if a.dtype.kind == "b" else np.add(a, b)


def _difference(a: Lanes, b: Lanes) -> Lanes:
    return np.bitwise_xor(a, b) if a.dtype.kind == "b" else np.subtract(a, b)


handles_elementwise(
    {
        "arith.addi": _sum,
        "arith.subi": _difference,
        "arith.muli": np.multiply,
        "arith.andi": np.bitwise_and,
        "arith.ori": np.bitwise_or,
        "arith.xori": np.bitwise_xor,
        "arith.minsi": _minimum_signed,
        "arith.maxsi": _maximum_signed,
        "arith.minui": minimum_unsigned,
        "arith.maxui": maximum_unsigned,
    }
)


@handles("arith.constant")
def constant_(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Returns a number for all work-items."""
    type_, attribute = op.results[0].type, op.properties["value"]
    if is_scalar(type_):
        return (frame.full(constant(attribute, type_)),)
    if not isinstance(attribute, DenseIntOrFPElementsAttr):
        raise InvalidError(f"the interpreter has no constants such as {attribute}; expected a number")
    types = constituents(type_)
    given = cast("Sequence[int | float]", attribute.get_values())
    numbers = given if len(given) == len(types) else [given[0]] * len(types)
    return (construct(type_, [frame.full(number(n, t)) for n, t in zip(numbers, types, strict=True)]),)


@handles("ub.poison")
def poison(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Returns zeros, as devices do: nothing may depend on them."""
    type_ = op.results[0].type
    if is_scalar(type_):
        return (frame.full(number(0, type_)),)
    return (construct(type_, [frame.full(number(0, part)) for part in constituents(type_)]),)


# Two results


def _extended(kind: Callable[[int, int], int], *, is_signed: bool) -> Handler:
    """Returns the handler of an operation whose result has twice the bits: the low half and the high half."""

    def execute(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
        a, b = operands if is_signed else (unsigned(operand) for operand in operands)
        bits, dtype = a.dtype.itemsize * 8, op.results[0].type
        wide = [kind(int(x), int(y)) for x, y in zip(a.ravel(), b.ravel(), strict=True)]
        halves = ([number(w, dtype) for w in wide], [number(w >> bits, dtype) for w in wide])
        return [np.array(half).reshape(a.shape) for half in halves]

    return execute


@handles("arith.addui_extended")
def add_with_carry(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Returns the sum and whether it wrapped."""
    total = np.add(*operands)
    return total, unsigned(total) < unsigned(operands[0])


handles("arith.mulsi_extended")(_extended(operator.mul, is_signed=True))
handles("arith.mului_extended")(_extended(operator.mul, is_signed=False))


# Division and shifts


def _truncated(a: Lanes, b: Lanes) -> Lanes:
    quotient = np.floor_divide(a, b)
    is_inexact = quotient * b != a
    return quotient + (is_inexact & ((a < 0) != (b < 0)))


def _remainder(a: Lanes, b: Lanes) -> Lanes:
    return a - _truncated(a, b) * b


def _ceiling(a: Lanes, b: Lanes) -> Lanes:
    quotient = np.floor_divide(a, b)
    return quotient + (quotient * b != a)


def _division(function: _Function, *, is_signed: bool) -> Handler:
    """Divides where it is defined; by 0, and of the smallest integer by -1, it is not."""

    def execute(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
        a, b = operands
        is_bad = b == 0
        if is_signed:
            is_bad |= (b == -1) & (a == np.iinfo(a.dtype).min)
        _require_defined(frame, op, is_bad, lambda lane: f"{a[lane]} divided by {b[lane]}")
        safe = np.where(is_bad, 1, b).astype(b.dtype)
        if is_signed:
            return (function(a, safe).astype(a.dtype),)
        return (function(unsigned(a), unsigned(safe)).astype(f"u{a.dtype.itemsize}").view(a.dtype),)

    return execute


def _shift(function: _Function, *, is_signed: bool) -> Handler:
    """Shifts by less than the width; by more it is not defined."""

    def execute(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
        a, count = operands
        width = a.dtype.itemsize * 8
        is_bad = unsigned(count) >= width
        _require_defined(frame, op, is_bad, lambda lane: f"{width} bits shifted by {count[lane]}")
        safe = np.where(is_bad, 0, count).astype(a.dtype)
        if is_signed:
            return (function(a, safe),)
        return (function(unsigned(a), unsigned(safe)).view(a.dtype),)

    return execute


def _require_defined(frame: Frame, op: Operation, is_bad: Lanes, spell: Callable[[int], str]) -> None:
    """Raises KernelTrap where an active work-item computes what SPIR-V leaves undefined."""
    if not is_bad.any():
        return
    by_lane = is_bad.reshape(len(is_bad), -1).any(axis=1)
    bad = np.flatnonzero(by_lane & frame.mask)
    if len(bad):
        frame.trap(op, UNDEFINED, int(bad[0]), f"devices leave undefined what comes of {spell(int(bad[0]))}")


for _name, _function, _is_signed in (
    ("divsi", _truncated, True),
    ("remsi", _remainder, True),
    ("floordivsi", np.floor_divide, True),
    ("ceildivsi", _ceiling, True),
    ("divui", np.floor_divide, False),
    ("remui", np.remainder, False),
    ("ceildivui", _ceiling, False),
):
    handles(f"arith.{_name}")(_division(_function, is_signed=_is_signed))
for _name, _function, _is_signed in (
    ("shli", np.left_shift, False),
    ("shrui", np.right_shift, False),
    ("shrsi", np.right_shift, True),
):
    handles(f"arith.{_name}")(_shift(_function, is_signed=_is_signed))


# Comparison and selection

_COMPARISONS: tuple[_Function, ...] = (
    np.equal,
    np.not_equal,
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
)
"""By predicate: eq ne slt sle sgt sge; then the last four for unsigned integers."""


@handles("arith.cmpi")
def compare(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Compares integers; a bool is the number 0 or, where it has a sign, -1."""
    predicate = integer(op.properties["predicate"])
    assert predicate is not None
    a, b = operands
    is_signed = predicate < len(_COMPARISONS)
    if a.dtype.kind == "b":
        a, b = (-v.astype(np.int8) if is_signed else v.astype(np.int8) for v in (a, b))
    if is_signed:
        return (_COMPARISONS[predicate](a, b),)
    return (_COMPARISONS[predicate - 4](unsigned(a), unsigned(b)),)


@handles("arith.select")
def select(frame: Frame, op: Operation, operands: list[Any]) -> Sequence[Any]:
    """Chooses one of two values."""
    condition: Lanes = operands[0]
    _, if_true, if_false = operands
    if condition.ndim > 1:
        return (np.where(condition, cast("Lanes", if_true), cast("Lanes", if_false)),)
    return (merge(condition, if_true, if_false),)
