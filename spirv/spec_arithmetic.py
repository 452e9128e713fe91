"""Arithmetic on constants: what each integer and bool instruction computes.

Numbers are given as unsigned bits of a width.  Division by zero and shifts by the width or more have no defined
value in SPIR-V: 0 is taken.  Standard library only.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Final

from .tables import Op


def integer(opcode: int, width: int, operands: Sequence[int]) -> int | None:
    """Returns the result of an instruction on integers, not yet cut to its width; None where it is no such."""
    if len(operands) == 1 and opcode in _UNARY:
        is_signed, unary = _UNARY[opcode]
        return unary(_read(operands[0], width, is_signed))
    if len(operands) != 2:
        return None
    if opcode in _SHIFTS:
        is_signed, shift = _SHIFTS[opcode]
        # The count is unsigned, and may have another width than what is shifted.
        return shift(_read(operands[0], width, is_signed), operands[1]) if operands[1] < width else 0
    if opcode in _BINARY:
        is_signed, binary = _BINARY[opcode]
        return binary(*(_read(value, width, is_signed) for value in operands))
    return None


def comparison(opcode: int, width: int, operands: Sequence[int]) -> bool | None:
    """Returns the result of a comparison of integers; None where the instruction is no such."""
    if opcode not in _COMPARISONS or len(operands) != 2:
        return None
    is_signed, compare = _COMPARISONS[opcode]
    return compare(*(_read(value, width, is_signed) for value in operands))


def logical(opcode: int, operands: Sequence[bool]) -> bool | None:
    """Returns the result of an instruction on bools; None where it is no such."""
    if opcode == Op.LogicalNot and len(operands) == 1:
        return not operands[0]
    compute = _LOGICAL.get(opcode)
    return None if compute is None or len(operands) != 2 else compute(*operands)


def _read(bits: int, width: int, is_signed: bool) -> int:
    return bits - (1 << width) if is_signed and bits >> (width - 1) & 1 else bits


def _quotient(a: int, b: int) -> int:
    """Truncates towards zero."""
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    """Has the sign of `a`."""
    return 0 if b == 0 else a - b * _quotient(a, b)


def _modulo(a: int, b: int) -> int:
    """Has the sign of `b`."""
    return 0 if b == 0 else a % b


def _either(a: bool, b: bool) -> bool:
    return a or b


def _both(a: bool, b: bool) -> bool:
    return a and b


def _same(a: int) -> int:
    return a


_Unary = Callable[[int], int]
_Binary = Callable[[int, int], int]

_UNARY: Final[dict[int, tuple[bool, _Unary]]] = {
    Op.SConvert: (True, _same),
    Op.UConvert: (False, _same),
    Op.SNegate: (True, operator.neg),
    Op.Not: (False, operator.invert),
}
"""Whether operands are read as signed, and what is computed."""

_BINARY: Final[dict[int, tuple[bool, _Binary]]] = {
    Op.IAdd: (False, operator.add),
    Op.ISub: (False, operator.sub),
    Op.IMul: (False, operator.mul),
    Op.UDiv: (False, _quotient),
    Op.SDiv: (True, _quotient),
    Op.UMod: (False, _modulo),
    Op.SRem: (True, _remainder),
    Op.SMod: (True, _modulo),
    Op.BitwiseOr: (False, int.__or__),
    Op.BitwiseXor: (False, int.__xor__),
    Op.BitwiseAnd: (False, int.__and__),
}

_SHIFTS: Final[dict[int, tuple[bool, _Binary]]] = {
    Op.ShiftLeftLogical: (False, int.__lshift__),
    Op.ShiftRightLogical: (False, int.__rshift__),
    Op.ShiftRightArithmetic: (True, int.__rshift__),
}

_COMPARISONS: Final[dict[int, tuple[bool, Callable[[int, int], bool]]]] = {
    Op.IEqual: (False, operator.eq),
    Op.INotEqual: (False, operator.ne),
    Op.ULessThan: (False, operator.lt),
    Op.SLessThan: (True, operator.lt),
    Op.UGreaterThan: (False, operator.gt),
    Op.SGreaterThan: (True, operator.gt),
    Op.ULessThanEqual: (False, operator.le),
    Op.SLessThanEqual: (True, operator.le),
    Op.UGreaterThanEqual: (False, operator.ge),
    Op.SGreaterThanEqual: (True, operator.ge),
}

_LOGICAL: Final[dict[int, Callable[[bool, bool], bool]]] = {
    Op.LogicalOr: _either,
    Op.LogicalAnd: _both,
    Op.LogicalEqual: operator.eq,
    Op.LogicalNotEqual: operator.ne,
}
