"""Types of random kernels written for MLIR, and what their operations compute.

An integer is Python's, signed whatever reads it, so that true is -1; a float is NumPy's; a vector is a tuple of these.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 32}
FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
COMMON = ("i1", "i32", "index", "f32")
"""Types that every device has."""
WIDE = ("i8", "i16", "i64", "f16", "f64")


class NotSpecifiedError(Exception):
    """A program does what devices do in their own ways, or takes too long."""


class Kind(NamedTuple):
    """A scalar or a vector."""

    element: str
    size: int = 0
    """Components of a vector, 0 of a scalar."""

    def __str__(self) -> str:
        return f"vector<{self.size}x{self.element}>" if self.size else self.element

    @property
    def is_float(self) -> bool:
        """Whether its elements are floats."""
        return self.element in FLOATS

    def of(self, element: str) -> Kind:
        """Returns the type of as many other elements."""
        return Kind(element, self.size)

    def each(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns what does to values of this size what a function does to each component."""
        if not self.size:
            return function
        return lambda *values: tuple(function(*parts) for parts in zip(*values, strict=True))


TRUTH, INDEX, I32, F32 = Kind("i1"), Kind("index"), Kind("i32"), Kind("f32")


def signed(value: int, element: str) -> int:
    """Returns the number of an integer type that has the low bits of another."""
    bits = BITS[element]
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def unsigned(value: int, element: str) -> int:
    """Returns a number of an integer type as one that is never negative."""
    return value & ((1 << BITS[element]) - 1)


def integer_operation(name: str, element: str) -> Callable[[int, int], int]:
    """Returns what an operation of `arith` computes of two integers."""
    function, reads_unsigned = INTEGER_OPERATIONS[name]
    if reads_unsigned:
        return lambda a, b: signed(function(unsigned(a, element), unsigned(b, element)), element)
    return lambda a, b: signed(function(a, b), element)


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _up(a: int, b: int) -> int:
    return -(-a // b)


INTEGER_OPERATIONS: dict[str, tuple[Callable[[int, int], int], bool]] = {
    "addi": (operator.add, False),
    "subi": (operator.sub, False),
    "muli": (operator.mul, False),
    "andi": (operator.and_, False),
    "ori": (operator.or_, False),
    "xori": (operator.xor, False),
    "minsi": (min, False),
    "maxsi": (max, False),
    "minui": (min, True),
    "maxui": (max, True),
    "shli": (operator.lshift, False),
    "shrsi": (operator.rshift, False),
    "shrui": (operator.rshift, True),
    "divsi": (_truncated, False),
    "divui": (operator.floordiv, True),
    "remsi": (lambda a, b: a - b * _truncated(a, b), False),
    "remui": (operator.mod, True),
    "floordivsi": (operator.floordiv, False),
    "ceildivsi": (_up, False),
    "ceildivui": (_up, True),
}
"""What each computes, and whether it reads its operands as unsigned numbers."""
PLAIN = tuple(INTEGER_OPERATIONS)[:10]
"""Operations of any two integers."""
SHIFTS = ("shli", "shrsi", "shrui")
DIVISIONS = tuple(INTEGER_OPERATIONS)[13:]
REDUCTIONS = {"add": "addi", "mul": "muli", "and": "andi", "or": "ori", "xor": "xori", "minsi": "minsi",
              "maxui": "maxui"}  # fmt: skip
"""Kinds of `vector.reduction` and the operation of two components."""
_ORDERS = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
INTEGER_TESTS = ("eq", "ne", *("s" + name for name in _ORDERS), *("u" + name for name in _ORDERS))
_FLOAT_ORDERS = {**_ORDERS, "eq": operator.eq, "ne": operator.ne}
FLOAT_TESTS = ("ord", "uno", *("o" + name for name in _FLOAT_ORDERS), *("u" + name for name in _FLOAT_ORDERS))


def integer_test(name: str, element: str) -> Callable[[int, int], int]:
    """Returns what `arith.cmpi` gives of two integers."""
    if name in ("eq", "ne"):
        return lambda a, b: -int((a == b) == (name == "eq"))
    function = _ORDERS[name[1:]]
    if name[0] == "u":
        return lambda a, b: -int(function(unsigned(a, element), unsigned(b, element)))
    return lambda a, b: -int(function(a, b))


def float_test(name: str) -> Callable[[Any, Any], int]:
    """Returns what `arith.cmpf` gives of two floats."""
    if name in ("ord", "uno"):
        return lambda a, b: -int(bool(np.isnan(a) or np.isnan(b)) == (name == "uno"))
    function = _FLOAT_ORDERS[name[1:]]
    return lambda a, b: -int(name[0] == "u" if np.isnan(a) or np.isnan(b) else bool(function(a, b)))


CHOICES = {"minnumf": np.fmin, "maxnumf": np.fmax, "minimumf": np.minimum, "maximumf": np.maximum}
ARITHMETIC = {"addf": np.add, "subf": np.subtract, "mulf": np.multiply}


def float_operation(name: str, element: str) -> Callable[[Any, Any], Any]:
    """Returns what an operation of `arith` computes of two floats.

    A zero may come out with either sign, which no operation here makes visible.
    """
    if name in CHOICES:
        return lambda a, b: FLOATS[element](CHOICES[name](a, b))
    return lambda a, b: normal(FLOATS[element](ARITHMETIC[name](a, b)))


def normal(value: Any) -> Any:
    """Returns a float; raises `NotSpecifiedError` where devices may flush it to zero."""
    if 0 < abs(value) < np.finfo(type(value)).tiny:
        raise NotSpecifiedError
    return value


def float_of(value: int, element: str) -> Any:
    """Returns the float that is nearest to an integer of 64 bits."""
    return FLOATS[element](np.uint64(value) if value >= 0 else np.int64(value))


def bounds(element: str, integer: str, *, is_unsigned: bool) -> tuple[Any, Any]:
    """Returns the least and the greatest float of a type that an integer type has a number for."""
    make, bits = FLOATS[element], BITS[integer] - (not is_unsigned)
    with np.errstate(over="ignore"):
        above = np.nextafter(make(2.0**bits), make(0))
        least = max(make(0.0 if is_unsigned else -(2.0**bits)), np.finfo(make).min)
    return least, above


def spelled(value: Any, kind: Kind) -> str:
    """Returns a constant as `arith.constant` has it."""
    if kind.size:
        parts = [_number(part, kind.element) for part in value]
        text = parts[0] if len(set(parts)) == 1 else f"[{', '.join(parts)}]"
        return f"dense<{text}> : {kind}"
    return _number(value, kind.element) if kind == TRUTH else f"{_number(value, kind.element)} : {kind}"


def _number(value: Any, element: str) -> str:
    if element in FLOATS:
        return f"{float(value):.17e}"
    if element == "i1":
        return "true" if value else "false"
    return str(value)
