"""Folding of integer arithmetic: exact, with the wrap-around of the operand's width.

Division and remainder by zero and shifts by the width or more are left alone: their result is not defined.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...ir.narrowing import is_any_integer, is_integer_attribute, is_integer_type
from ...ir.walk import operands_of
from .constants import bool_attribute, constant_integer, integer_attribute, integer_width, unsigned, wrap

Folded = Attribute | SSAValue | None
"""The constant or the value that replaces an operation's only result; None: it stays."""
Fold = Callable[[Operation], Folded]
"""Folds one operation."""

IntegerFunction = Callable[[int, int, int], "int | None"]
"""Computes with signed operands and their width; the result need not be wrapped yet."""


def _truncated_quotient(a: int, b: int) -> int | None:
    if b == 0:
        return None
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _divsi(a: int, b: int, width: int) -> int | None:
    # The lowest number divided by -1 does not fit: not defined.
    return None if b == -1 and a == -(1 << (width - 1)) else _truncated_quotient(a, b)


def _remsi(a: int, b: int, width: int) -> int | None:
    quotient = _divsi(a, b, width)
    return None if quotient is None else a - quotient * b


def _floordivsi(a: int, b: int, width: int) -> int | None:
    return None if _divsi(a, b, width) is None else a // b


def _ceildivsi(a: int, b: int, width: int) -> int | None:
    return None if _divsi(a, b, width) is None else -(-a // b)


def _divui(a: int, b: int, width: int) -> int | None:
    return unsigned(a, width) // unsigned(b, width) if b else None


def _ceildivui(a: int, b: int, width: int) -> int | None:
    return -(-unsigned(a, width) // unsigned(b, width)) if b else None


def _remui(a: int, b: int, width: int) -> int | None:
    return unsigned(a, width) % unsigned(b, width) if b else None


def _shli(a: int, b: int, width: int) -> int | None:
    return a << b if 0 <= b < width else None


def _shrsi(a: int, b: int, width: int) -> int | None:
    return a >> b if 0 <= b < width else None


def _shrui(a: int, b: int, width: int) -> int | None:
    return unsigned(a, width) >> b if 0 <= b < width else None


_FUNCTIONS: dict[type[Operation], IntegerFunction] = {
    arith.AddiOp: lambda a, b, _: a + b,
    arith.SubiOp: lambda a, b, _: a - b,
    arith.MuliOp: lambda a, b, _: a * b,
    arith.AndIOp: lambda a, b, _: a & b,
    arith.OrIOp: lambda a, b, _: a | b,
    arith.XOrIOp: lambda a, b, _: a ^ b,
    arith.MinSIOp: lambda a, b, _: min(a, b),
    arith.MaxSIOp: lambda a, b, _: max(a, b),
    arith.MinUIOp: lambda a, b, width: min(a, b, key=lambda v: unsigned(v, width)),
    arith.MaxUIOp: lambda a, b, width: max(a, b, key=lambda v: unsigned(v, width)),
    arith.DivSIOp: _divsi,
    arith.DivUIOp: _divui,
    arith.RemSIOp: _remsi,
    arith.RemUIOp: _remui,
    arith.FloorDivSIOp: _floordivsi,
    arith.CeilDivSIOp: _ceildivsi,
    arith.CeilDivUIOp: _ceildivui,
    arith.ShLIOp: _shli,
    arith.ShRSIOp: _shrsi,
    arith.ShRUIOp: _shrui,
}

_NEUTRAL_ON_THE_RIGHT: dict[type[Operation], int] = {
    arith.AddiOp: 0,
    arith.SubiOp: 0,
    arith.MuliOp: 1,
    arith.AndIOp: -1,
    arith.OrIOp: 0,
    arith.XOrIOp: 0,
    arith.ShLIOp: 0,
    arith.ShRSIOp: 0,
    arith.ShRUIOp: 0,
    arith.DivSIOp: 1,
    arith.DivUIOp: 1,
    arith.FloorDivSIOp: 1,
    arith.CeilDivSIOp: 1,
    arith.CeilDivUIOp: 1,
}
_ABSORBING: dict[type[Operation], int] = {arith.MuliOp: 0, arith.AndIOp: 0, arith.OrIOp: -1}
_COMMUTATIVE = frozenset((arith.AddiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp))
_IDEMPOTENT = frozenset(
    (arith.AndIOp, arith.OrIOp, arith.MinSIOp, arith.MaxSIOp, arith.MinUIOp, arith.MaxUIOp)
)
_ZERO_ON_EQUALS = frozenset((arith.SubiOp, arith.XOrIOp))


def computes(kind: type[Operation], a: int, b: int, width: int) -> int | None:
    """Returns what an operation of arith gives for signed numbers of a width; None where it is not defined, and for
    other operations."""
    function = _FUNCTIONS.get(kind)
    value = None if function is None else function(a, b, width)
    return None if value is None else wrap(value, width)


def fold_binary(op: Operation) -> Folded:
    """Folds an integer operation on two operands."""
    lhs, rhs = operands_of(op)
    (result,) = op.results
    kind, type_ = type(op), result.type
    if not is_any_integer(type_):
        return None
    a, b = constant_integer(lhs), constant_integer(rhs)
    if a is not None and b is not None:
        value = computes(kind, a, b, type_.width.data if is_integer_type(type_) else 32)
        return None if value is None else integer_attribute(value, type_)
    if lhs is rhs and kind in _IDEMPOTENT:
        return lhs
    if lhs is rhs and kind in _ZERO_ON_EQUALS:
        return integer_attribute(0, type_)
    if b is not None:
        return _identity(kind, lhs, rhs, b, type_)
    if a is not None and kind in _COMMUTATIVE:
        return _identity(kind, rhs, lhs, a, type_)
    return None


def _identity(
    kind: type[Operation], value: SSAValue, constant: SSAValue, number: int, type_: IntegerType | IndexType
) -> SSAValue | None:
    # i1: true reads as -1, so "times one" is "times -1" there.
    neutral = _NEUTRAL_ON_THE_RIGHT.get(kind)
    if neutral is not None and number == wrap(neutral, integer_width(type_) or 32):
        return value
    return constant if number == _ABSORBING.get(kind) else None


_SIGNED: dict[int, Callable[[int, int], bool]] = {
    0: int.__eq__,
    1: int.__ne__,
    2: int.__lt__,
    3: int.__le__,
    4: int.__gt__,
    5: int.__ge__,
}
_UNSIGNED: dict[int, Callable[[int, int], bool]] = {
    6: int.__lt__,
    7: int.__le__,
    8: int.__gt__,
    9: int.__ge__,
}
_TRUE_ON_EQUALS = frozenset((0, 3, 5, 7, 9))


def compares(predicate: int, a: int, b: int, width: int) -> bool:
    """Returns what `arith.cmpi` with that predicate gives for signed numbers of a width."""
    if predicate in _SIGNED:
        return _SIGNED[predicate](a, b)
    return _UNSIGNED[predicate](unsigned(a, width), unsigned(b, width))


def fold_cmpi(op: Operation) -> Folded:
    """Folds an integer comparison of constants, or of a value with itself."""
    lhs, rhs = op.operands
    width = integer_width(lhs.type)
    predicate = op.properties["predicate"]
    if width is None or not is_integer_attribute(predicate):
        return None
    number: int = predicate.value.data
    if lhs is rhs:
        return bool_attribute(number in _TRUE_ON_EQUALS)
    a, b = constant_integer(lhs), constant_integer(rhs)
    if a is None or b is None:
        return bool_attribute(False) if number == _UGE and _counts_up_to(lhs, rhs) else None
    return bool_attribute(compares(number, a, b, width))


_UGE = 9
"""arith.cmpi's predicate of an index out of range."""


def _counts_up_to(value: SSAValue, end: SSAValue) -> bool:
    """Whether a value is the variable of a loop that begins at 0 or above and ends at `end`, or before."""
    block = value.owner
    loop = block.parent_op() if isinstance(block, Block) else None
    if not isinstance(loop, scf.ForOp) or loop.body.block.args[0] is not value:
        return False
    start, stop, limit = constant_integer(loop.lb), constant_integer(loop.ub), constant_integer(end)
    step = constant_integer(loop.step)
    if start is None or start < 0 or step is None or step < 1:
        return False
    return loop.ub is end or (stop is not None and limit is not None and stop <= limit)


def fold_select(op: Operation) -> Folded:
    """Folds a select on a constant, with equal arms, or of true and false."""
    condition, if_true, if_false = op.operands
    if if_true is if_false:
        return if_true
    chosen = constant_integer(condition)
    if chosen is not None:
        return if_true if chosen else if_false
    if condition.type == if_true.type and constant_integer(if_true) == -1 and constant_integer(if_false) == 0:
        return condition
    return None


INTEGER_FOLDS: dict[type[Operation], Fold] = {
    **dict.fromkeys(_FUNCTIONS, fold_binary),
    arith.CmpiOp: fold_cmpi,
    arith.SelectOp: fold_select,
}
"""Folds of integer operations by operation class."""
